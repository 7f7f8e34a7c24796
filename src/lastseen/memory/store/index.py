"""Unit vectors by key and the nearest to one in a fixed order, by exact FAISS; and what every index checks alike.

Rows are overwritten in place and deleted by moving the last row into the gap: FAISS's own removal shifts every later
row. Its approximate indexes trade truth for a speed that is not needed: an exact scan of 100,000 vectors already runs
at the speed of the memory bus. A region or another small subset is answered by a dot product over just those rows.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue

_EXTRA = 8
"""Rows fetched beyond k, so that ties at the border can be broken by key; more while the tie does not end."""
LARGE_BYTES = 1 << 27
"""Size of the matrix from which all cores read it. Below, one does: on a robot whose cores are busy, waiting for the
second thread cost thirty times what it saved."""
MOST_NEAR = 10_000
"""Rows near the border that are scored again; among more that look alike FAISS is as fast."""


class Match(NamedTuple):
    """A stored key and its inner product with the query."""

    key: str
    score: float


def checked_rows(keys: Sequence[str], vectors: NDArray[np.float32], dim: int) -> NDArray[np.float32]:
    """The vectors as float32 rows, or an error that says which shape was expected."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.shape != (len(keys), dim):
        raise InvalidValue(
            "vectors", rows, f"must have shape {(len(keys), dim)}", remedy="use the encoder this index was made for"
        )
    if not np.isfinite(rows).all():
        raise InvalidValue("vectors", rows, "hold NaN or infinity", remedy="drop them before they reach memory")
    if len(set(keys)) != len(keys):
        raise InvalidValue("keys", list(keys), "hold a key twice", remedy="give each key once")
    return rows


def checked_query(query: NDArray[np.float32], dim: int, k: int) -> NDArray[np.float32]:
    """The query as one float32 row, or an error that says which shape was expected."""
    row = np.ascontiguousarray(query, dtype=np.float32)
    if row.shape != (dim,):
        raise InvalidValue(
            "embedding", row, f"must have shape ({dim},)", remedy="encode the query as the index's vectors were"
        )
    if not np.isfinite(row).all():
        raise InvalidValue("embedding", row, "holds NaN or infinity", remedy="check the encoder")
    if k < 1:
        raise InvalidValue("k", k, "must be 1 or more", remedy="5 is usual")
    return row


def best_first(keys: Sequence[str], scores: NDArray[np.float32], k: int) -> list[Match]:
    """The k best of scored keys: highest score first, equal scores by key."""
    if len(keys) > k:
        # everything tied with the k-th score stays in, so that the tie is broken by key and not by storage order
        cut = np.partition(scores, len(scores) - k)[len(scores) - k]
        near = np.flatnonzero(scores >= cut).tolist()
    else:
        near = list(range(len(keys)))
    matches = [Match(keys[i], float(scores[i])) for i in near]
    matches.sort(key=lambda match: (-match.score, match.key))
    return matches[:k]


class FaissIndex:
    """An exact inner-product index that can be written and searched from several threads."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._flat: Any = None
        self._waiting: list[NDArray[np.float32]] = []
        self._keys: list[str] = []
        self._rows: dict[str, int] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._keys)

    def keys(self) -> list[str]:
        """Every key held, sorted."""
        with self._lock:
            return sorted(self._keys)

    def upsert(self, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Put vectors in; a key already held has its row overwritten in place."""
        rows = checked_rows(keys, vectors, self.dim)
        with self._lock:
            fresh = [i for i, key in enumerate(keys) if key not in self._rows]
            held = [i for i, key in enumerate(keys) if key in self._rows]
            if held:
                self._matrix()[[self._rows[keys[i]] for i in held]] = rows[held]
            if fresh:
                for i in fresh:
                    self._rows[keys[i]] = len(self._keys)
                    self._keys.append(keys[i])
                self._waiting.append(rows[fresh] if held else rows.copy())

    def remove(self, keys: Sequence[str]) -> None:
        """Take keys out by moving the last row into each gap; a key not held is no error."""
        with self._lock:
            count = len(self._keys)
            for key in keys:
                row = self._rows.pop(key, None)
                if row is None:
                    continue
                last = len(self._keys) - 1
                if row != last:
                    matrix = self._matrix()
                    matrix[row] = matrix[last]
                    self._keys[row] = self._keys[last]
                    self._rows[self._keys[row]] = row
                self._keys.pop()
            if len(self._keys) < count:
                index = self._index()
                index.codes.resize(len(self._keys) * index.code_size)
                index.ntotal = len(self._keys)

    def search(self, query: NDArray[np.float32], *, k: int, among: Sequence[str] | None = None) -> list[Match]:
        """The k nearest, or the k nearest of the keys in ``among``."""
        row = checked_query(query, self.dim, k)
        with self._lock:
            if among is not None:
                rows = self._rows
                held = [key for key in dict.fromkeys(among) if key in rows]
                return best_first(held, self.scores(row, [rows[key] for key in held]), k) if held else []
            return self._search_all(row, k)

    def scores(self, query: NDArray[np.float32], rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """Inner products of the query with the given rows."""
        with self._lock:
            # unlike a matrix product, this wakes no threads, and rounds a row alike wherever it stands
            return np.einsum("ij,j->i", self._matrix()[rows], query)

    def vector(self, key: str) -> NDArray[np.float32] | None:
        """A copy of the vector of a key; None for a key not held."""
        with self._lock:
            row = self._rows.get(key)
            return None if row is None else self._matrix()[row].copy()

    def _search_all(self, row: NDArray[np.float32], k: int) -> list[Match]:
        total = len(self._keys)
        wanted = min(k + _EXTRA, total)
        while wanted:
            scores, places = self._scan(row, wanted)
            if wanted == total or scores[-1] < scores[min(k, wanted) - 1]:
                return best_first([self._keys[place] for place in places], scores, k)
            wanted = min(wanted * 4, total)
        return []

    def _scan(self, row: NDArray[np.float32], wanted: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The best rows with FAISS's own scores, best first.

        A matrix product reads a large matrix at twice the speed of FAISS, but rounds a row differently from place to
        place. So it only says which rows can be among the best, with room for its rounding, and FAISS scores those.
        """
        import faiss

        matrix, total = self._matrix(), len(self._keys)
        if matrix.nbytes >= LARGE_BYTES and wanted < total:
            rough = matrix @ row
            rounding = self.dim * float(np.finfo(np.float32).eps) * float(np.linalg.norm(row))
            near = np.flatnonzero(rough >= np.partition(rough, total - wanted)[total - wanted] - 2.0 * rounding)
            if len(near) <= MOST_NEAR + wanted:
                scores, at = faiss.knn(row[None], matrix[near], wanted, metric=faiss.METRIC_INNER_PRODUCT)
                return scores[0], near[at[0]]
        threads = faiss.omp_get_max_threads()
        if matrix.nbytes < LARGE_BYTES:
            faiss.omp_set_num_threads(1)  # holds for the calling thread alone
        try:
            scores, places = self._index().search(row[None], wanted)
        finally:
            faiss.omp_set_num_threads(threads)
        return scores[0], places[0]

    def _matrix(self) -> NDArray[np.float32]:
        """FAISS's own storage as a writable array; valid until rows are added or taken away."""
        import faiss

        index = self._index()
        matrix: NDArray[np.float32] = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * self.dim)
        return matrix.reshape(index.ntotal, self.dim)

    def _index(self) -> Any:
        """FAISS's index with every row in it; FAISS is loaded here, since a question about names needs none."""
        import faiss

        if self._flat is None:
            self._flat = faiss.IndexFlatIP(self.dim)
        for rows in self._waiting:
            self._flat.add(rows)
        self._waiting.clear()
        return self._flat
