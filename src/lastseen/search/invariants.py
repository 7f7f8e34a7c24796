"""The rules that the self-check holds the code to: of retrieval, of the belief, and of the search itself.

They stand in docs/memory-nodes.md and docs/interface-contract.md: who may say what, what is checked before anything
moves, what is logged.
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

from lastseen import belief as beliefs
from lastseen.belief import BeliefState, Candidate, TargetStatus
from lastseen.config import Settings
from lastseen.config.search import Search
from lastseen.errors import InvalidValue, PlanError
from lastseen.memory.nodes import embedding, retrieval, utils
from lastseen.memory.nodes.embedding import DeterministicEmbedder
from lastseen.memory.nodes.store import SemanticMemoryStore, seed_demo_store
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search import belief_update, loop
from lastseen.search.node_world import NodeWorld
from lastseen.search.planning import hypothesis as hypotheses
from lastseen.search.planning.node_graph import NodeGraph
from lastseen.search.self_check import expect, expect_all, expect_equal, invariant
from lastseen.search.world import Sight
from lastseen.vlm.mock import ScriptedBackend
from lastseen.vlm.protocol import Backend

GOOD = {"target_status": "searching", "action": "explore", "confidence": 0.5, "rationale": "look elsewhere"}


def _search(
    goal: str, backend: Backend | None = None, *, store: SemanticMemoryStore | None = None, start: int = 1
) -> loop.SearchLoop:
    nodes = seed_demo_store() if store is None else store
    graph = NodeGraph.from_store(nodes)
    return loop.SearchLoop(
        goal,
        store=nodes,
        embedder=DeterministicEmbedder(),
        planner=hypotheses.HypothesisPlanner(backend),
        world=NodeWorld(graph, start=start),
        paths=graph,
        settings=Settings(),
    )


def _say(**fields: Any) -> str:
    return json.dumps({**GOOD, **fields})


def _seen(times: int, *, next_action: Any, distance: float = 0.5) -> BeliefState:
    belief = beliefs.new_belief("red mug")
    for step in range(times):
        belief["next_action"] = next_action
        sight = Sight(stamp=float(step), visible=True, distance=distance)
        belief_update.perceive(belief, sight, step=step, settings=Search())
    return belief


@invariant
def two_sightings() -> None:
    """Two sightings in a row make visible, one does not."""
    expect_equal(_seen(1, next_action="approach")["target_status"], "searching")
    expect_equal(_seen(2, next_action="explore")["target_status"], "visible")
    broken = _seen(1, next_action="explore")
    for step, visible in enumerate([False, True]):
        belief_update.perceive(broken, Sight(stamp=0.0, visible=visible), step=step, settings=Search())
    expect_equal(broken["target_status"], "searching")


@invariant
def done_is_verified() -> None:
    """Done needs approach, visible and close, all three."""
    expect_equal(_seen(2, next_action="approach")["target_status"], "done")
    expect_equal(_seen(2, next_action="approach", distance=1.5)["target_status"], "visible")
    expect_equal(_seen(2, next_action="explore")["target_status"], "visible")


@invariant
def models_only_propose() -> None:
    """A model that says visible or done changes no status."""
    claims = [_say(target_status="done", action="stop"), _say(target_status="visible", action="approach")]
    search = _search("piano", ScriptedBackend(claims * 10))
    for _ in range(6):
        search.step()
        expect(search.belief["target_status"] not in {"visible", "done"}, search.belief["target_status"])


@invariant
def strict_answers() -> None:
    """Answers that are no JSON, break the schema or are empty of meaning are refused."""
    unfit = ["", "{", "[]", "null", "```json\n{}\n```", f"Sure! {_say()}", _say(confidence=2), _say(action="dance")]
    unfit += [_say(action="goto_node"), _say(action="ask_clarification"), _say(confidence="0.5")]
    unfit += [_say().replace("0.5", "NaN"), _say(action="approach"), _say(rationale=None)]
    for text in unfit:
        try:
            hypotheses.parse_hypothesis(text)
        except PlanError:
            continue
        expect(False, f"accepted {text!r}")
    hypotheses.parse_hypothesis(_say())


@invariant
def one_retry() -> None:
    """An unfit answer is asked for once more, then the rule decides."""
    backend = ScriptedBackend(["garbage"] * 3)
    meta = _search("red mug", backend).step()["meta"]
    expect_equal((len(backend.prompts), meta["retries"], meta["fallback"]), (2, 1, True))
    backend = ScriptedBackend(["garbage", _say()])
    meta = _search("red mug", backend).step()["meta"]
    expect_equal((meta["retries"], meta["fallback"], len(meta["errors"])), (1, False, 1))


@invariant
def fallback_rule() -> None:
    """The rule: done stops, visible approaches, candidates are gone to, else explore."""
    belief = beliefs.new_belief("red mug")
    expect_equal(hypotheses.fallback_hypothesis(belief)["action"], "explore")
    belief["candidate_nodes"] = [{"node_id": 4, "score": 0.9}, {"node_id": 2, "score": 0.5}]
    expect_equal(hypotheses.fallback_hypothesis(belief).get("navigation_goal"), {"node_id": 4})
    expect_equal(hypotheses.fallback_hypothesis(belief, tried=[4]).get("navigation_goal"), {"node_id": 2})
    belief["target_status"] = "visible"
    expect_equal(hypotheses.fallback_hypothesis(belief)["action"], "approach")
    belief["target_status"] = "done"
    expect_equal(hypotheses.fallback_hypothesis(belief)["action"], "stop")


@invariant
def unreachable_nodes() -> None:
    """A node without a path is refused and the next candidate taken; no path at all ends in a safe stop."""
    apart = SemanticMemoryStore()
    apart.add_node(Pose2D(0.0, 0.0, 0.0), None, [], "corridor")
    apart.add_node(Pose2D(3.0, 0.0, 0.0), None, ["chair"], "study")
    apart.add_node(Pose2D(90.0, 0.0, 0.0), None, ["piano"], "piano")
    search = _search(
        "piano", ScriptedBackend([_say(action="goto_node", navigation_goal={"node_id": 3})]), store=apart
    )
    record = search.step()
    expect(record["meta"]["rejected"] is not None, "a node without a path was accepted")
    expect_equal(record["decision"]["node_id"], 2)
    alone = SemanticMemoryStore()
    alone.add_node(Pose2D(0.0, 0.0, 0.0), None, [], "corridor")
    alone.add_node(Pose2D(90.0, 0.0, 0.0), None, ["piano"], "piano")
    result = _search("piano", store=alone).run(20)
    expect_equal((result.status, result.belief["next_action"]), ("not_found", "stop"))


@invariant
def retrieval_logged() -> None:
    """What retrieval_ran says follows the words of the goal; the log holds ids and scores of five at most."""
    for goal, ran in [("red mug", True), ("!!!", False), ("", False), ("   ", False)]:
        record = _search(goal).step()
        meta = record["meta"]
        expect_equal(meta["retrieval_ran"], ran)
        expect_equal(bool(meta["retrieval_topk"]), ran)
        expect(len(meta["retrieval_topk"]) <= 5, "more than five logged")
        expect(all(sorted(found) == ["node_id", "score"] for found in meta["retrieval_topk"]), "payload logged")
        best = meta["retrieval_topk"][0]["score"] if ran else None
        expect_equal(meta["retrieval_best_score"], best)
        expect_equal(meta["retrieval_threshold_pass"], best is not None and best >= 0.3)
        beliefs.validate_belief(record["belief"])


@invariant
def whole_search() -> None:
    """A search tries the best candidate first, finds what memory holds, logs valid beliefs, and repeats exactly."""
    runs = []
    for _ in range(2):
        search = _search("red mug", start=5)
        records = []
        while search.result is None and search.steps < 20:
            records.append(search.step())
        expect_equal(search.result and search.result.status, "found")
        expect_equal(records[0]["belief"]["target_status"], "likely_in_memory")
        best = records[0]["meta"]["retrieval_topk"][0]["node_id"]
        expect_equal(records[0]["decision"]["node_id"], best)
        runs.append(json.dumps(records, sort_keys=True))
        for record in records:
            beliefs.validate_belief(record["belief"])
    expect_equal(runs[0], runs[1])


@invariant
def schemas_refuse() -> None:
    """A belief or hypothesis that breaks its schema is refused."""
    good = dict(beliefs.new_belief("red mug"))
    changes: list[dict[str, Any]] = [
        {"target_status": "found"},
        {"candidate_nodes": [{"node_id": 1}]},
        {"extra": 1},
    ]
    for bad in [*({**good, **change} for change in changes), {}]:
        try:
            beliefs.validate_belief(bad)
        except InvalidValue:
            continue
        expect(False, f"accepted {bad!r}")
    beliefs.validate_belief(good)


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
    """A belief always has candidate_nodes and passes its schema."""
    statuses: list[TargetStatus] = ["searching", "visible", "likely_in_memory", "unreachable", "done"]
    for status in statuses:
        for found in ([], WEAK, STRONG):
            belief = _bridged(status, found)
            expect_equal(belief["candidate_nodes"], found)
            beliefs.validate_belief(belief)
