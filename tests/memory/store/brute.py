"""The plainest index there is: a dictionary and a dot product. Every other index must agree with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.store.index import Match, best_first, checked_query, checked_rows


@runtime_checkable
class VectorIndex(Protocol):
    """Unit vectors of one length by key; results are sorted by score, then by key."""

    @property
    def dim(self) -> int:
        """Length of every vector."""
        ...

    def __len__(self) -> int: ...

    def keys(self) -> list[str]:
        """Every key held, sorted."""
        ...

    def upsert(self, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Put vectors in, one row per key; a key already held gets the new vector."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Take keys out; a key not held is no error."""
        ...

    def search(self, query: NDArray[np.float32], *, k: int, among: Sequence[str] | None = None) -> list[Match]:
        """The k nearest, or the k nearest of the keys in ``among``; fewer when there are fewer."""
        ...


class BruteForceIndex:
    """Vectors in a dictionary; exact, slow, and simple enough to be believed."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return self._dim

    def __len__(self) -> int:
        return len(self._vectors)

    def keys(self) -> list[str]:
        """Every key held, sorted."""
        return sorted(self._vectors)

    def upsert(self, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Put vectors in; a key already held gets the new vector."""
        for key, row in zip(keys, checked_rows(keys, vectors, self._dim), strict=True):
            self._vectors[key] = row.copy()

    def remove(self, keys: Sequence[str]) -> None:
        """Take keys out; a key not held is no error."""
        for key in keys:
            self._vectors.pop(key, None)

    def search(self, query: NDArray[np.float32], *, k: int, among: Sequence[str] | None = None) -> list[Match]:
        """The k nearest, or the k nearest of the keys in ``among``."""
        row = checked_query(query, self._dim, k)
        keys = self.keys() if among is None else sorted({key for key in among if key in self._vectors})
        if not keys:
            return []
        return best_first(keys, np.stack([self._vectors[key] for key in keys]) @ row, k)
