"""What a vector index must do: hold unit vectors by key and give the nearest, exactly, in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue


class Match(NamedTuple):
    """A stored key and its inner product with the query."""

    key: str
    score: float


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
