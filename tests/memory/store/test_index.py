"""One contract for every vector index, and the brute-force one as the oracle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.memory.store.brute import BruteForceIndex, VectorIndex

from lastseen.errors import InvalidValue
from lastseen.memory.store import index as index_module
from lastseen.memory.store.index import FaissIndex, Match

BACKENDS: dict[str, Callable[[int], VectorIndex]] = {"brute": BruteForceIndex, "faiss": FaissIndex}
DIM = 6


@pytest.fixture(params=BACKENDS)
def index(request: pytest.FixtureRequest) -> VectorIndex:
    return BACKENDS[request.param](DIM)


def unit(count: int, *, seed: int, dim: int = DIM) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    length: NDArray[np.float32] = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
    return rows / length


def names(count: int) -> list[str]:
    return [f"o{i}" for i in range(count)]


def test_it_fits_the_protocol(index: VectorIndex) -> None:
    assert isinstance(index, VectorIndex)
    assert index.dim == DIM
    assert len(index) == 0


def test_an_empty_index_finds_nothing(index: VectorIndex) -> None:
    assert index.search(unit(1, seed=0)[0], k=3) == []
    assert index.search(unit(1, seed=0)[0], k=3, among=["a"]) == []


def test_a_vector_finds_itself_first(index: VectorIndex) -> None:
    rows = unit(50, seed=1)
    index.upsert(names(50), rows)
    best = index.search(rows[17], k=3)
    assert best[0].key == "o17"
    assert best[0].score == pytest.approx(1.0, abs=1e-5)
    assert [match.score for match in best] == sorted((match.score for match in best), reverse=True)


def test_an_upsert_replaces(index: VectorIndex) -> None:
    rows = unit(4, seed=2)
    index.upsert(names(3), rows[:3])
    index.upsert(["o1"], rows[3:])
    assert len(index) == 3
    assert index.search(rows[3], k=1)[0].key == "o1"


def test_a_removed_key_is_gone_and_the_others_stay(index: VectorIndex) -> None:
    rows = unit(5, seed=3)
    index.upsert(names(5), rows)
    index.remove(["o1", "o4", "nothing"])
    assert index.keys() == ["o0", "o2", "o3"]
    for i in (0, 2, 3):
        assert index.search(rows[i], k=1)[0].key == f"o{i}"


def test_equal_scores_are_ordered_by_key(index: VectorIndex) -> None:
    row = unit(1, seed=4)
    keys = [f"o{i:02}" for i in range(40)]
    index.upsert(keys[::-1], np.repeat(row, 40, axis=0))
    assert [match.key for match in index.search(row[0], k=5)] == keys[:5]


def test_a_subset_is_searched_alone(index: VectorIndex) -> None:
    rows = unit(20, seed=5)
    index.upsert(names(20), rows)
    assert index.search(rows[3], k=9, among=["o7", "o9", "gone"])[0].key in ("o7", "o9")
    assert len(index.search(rows[3], k=9, among=["o7", "o9", "gone"])) == 2


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        (["a"], np.zeros((1, DIM + 1), np.float32)),
        (["a", "b"], np.zeros((1, DIM), np.float32)),
        (["a", "a"], np.zeros((2, DIM), np.float32)),
        (["a"], np.full((1, DIM), np.nan, np.float32)),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_change_nothing(
    index: VectorIndex, keys: list[str], rows: NDArray[np.float32]
) -> None:
    with pytest.raises(InvalidValue):
        index.upsert(keys, rows)
    assert len(index) == 0


def test_a_query_of_another_length_is_refused(index: VectorIndex) -> None:
    with pytest.raises(InvalidValue, match=r"must have shape \(6,\)"):
        index.search(np.zeros(5, np.float32), k=1)
    with pytest.raises(InvalidValue, match="1 or more"):
        index.search(np.zeros(DIM, np.float32), k=0)


def close(one: list[Match], other: list[Match]) -> bool:
    return [m.score for m in one] == pytest.approx([m.score for m in other], abs=1e-5)


step = st.tuples(st.sampled_from(["upsert", "remove", "search"]), st.lists(st.integers(0, 30), max_size=8))


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "brute"])
@given(steps=st.lists(step, max_size=25), seed=st.integers(0, 1000))
def test_it_agrees_with_brute_force_whatever_is_done(
    backend: str, steps: list[tuple[str, list[int]]], seed: int
) -> None:
    index, oracle = BACKENDS[backend](DIM), BruteForceIndex(DIM)
    pool = unit(64, seed=seed)
    for count, (what, numbers) in enumerate(steps):
        keys = [f"o{i}" for i in dict.fromkeys(numbers)]
        if what == "upsert":
            rows = pool[[(i + count) % 64 for i in dict.fromkeys(numbers)]].reshape(-1, DIM)
            index.upsert(keys, rows)
            oracle.upsert(keys, rows)
        elif what == "remove":
            index.remove(keys)
            oracle.remove(keys)
        query = pool[count % 64]
        among = keys if what == "search" else None
        found, truth = index.search(query, k=5, among=among), oracle.search(query, k=5, among=among)
        assert close(found, truth)
        assert len(found) == len(truth)
    assert index.keys() == oracle.keys()


def test_a_subset_scan_equals_the_full_scan() -> None:
    index = FaissIndex(32)
    rows = unit(500, seed=6, dim=32)
    index.upsert(names(500), rows)
    query = unit(1, seed=7, dim=32)[0]
    assert close(index.search(query, k=10), index.search(query, k=10, among=names(500)))


def test_a_large_matrix_is_searched_as_exactly_as_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = unit(700, seed=3, dim=48)
    # equal rows far apart: a matrix product alone would round them differently and break the tie by place
    rows[[5, 131, 402, 699]] = rows[77]
    index, oracle = FaissIndex(48), BruteForceIndex(48)
    for one in (index, oracle):
        one.upsert(names(700), rows)
    monkeypatch.setattr(index_module, "LARGE_BYTES", 0)
    for query in [*unit(20, seed=4, dim=48), rows[77]]:
        for k in (1, 3, 10, 700):
            assert close(index.search(query, k=k), oracle.search(query, k=k))
    same = sorted(names(700)[row] for row in (5, 77, 131, 402, 699))
    assert [match.key for match in index.search(rows[77], k=3)] == same[:3]
    monkeypatch.setattr(index_module, "MOST_NEAR", 0)
    assert [match.key for match in index.search(rows[77], k=5)] == same
