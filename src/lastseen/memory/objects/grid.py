"""Where is something near this point? A hash grid over rows that stay where they are most of the time.

Things of different reach live on different levels, so that one sofa does not widen the search for every mug: a
thing stands on the finest level whose cells are twice its reach, and a point then looks into two cells per axis
and level. A cell is a small array of rows; looking up costs per cell asked for, never per object remembered. The
cells around a point are kept joined, because the next frame asks for most of them again.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

_AXIS_BITS = 20
_AXIS_MASK = (1 << _AXIS_BITS) - 1
_AXIS_STEPS: Rows = np.array([1 << (2 * _AXIS_BITS), 1 << _AXIS_BITS, 1])
_NONE: Rows = np.empty(0, dtype=np.int64)
BLOCKS = 1024
"""Blocks of cells kept joined: a camera looks into some dozens for a while, and then into others."""
BOXES = 32
"""The same for boxes, of which a frame asks for one."""


class HashGrid:
    """Rows by place; ``reaches`` are the largest reach on each level, ``slack`` the largest of a query point."""

    def __init__(self, reaches: tuple[float, ...], *, slack: float) -> None:
        self.reaches = np.array(reaches)
        self.cells = 2.0 * (self.reaches + slack)
        self._held: dict[int, Rows] = {}
        self._on_level = [0] * len(reaches)
        self._blocks: dict[tuple[float, int], Rows] = {}
        self._boxes: dict[tuple[int, ...], Rows] = {}

    def keys_of(self, xyz: Floats, reach: Floats) -> Rows:
        """The cell each thing belongs to, as one positive number."""
        level = np.minimum(self.reaches.searchsorted(reach), len(self.reaches) - 1)
        return _pack(level, np.floor(xyz / self.cells.take(level)[:, np.newaxis]).astype(np.int64))

    def move(self, row: int, old: int, new: int) -> None:
        """Take a row from one cell to another; 0 stands for no cell."""
        self._forget_joined()
        if old:
            rows = self._held[old]
            if len(rows) == 1:
                del self._held[old]
            else:
                self._held[old] = rows[rows != row]
            self._on_level[(old >> (3 * _AXIS_BITS)) - 1] -= 1
        if new:
            self._held[new] = np.append(self._held.get(new, _NONE), row)
            self._on_level[(new >> (3 * _AXIS_BITS)) - 1] += 1

    def fill(self, rows: Rows, keys: Rows) -> None:
        """Put many rows into cells at once, none of which is in one."""
        self._forget_joined()
        order = np.argsort(keys, kind="stable")
        distinct, starts = np.unique(keys[order], return_index=True)
        for key, group in zip(distinct.tolist(), np.split(rows[order], starts)[1:], strict=True):
            self._held[key] = np.concatenate([self._held.get(key, _NONE), group])
            self._on_level[(key >> (3 * _AXIS_BITS)) - 1] += len(group)

    def _forget_joined(self) -> None:
        self._blocks.clear()
        self._boxes.clear()

    def near(self, xyz: Floats, *, widen: float = 0.0) -> tuple[Rows, Rows]:
        """Pairs (point, row) of every row within reach plus slack plus ``widen`` of the point, and some more."""
        levels = np.array([level for level, count in enumerate(self._on_level) if count], dtype=np.int64)
        if not (len(xyz) and len(levels)):
            return _NONE, _NONE
        cells = self.cells.take(levels)[:, np.newaxis]
        lowest = np.floor((xyz[:, np.newaxis, :] - (0.5 * cells + widen)) / cells).astype(np.int64)
        keys = _pack(levels, lowest).ravel().tolist()
        kept = self._blocks.get
        found = [self._block(key, widen) if (rows := kept((widen, key))) is None else rows for key in keys]
        point = np.arange(len(keys)) // len(levels)
        return point.repeat([len(rows) for rows in found]), np.concatenate(found)

    def _block(self, lowest: int, widen: float) -> Rows:
        """The rows of all cells that a point looks into, of which this is the lowest; kept until something moves."""
        level = (lowest >> (3 * _AXIS_BITS)) - 1
        cell = float(self.cells[level])
        count = 2 if widen == 0.0 else math.ceil((cell + 2.0 * widen) / cell) + 1
        first = [lowest >> (axis * _AXIS_BITS) & _AXIS_MASK for axis in (2, 1, 0)]
        rows = self._joined(level, first, [low + count - 1 for low in first])
        if len(self._blocks) >= BLOCKS:
            self._blocks.clear()
        self._blocks[widen, lowest] = rows
        return rows

    def inside(self, low: Floats, high: Floats) -> Rows:
        """Every row whose centre can lie in an axis-aligned box, and some more from its border cells."""
        found = [_NONE]
        for level, cell in enumerate(self.cells.tolist()):
            if self._on_level[level]:
                first = np.floor(low / cell).astype(np.int64).tolist()
                last = np.floor(high / cell).astype(np.int64).tolist()
                rows = self._boxes.get((level, *first, *last))
                found.append(self._box(level, first, last) if rows is None else rows)
        return np.concatenate(found)

    def _box(self, level: int, first: list[int], last: list[int]) -> Rows:
        """The rows of a box of cells; kept like a block."""
        rows = self._joined(level, first, last)
        if len(self._boxes) >= BOXES:
            self._boxes.clear()
        self._boxes[level, *first, *last] = rows
        return rows

    def _joined(self, level: int, first: list[int], last: list[int]) -> Rows:
        """The rows of all cells from the first to the last on each axis."""
        found = [_NONE]
        held = self._held
        xs, ys, zs = (range(a, b + 1) for a, b in zip(first, last, strict=True))
        top = (level + 1) << (3 * _AXIS_BITS)
        for x in xs:
            plane = top | (x & _AXIS_MASK) << (2 * _AXIS_BITS)
            for y in ys:
                line = plane | (y & _AXIS_MASK) << _AXIS_BITS
                found += [held[key] for z in zs if (key := line | (z & _AXIS_MASK)) in held]
        return np.concatenate(found)


def _pack(level: Rows, cell: Rows) -> Rows:
    """One positive number per level and cell; axes wrap after a million cells, and distances are checked later."""
    packed: Rows = (cell & _AXIS_MASK) @ _AXIS_STEPS
    return packed + ((level + 1) << (3 * _AXIS_BITS))
