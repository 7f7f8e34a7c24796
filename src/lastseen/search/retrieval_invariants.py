"""The rules of retrieval and of its bridge to the belief, for the self-check.

They stand in docs/memory-nodes.md and docs/interface-contract.md.
"""

from __future__ import annotations

import math
import random
from typing import Any

from lastseen import belief as beliefs
from lastseen.belief import BeliefState, Candidate, TargetStatus
from lastseen.memory.nodes import embedding, retrieval, utils
from lastseen.memory.nodes.store import SemanticMemoryStore, seed_demo_store
from lastseen.pose2d import ORIGIN
from lastseen.search import belief_update
from lastseen.search.self_check import expect, expect_all, expect_equal, invariant

WEAK: list[Candidate] = [{"node_id": 1, "score": 0.29}]
STRONG: list[Candidate] = [{"node_id": 1, "score": 0.9}]
_WORDS = ["red", "mug", "sofa", "lamp", "bed", "sink", "door", "book"]


class _Fixed:
    """An embedder that gives one vector for every goal, so that a cosine can be chosen."""

    def embed_text(self, text: str) -> list[float]:
        del text
        return [1.0, 0.0]


def _store(*nodes: tuple[int, list[float] | None, list[str], str]) -> SemanticMemoryStore:
    store = SemanticMemoryStore()
    for node_id, vector, tags, summary in nodes:
        store.add_node(ORIGIN, vector, tags, summary, node_id=node_id)
    return store


def _random_store(order: random.Random) -> SemanticMemoryStore:
    words = random.Random(7)
    nodes: list[Any] = [(node_id, None, words.choices(_WORDS, k=2), words.choice(_WORDS)) for node_id in range(40)]
    order.shuffle(nodes)
    return _store(*nodes)


def _bridged(status: TargetStatus, candidates: list[Candidate]) -> BeliefState:
    belief = beliefs.new_belief("red mug")
    belief["target_status"] = status
    return belief_update.apply_memory_retrieval(belief, candidates, 0.3)


@invariant
def tokens() -> None:
    """Lower-case words without punctuation; empty, blank and punctuation give none."""
    expect_all(
        [
            (utils.tokenize("  The RED mug! "), ["the", "red", "mug"]),
            (utils.tokenize("mug mug"), ["mug", "mug"]),
            (utils.tokenize("___"), ["___"]),
            *((utils.tokenize(text), []) for text in ("", "   ", "!!!", "...")),
        ]
    )


@invariant
def embedder() -> None:
    """The stub embedder gives unit vectors of 64 that depend on the text alone."""
    one, two = embedding.DeterministicEmbedder(), embedding.DeterministicEmbedder()
    vector = one.embed_text("red mug")
    expect_equal(vector, two.embed_text("  Red MUG "))
    expect(vector != one.embed_text("sofa"), "two texts have one vector")
    expect_equal(len(vector), 64)
    expect(math.isclose(math.hypot(*vector), 1.0), "not of unit length")


@invariant
def score_mapping() -> None:
    """Cosine -1, 0, 1 maps to score 0, 0.5, 1."""
    expect_all((retrieval.cosine_to_score(cosine), (cosine + 1.0) / 2.0) for cosine in (-1.0, 0.0, 0.25, 1.0))


@invariant
def cosine() -> None:
    """The cosine is the dot product over both lengths."""
    similarity = retrieval.cosine_similarity
    expect_all(
        [
            (similarity([3.0, 4.0], [4.0, 3.0]), 0.96),
            (similarity([1.0, 0.0], [-2.0, 0.0]), -1.0),
            (similarity([0.0, 0.0], [1.0, 0.0]), 0.0),
        ]
    )


@invariant
def blending() -> None:
    """The score is 0.8 embedding + 0.2 keywords, and keywords divide by every word of the goal."""
    store = _store((1, [0.6, 0.8], ["mug"], "shelf"), (2, [-1.0, 0.0], [], ""))
    found = retrieval.retrieve_candidates("red mug mug mug", store, _Fixed())
    expect_equal(found, [{"node_id": 1, "score": 0.8 * 0.8 + 0.2 * 0.25}, {"node_id": 2, "score": 0.0}])


@invariant
def ordering() -> None:
    """Results are sorted by score, then by id, whatever the order of adding."""
    stub = embedding.DeterministicEmbedder()
    found = [retrieval.retrieve_candidates("red mug", _random_store(random.Random(s)), stub, k=40) for s in (1, 2)]
    expect_equal(found[0], found[1])
    expect_equal(found[0], sorted(found[0], key=lambda c: (-c["score"], c["node_id"])))


@invariant
def tie_break() -> None:
    """Of equal scores the lower id comes first."""
    store = _store((9, None, ["mug"], "a"), (4, None, ["mug"], "a"))
    found = retrieval.retrieve_candidates("mug", store, embedding.DeterministicEmbedder())
    expect_equal([candidate["node_id"] for candidate in found], [4, 9])


@invariant
def candidates() -> None:
    """A candidate is an int id and a float score in 0 to 1, nothing else, and at most k come back."""
    store, stub = _random_store(random.Random(1)), embedding.DeterministicEmbedder()
    expect_equal(len(retrieval.retrieve_candidates("mug", store, stub)), 5)
    same = retrieval.retrieve_candidates("red mug", _store((1, None, ["mug"], "red")), stub)
    for candidate in [*same, *retrieval.retrieve_candidates("red mug", store, stub, k=40)]:
        expect_equal(sorted(candidate), ["node_id", "score"])
        expect(type(candidate["node_id"]) is int and type(candidate["score"]) is float, candidate)
        expect(0.0 <= candidate["score"] <= 1.0, candidate)


@invariant
def empty_goals() -> None:
    """A goal without words retrieves nothing."""
    store, stub = seed_demo_store(), embedding.DeterministicEmbedder()
    expect_all((retrieval.retrieve_candidates(goal, store, stub), []) for goal in ("", "  ", "!!!", "..."))


@invariant
def plain_loop() -> None:
    """The fast path gives what the plain loop gives, to the last bit, and again from the cache."""
    store, stub = _random_store(random.Random(3)), embedding.DeterministicEmbedder()
    for goal in ("red mug", "sofa", "piano"):
        goal_tokens, scored = goal.split(), []
        for node in store.all_nodes():
            similarity = retrieval.cosine_similarity(stub.embed_text(goal), stub.embed_text(node.text))
            shared = len(set(goal_tokens) & set(node.text.split())) / len(goal_tokens)
            score = 0.8 * ((similarity + 1.0) / 2.0) + 0.2 * shared
            scored.append({"node_id": node.node_id, "score": max(0.0, min(1.0, score))})
        wanted = sorted(scored, key=lambda c: (-c["score"], c["node_id"]))[:5]
        expect_all((retrieval.retrieve_candidates(goal, store, stub), wanted) for _ in range(2))


@invariant
def visible_stays() -> None:
    """Retrieval never changes visible."""
    expect_all((_bridged("visible", found)["target_status"], "visible") for found in ([], WEAK, STRONG))


@invariant
def no_flapping() -> None:
    """Weak retrieval never takes likely_in_memory back."""
    expect_all(
        (_bridged("likely_in_memory", found)["target_status"], "likely_in_memory") for found in ([], WEAK, STRONG)
    )


@invariant
def terminal_states_stay() -> None:
    """Retrieval never changes done or unreachable."""
    for found in ([], WEAK, STRONG):
        expect_equal(_bridged("done", found)["target_status"], "done")
        expect_equal(_bridged("unreachable", found)["target_status"], "unreachable")


@invariant
def promotion() -> None:
    """Searching becomes likely_in_memory at the threshold, and not below it."""
    expect_equal(belief_update.MEMORY_SCORE_THRESH, 0.3)
    at: list[Candidate] = [{"node_id": 1, "score": 0.3}]
    expect_all(
        [
            (_bridged("searching", at)["target_status"], "likely_in_memory"),
            (_bridged("searching", STRONG)["target_status"], "likely_in_memory"),
            (_bridged("searching", WEAK)["target_status"], "searching"),
            (_bridged("searching", [])["target_status"], "searching"),
        ]
    )


@invariant
def candidates_set() -> None:
    """Candidate_nodes is always set, and the belief passes its schema."""
    statuses: list[TargetStatus] = ["searching", "visible", "likely_in_memory", "unreachable", "done"]
    for status in statuses:
        for found in ([], WEAK, STRONG):
            belief = _bridged(status, found)
            expect_equal(belief["candidate_nodes"], found)
            beliefs.validate_belief(belief)
