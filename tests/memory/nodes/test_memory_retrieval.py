from __future__ import annotations

import gc
import math
import random
import subprocess
import sys
import weakref
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.belief import Candidate
from lastseen.errors import InvalidValue
from lastseen.memory.nodes import (
    DeterministicEmbedder,
    Embedder,
    MemoryNode,
    Pose2D,
    SemanticMemoryStore,
    cosine_similarity,
    cosine_to_score,
    normalize,
    retrieve_candidates,
    seed_demo_store,
    tokenize,
)

HERE = Pose2D(0.0, 0.0, 0.0)
EMBEDDER = DeterministicEmbedder()
WORDS = ["mug", "red", "sofa", "lamp", "kitchen", "bed", "книга", "كوب", "杯子", "___", "a"]
ODD_GOALS = [
    "café ☕ mug",
    "🤖🦾",
    "أين الكوب الأحمر؟",
    "\u202e\u05de\u05d5\u05d2 \u05d0\u05d3\u05d5\u05dd\u202c",
    "mug " * 2_500,
    "x" * 10_240,
    "___",
    "e\u0301 mug",
    "mug\x00mug",
    "\ud800 mug",
    "\uff2d\uff35\uff27",
    "İstanbul",
]


class FixedEmbedder:
    """Gives the vectors it was told, so that a cosine can be chosen."""

    def __init__(self, vectors: dict[str, list[float]], dim: int) -> None:
        self.vectors, self.dim = vectors, dim

    def embed_text(self, text: str) -> list[float]:
        return self.vectors[text]


def plain_retrieval(goal_text: str, store: SemanticMemoryStore, embedder: Embedder, k: int = 5) -> list[Candidate]:
    """The plain loop over all nodes: what retrieval must equal to the last bit."""
    goal_tokens = tokenize(goal_text)
    if not goal_tokens:
        return []
    u = embedder.embed_text(goal_text)
    found: list[Candidate] = []
    for node in sorted(store.all_nodes(), key=lambda node: node.node_id):
        text = node.summary + " " + " ".join(node.tags)
        node_tokens = set(tokenize(text))
        v = node.embedding if node.embedding is not None else embedder.embed_text(text)
        embedding_score = (cosine_similarity(u, v) + 1.0) / 2.0
        keyword_score = len(set(goal_tokens) & node_tokens) / len(goal_tokens)
        score = 0.8 * embedding_score + 0.2 * keyword_score
        found.append({"node_id": node.node_id, "score": max(0.0, min(1.0, score))})
    return sorted(found, key=lambda c: (-c["score"], c["node_id"]))[:k]


def store_of(*nodes: tuple[int, list[float] | None, list[str], str]) -> SemanticMemoryStore:
    store = SemanticMemoryStore()
    for node_id, embedding, tags, summary in nodes:
        store.add_node(HERE, embedding, tags, summary, node_id=node_id)
    return store


def random_store(seed: int, count: int) -> SemanticMemoryStore:
    rng = random.Random(seed)
    store = SemanticMemoryStore()
    for node_id in rng.sample(range(10 * count), count):
        embedding = [rng.uniform(-3, 3) for _ in range(64)] if rng.random() < 0.5 else None
        if rng.random() < 0.05:
            embedding = [0.0] * 64
        store.add_node(HERE, embedding, rng.choices(WORDS, k=2), rng.choice(WORDS), node_id=node_id)
    return store


def test_deterministic_ordering() -> None:
    store = store_of((7, None, ["mug"], "kitchen"), (2, None, ["sofa"], "living room"), (5, None, ["bed"], "bedroom"))
    assert retrieve_candidates("red mug", store, EMBEDDER) == retrieve_candidates("red mug", store, EMBEDDER)


def test_a_fresh_embedder_and_store_give_the_same_bits() -> None:
    first = retrieve_candidates("red mug", seed_demo_store(), DeterministicEmbedder())
    assert first == retrieve_candidates("red mug", seed_demo_store(), DeterministicEmbedder())


def test_another_process_gives_the_same_bits() -> None:
    code = (
        "from lastseen.memory.nodes import *;"
        "print(retrieve_candidates('red mug', seed_demo_store(), DeterministicEmbedder()))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": hashes, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for hashes in ("1", "2")
    ]
    assert said[0] == said[1] == f"{retrieve_candidates('red mug', seed_demo_store(), EMBEDDER)}\n"


def test_tie_break_lower_node_id_first() -> None:
    store = store_of((9, None, ["mug"], "kitchen"), (4, None, ["mug"], "kitchen"))
    found = retrieve_candidates("red mug", store, EMBEDDER)
    assert found[0]["score"] == found[1]["score"]
    assert [candidate["node_id"] for candidate in found] == [4, 9]


@pytest.mark.parametrize("goal", ["mug", "red mug red mug", *ODD_GOALS])
def test_score_range_and_types(goal: str) -> None:
    for candidate in retrieve_candidates(goal, random_store(1, 40), EMBEDDER, k=40):
        assert set(candidate) == {"node_id", "score"}
        assert type(candidate["node_id"]) is int
        assert type(candidate["score"]) is float
        assert 0.0 <= candidate["score"] <= 1.0


@pytest.mark.parametrize(("cosine", "score"), [(-1.0, 0.0), (0.0, 0.5), (1.0, 1.0)])
def test_score_mapping(cosine: float, score: float) -> None:
    assert cosine_to_score(cosine) == score
    node = [cosine, math.sqrt(1.0 - cosine * cosine)]
    embedder = FixedEmbedder({"goal": [1.0, 0.0]}, dim=2)
    found = retrieve_candidates("goal", store_of((1, node, [], "other")), embedder)
    assert found[0]["score"] == pytest.approx(0.8 * score)


def test_keyword_blending() -> None:
    embedder = FixedEmbedder({"red mug": [1.0, 0.0]}, dim=2)
    store = store_of((1, [0.6, 0.8], ["mug"], "on a shelf"), (2, [1.0, 0.0], [], "empty"))
    assert retrieve_candidates("red mug", store, embedder) == [
        {"node_id": 2, "score": 0.8 * 1.0 + 0.2 * 0.0},
        {"node_id": 1, "score": 0.8 * 0.8 + 0.2 * 0.5},
    ]


def test_a_word_said_twice_counts_twice_in_the_divisor() -> None:
    embedder = FixedEmbedder({"mug mug": [1.0], "mug": [1.0]}, dim=1)
    store = store_of((1, [1.0], ["mug"], ""))
    assert retrieve_candidates("mug", store, embedder)[0]["score"] == 1.0
    assert retrieve_candidates("mug mug", store, embedder)[0]["score"] == 0.8 + 0.2 * 0.5


@pytest.mark.parametrize("goal", ["", "   ", "\t\n", "!!!", "...", "?! ¿", "🤖", "\u2014 \u2013 \u2026", "\u200f"])
def test_goals_without_words_find_nothing(goal: str) -> None:
    assert retrieve_candidates(goal, seed_demo_store(), EMBEDDER) == []


def test_an_underscore_is_part_of_a_word() -> None:
    assert len(retrieve_candidates("___", seed_demo_store(), EMBEDDER)) == 5


def test_an_empty_store_finds_nothing() -> None:
    assert retrieve_candidates("mug", SemanticMemoryStore(), EMBEDDER) == []


def test_at_most_k_and_five_by_default() -> None:
    store = random_store(2, 30)
    assert len(retrieve_candidates("mug", store, EMBEDDER)) == 5
    assert len(retrieve_candidates("mug", store, EMBEDDER, k=7)) == 7
    assert len(retrieve_candidates("mug", store, EMBEDDER, k=99)) == 30


@pytest.mark.parametrize("k", [0, -1, True, 2.0])
def test_a_k_that_is_no_count_is_refused(k: int) -> None:
    with pytest.raises(InvalidValue, match="k = "):
        retrieve_candidates("mug", seed_demo_store(), EMBEDDER, k=k)


def test_an_embedding_of_another_length_names_the_node() -> None:
    store = store_of((1, None, [], "kitchen"), (12, [1.0, 0.0], [], "bedroom"))
    with pytest.raises(InvalidValue, match=r"node 12: embedding.*has length 2, the embedder's is 64"):
        retrieve_candidates("mug", store, EMBEDDER)


def test_cosine_refuses_vectors_of_two_lengths() -> None:
    with pytest.raises(InvalidValue, match="differ in length"):
        cosine_similarity([1.0], [1.0, 2.0])


def test_a_vector_without_direction_has_cosine_zero() -> None:
    assert cosine_similarity([0.0, 0.0], [1.0, 0.0]) == 0.0


@given(
    st.lists(st.floats(-1e50, 1e50), min_size=3, max_size=3),
    st.lists(st.floats(-1e50, 1e50), min_size=3, max_size=3),
)
def test_a_cosine_is_symmetric_and_in_range(u: list[float], v: list[float]) -> None:
    assert -1.0 <= cosine_similarity(u, v) == cosine_similarity(v, u) <= 1.0


@pytest.mark.parametrize("goal", ["mug", "red sofa lamp", "nothing known", *ODD_GOALS])
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_plain_loop_to_the_last_bit(goal: str, seed: int) -> None:
    store = random_store(seed, 300)
    assert retrieve_candidates(goal, store, EMBEDDER) == plain_retrieval(goal, store, EMBEDDER)


@given(
    goal=st.text(max_size=40),
    nodes=st.lists(
        st.tuples(st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=4), st.text(max_size=20)),
        max_size=12,
    ),
    k=st.integers(1, 6),
)
def test_any_goal_over_any_nodes_equals_the_plain_loop(goal: str, nodes: list[tuple[list[str], str]], k: int) -> None:
    store = SemanticMemoryStore()
    for tags, summary in nodes:
        store.add_node(HERE, None, tags, summary)
    assert retrieve_candidates(goal, store, EMBEDDER, k) == plain_retrieval(goal, store, EMBEDDER, k)


@given(
    scale=st.sampled_from([1e-160, 1e-99, 1e-3, 1.0, 1e99]),
    vectors=st.lists(
        st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=3, max_size=3), min_size=3, max_size=9
    ),
)
def test_vectors_of_any_length_equal_the_plain_loop(scale: float, vectors: list[list[float]]) -> None:
    embedder = FixedEmbedder({"goal": [1.0, -1.0, 0.5]}, dim=3)
    store = SemanticMemoryStore()
    for vector in vectors:
        store.add_node(HERE, [scale * value for value in vector], [], "")
    assert retrieve_candidates("goal", store, embedder, k=2) == plain_retrieval("goal", store, embedder, k=2)


def test_a_goal_without_direction_is_ranked_by_words() -> None:
    embedder = FixedEmbedder({"mug": [0.0, 0.0]}, dim=2)
    store = store_of(*((i, [1.0, float(i)], ["mug"] if i == 8 else [], "") for i in range(10)))
    found = retrieve_candidates("mug", store, embedder, k=2)
    assert [candidate["node_id"] for candidate in found] == [8, 0]


@given(st.permutations(range(8)), st.sampled_from(["mug", "red sofa", "كوب", "a a a"]))
def test_insertion_order_never_matters(order: list[int], goal: str) -> None:
    nodes = [(i, None, [WORDS[i], WORDS[(3 * i) % 8]], WORDS[(5 * i) % 8]) for i in range(8)]
    assert retrieve_candidates(goal, store_of(*(nodes[i] for i in order)), EMBEDDER) == retrieve_candidates(
        goal, store_of(*nodes), EMBEDDER
    )


def test_a_new_node_is_found_at_once() -> None:
    store = seed_demo_store()
    assert 99 not in [c["node_id"] for c in retrieve_candidates("teapot", store, EMBEDDER, k=99)]
    store.add_node(HERE, None, [], "teapot", node_id=99)
    # the text of a node ends in a space before its tags, which the embedder strips
    assert retrieve_candidates("teapot", store, EMBEDDER)[0] == {"node_id": 99, "score": pytest.approx(1.0)}


def test_a_replaced_node_is_scored_anew() -> None:
    store = seed_demo_store()
    before = retrieve_candidates("teapot", store, EMBEDDER)
    store.replace_node(MemoryNode(3, HERE, None, ["teapot"], "living room"))
    after = retrieve_candidates("teapot", store, EMBEDDER)
    assert after != before
    assert after == plain_retrieval("teapot", store, EMBEDDER)


def test_nodes_are_embedded_once_and_goals_once_per_version() -> None:
    class Counting(DeterministicEmbedder):
        texts: ClassVar[list[str]] = []

        def embed_text(self, text: str) -> list[float]:
            self.texts.append(text)
            return super().embed_text(text)

    embedder, store = Counting(), seed_demo_store()
    for _ in range(3):
        retrieve_candidates("mug", store, embedder)
    assert len(Counting.texts) == 5 + 1
    store.add_node(HERE, None, [], "attic")
    retrieve_candidates("mug", store, embedder)
    assert Counting.texts[6:] == ["attic ", "mug"]


def test_a_caller_that_changes_an_answer_changes_its_own_copy() -> None:
    store = seed_demo_store()
    first = retrieve_candidates("mug", store, EMBEDDER)
    kept = [dict(candidate) for candidate in first]
    first[0]["score"] = -1.0
    first.clear()
    assert retrieve_candidates("mug", store, EMBEDDER) == kept


def test_many_goals_and_embedders_keep_answers_right() -> None:
    store = seed_demo_store()
    for number in range(200):
        assert len(retrieve_candidates(f"goal {number}", store, EMBEDDER)) == 5
    for _ in range(8):
        assert retrieve_candidates("mug", store, DeterministicEmbedder()) == retrieve_candidates(
            "mug", store, EMBEDDER
        )
    assert retrieve_candidates("mug", store, DeterministicEmbedder(8)) != retrieve_candidates("mug", store, EMBEDDER)


def test_a_forgotten_store_is_released() -> None:
    store = seed_demo_store()
    retrieve_candidates("mug", store, EMBEDDER)
    gone = weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None


def test_normalize_keeps_a_zero_vector() -> None:
    assert normalize([0.0, 0.0]) == [0.0, 0.0]


def test_any_embedder_with_embed_text_alone_will_do() -> None:
    class TextOnly:
        __slots__ = ()

        def embed_text(self, text: str) -> list[float]:
            return [1.0, 0.0] if "mug" in text else [0.0, 1.0]

    store = SemanticMemoryStore()
    store.add_node(Pose2D(0.0, 0.0, 0.0), None, ["sofa"], "living room")
    store.add_node(Pose2D(1.0, 0.0, 0.0), None, ["mug"], "kitchen")
    store.add_node(Pose2D(2.0, 0.0, 0.0), [1.0, 0.0], ["cup"], "shelf")
    found = retrieve_candidates("mug", store, TextOnly())
    assert [each["node_id"] for each in found] == [2, 3, 1]
    store.add_node(Pose2D(3.0, 0.0, 0.0), [1.0, 0.0, 0.0], ["pan"], "stove")
    with pytest.raises(InvalidValue, match="embedding"):
        retrieve_candidates("mug", store, TextOnly())
