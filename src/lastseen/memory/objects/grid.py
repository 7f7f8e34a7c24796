"""Where is something near this point? A hash grid over rows that stay where they are most of the time.

Things of different reach live on different levels, so that one sofa does not widen the search for every mug: a
thing stands on the finest level whose cells are twice its reach, and a point then looks into two cells per axis
and level. Cells are chains of rows (doubly linked through arrays), walked for all query cells at once.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.columns import Columns

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

_BUCKET_BITS = 18
_AXIS_BITS = 20
_AXIS_MASK = (1 << _AXIS_BITS) - 1
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - _BUCKET_BITS)


class HashGrid(Columns):
    """Rows by place; ``reaches`` are the largest reach on each level, ``slack`` the largest of a query point."""

    key: NDArray[np.int64]
    following: NDArray[np.int32]
    before: NDArray[np.int32]

    def __init__(self, reaches: tuple[float, ...], *, slack: float, capacity: int) -> None:
        super().__init__(capacity)
        self.reaches = np.array(reaches)
        self.slack = slack
        self.cells = 2.0 * (self.reaches + slack)
        # row + 1 everywhere, so that untouched zero pages mean "none"
        self._head = np.zeros(1 << _BUCKET_BITS, dtype=np.int32)
        self.add("key", np.int64)
        self.add("following", np.int32)
        self.add("before", np.int32)
        self._plans: dict[float, tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = {}

    def keys_of(self, xyz: Floats, reach: Floats) -> NDArray[np.int64]:
        """The cell each thing belongs to."""
        level = np.minimum(np.searchsorted(self.reaches, reach), len(self.reaches) - 1)
        cell = np.floor(xyz / self.cells[level][:, np.newaxis]).astype(np.int64)
        return _pack(level, cell)

    def place(self, rows: Rows, keys: NDArray[np.int64]) -> None:
        """Put rows into cells; rows that are in theirs already cost one comparison."""
        moved = np.flatnonzero(self.key[rows] != keys)
        for index in moved.tolist():
            row = int(rows[index])
            self.remove(row)
            self._insert(row, int(keys[index]))

    def remove(self, row: int) -> None:
        """Take a row out of its cell, if it is in one."""
        key = int(self.key[row])
        if key == 0:
            return
        following, before = int(self.following[row]), int(self.before[row])
        if before:
            self.following[before - 1] = following
        else:
            self._head[_bucket(key)] = following
        if following:
            self.before[following - 1] = before
        self.key[row] = self.following[row] = self.before[row] = 0

    def _insert(self, row: int, key: int) -> None:
        bucket = _bucket(key)
        first = int(self._head[bucket])
        self.key[row] = key
        self.following[row] = first
        self.before[row] = 0
        if first:
            self.before[first - 1] = row + 1
        self._head[bucket] = row + 1

    def near(self, xyz: Floats, *, widen: float = 0.0) -> tuple[NDArray[np.int64], Rows]:
        """Pairs (point, row) of every row within reach plus slack plus ``widen`` of the point, and some more."""
        levels, offsets, halves = self._plan(widen)
        base = np.floor((xyz[:, np.newaxis, :] - halves[:, np.newaxis]) / self.cells[:, np.newaxis]).astype(np.int64)
        cells = base[:, levels] + offsets
        keys = _pack(levels, cells)
        count = len(levels)
        index, rows = self._walk(keys.reshape(-1))
        return index // count, rows

    def inside(self, low: Floats, high: Floats) -> Rows:
        """Every row whose centre can lie in an axis-aligned box, and some more from its border cells."""
        packed = []
        for level, cell in enumerate(self.cells.tolist()):
            first = np.floor(low / cell).astype(np.int64)
            last = np.floor(high / cell).astype(np.int64)
            axes = [np.arange(a, b + 1, dtype=np.int64) & _AXIS_MASK for a, b in zip(first, last, strict=True)]
            x, y, z = axes
            plane = (x[:, np.newaxis] << (2 * _AXIS_BITS)) | (y << _AXIS_BITS)
            packed.append(((plane[:, :, np.newaxis] | z) | ((level + 1) << (3 * _AXIS_BITS))).reshape(-1))
        return self._walk(np.concatenate(packed))[1]

    def _plan(self, widen: float) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        plan = self._plans.get(widen)
        if plan is None:
            halves = self.cells / 2.0 + widen
            counts = [
                2 if widen == 0.0 else int(np.ceil(2 * h / c)) + 1 for h, c in zip(halves, self.cells, strict=True)
            ]
            steps = [(level, *step) for level, n in enumerate(counts) for step in product(range(n), repeat=3)]
            table = np.array(steps, dtype=np.int64)
            plan = self._plans[widen] = (table[:, 0], table[:, 1:], halves)
        return plan

    def _walk(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], Rows]:
        """Follow the chains of all cells together; as many rounds as the longest chain has rows."""
        buckets = (keys.view(np.uint64) * _SPREAD) >> _SHIFT
        current = self._head[buckets.view(np.int64)]
        index = np.flatnonzero(current)
        current = current[index]
        found_index, found_rows = [], []
        while len(index):
            rows = current.astype(np.int64) - 1
            # buckets are shared by far-away cells: the key tells them apart
            same = self.key[rows] == keys[index]
            found_index.append(index[same])
            found_rows.append(rows[same])
            current = self.following[rows]
            alive = np.flatnonzero(current)
            index, current = index[alive], current[alive]
        if not found_rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(found_index), np.concatenate(found_rows)


def _pack(level: NDArray[np.int64], cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """One positive number per level and cell; axes wrap after a million cells, and distances are checked later."""
    cell = cell & _AXIS_MASK
    packed: NDArray[np.int64] = (
        ((level + 1) << (3 * _AXIS_BITS))
        | (cell[..., 0] << (2 * _AXIS_BITS))
        | (cell[..., 1] << _AXIS_BITS)
        | cell[..., 2]
    )
    return packed


def _bucket(key: int) -> int:
    return ((key * int(_SPREAD)) & 0xFFFFFFFFFFFFFFFF) >> (64 - _BUCKET_BITS)
