"""Where is something near this point? A hash grid over rows that stay where they are most of the time.

Things of different reach live on different levels, so that one sofa does not widen the search for every mug: a
thing stands on the finest level whose cells are twice its reach, and a point then looks into two cells per axis
and level. The rows of a cell hang on one chain; looking up costs per cell asked for, never per object remembered.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lastseen.compiled import compiled
from lastseen.memory.objects.columns import FIRST_CAPACITY, Columns, Floats, Ints, Rows

_AXIS_BITS = 20
_AXIS_MASK = (1 << _AXIS_BITS) - 1
_AXIS_STEPS: Rows = np.array([1 << (2 * _AXIS_BITS), 1 << _AXIS_BITS, 1])
_CHAINS = 1 << 17
"""Chains that cells are hashed to: more than the cells of a large building, and half a megabyte once all are used."""
_SPREAD = 0x4F1BBCDCBFA53E0B
"""An odd number without a pattern in its bits: neighbouring cells times it end far apart."""
FIRST_ROOM = 1024
"""Rows that an answer has room for at first."""


class GridColumns(NamedTuple):
    """A grid for compiled code: by level reach, cell size and rows; heads of chains; by row its cell and link."""

    reaches: Floats
    cells: Floats
    heads: Ints
    cell: Rows
    after: Ints
    on_level: Rows


class HashGrid(Columns):
    """Rows by place; ``reaches`` are the largest reach on each level, ``slack`` the largest of a query point.

    ``cell`` is where each row stands, 0 for nowhere, and ``after`` the row after it on its chain, counted from 1.
    """

    cell: Rows
    after: Ints

    def __init__(self, reaches: tuple[float, ...], *, slack: float, capacity: int = FIRST_CAPACITY) -> None:
        super().__init__(capacity)
        self.reaches = np.array(reaches)
        self.cells = 2.0 * (self.reaches + slack)
        self._on_level = np.zeros(len(reaches), dtype=np.int64)
        self._heads = np.zeros(_CHAINS, dtype=np.int32)
        self.room = FIRST_ROOM
        self.add("cell", np.int64)
        self.add("after", np.int32)

    @property
    def columns(self) -> GridColumns:
        """What compiled code walks along; not to be kept, for growing replaces it."""
        return GridColumns(self.reaches, self.cells, self._heads, self.cell, self.after, self._on_level)

    def remove(self, row: int) -> None:
        """Let a row stand nowhere."""
        columns = self.columns
        move(row, 0, columns.heads, columns.cell, columns.after, columns.on_level)

    def fill(self, rows: Rows, xyz: Floats, reach: Floats) -> None:
        """Let many rows stand somewhere, in a grid that holds none; here nothing has to be compiled."""
        level = np.minimum(self.reaches.searchsorted(reach), len(self.reaches) - 1)
        cell = np.floor(xyz / self.cells[level][:, np.newaxis]).astype(np.int64) & _AXIS_MASK
        keys = cell @ _AXIS_STEPS + ((level + 1) << (3 * _AXIS_BITS))
        self.cell[rows] = keys
        self._on_level += np.bincount(level, minlength=len(self.reaches))
        chains = (keys * _SPREAD >> 40) & (_CHAINS - 1)
        order = np.argsort(chains, kind="stable")
        rows, chains = rows[order], chains[order]
        same = chains[1:] == chains[:-1]
        self.after[rows[:-1][same]] = rows[1:][same] + 1
        first = np.concatenate([[True], ~same])[: len(rows)]
        self._heads[chains[first]] = rows[first] + 1

    def near(self, xyz: Floats, widen: Floats) -> tuple[Rows, Rows]:
        """Pairs (point, row) of every row within reach plus slack plus ``widen`` of each point, and some more."""
        while True:
            points, rows = np.empty((2, self.room), dtype=np.int64)
            count = near(xyz, widen, self.columns, points, rows)
            if count <= self.room:
                return points[:count], rows[:count]
            self.room = 2 * count

    def inside(self, low: Floats, high: Floats) -> Rows:
        """Every row whose centre can lie in an axis-aligned box, and some more from its border cells."""
        while True:
            rows = np.empty(self.room, dtype=np.int64)
            count = inside(low, high, self.columns, rows)
            if count <= self.room:
                return rows[:count]
            self.room = 2 * count


@compiled
def _pack(level: int, x: int, y: int, z: int) -> int:
    """One positive number per level and cell; axes wrap after a million cells, and distances are checked later."""
    key = (level + 1) << (3 * _AXIS_BITS) | (x & _AXIS_MASK) << (2 * _AXIS_BITS)
    return key | (y & _AXIS_MASK) << _AXIS_BITS | (z & _AXIS_MASK)


@compiled
def _chain(key: int) -> int:
    return (key * _SPREAD >> 40) & (_CHAINS - 1)


@compiled
def key_of(x: float, y: float, z: float, reach: float, reaches: Floats, cells: Floats) -> int:
    """The cell that a thing belongs to, as one positive number."""
    level = 0
    while level < len(reaches) - 1 and reach > reaches[level]:
        level += 1
    size = cells[level]
    return _pack(level, math.floor(x / size), math.floor(y / size), math.floor(z / size))


@compiled
def move(row: int, key: int, heads: Ints, cell: Rows, after: Ints, on_level: Rows) -> None:
    """Take a row from the chain of its cell to that of another; 0 stands for no cell."""
    old = cell[row]
    if old:
        chain = _chain(old)
        if heads[chain] == row + 1:
            heads[chain] = after[row]
        else:
            before = heads[chain] - 1
            while after[before] != row + 1:
                before = after[before] - 1
            after[before] = after[row]
        on_level[(old >> (3 * _AXIS_BITS)) - 1] -= 1
    cell[row] = key
    if key:
        chain = _chain(key)
        after[row], heads[chain] = heads[chain], row + 1
        on_level[(key >> (3 * _AXIS_BITS)) - 1] += 1


@compiled
def near(xyz: Floats, widen: Floats, grid: GridColumns, points: Rows, rows: Rows) -> int:
    """Fill points and rows as ``HashGrid.near`` gives them, as far as they go; returns how many there are."""
    count = 0
    for level in range(len(grid.cells)):
        if not grid.on_level[level]:
            continue
        size = grid.cells[level]
        for point in range(len(xyz)):
            start, half = count, 0.5 * size + widen[point]
            more = 1 if widen[point] == 0.0 else math.ceil(2.0 * half / size)
            x = math.floor((xyz[point, 0] - half) / size)
            y = math.floor((xyz[point, 1] - half) / size)
            z = math.floor((xyz[point, 2] - half) / size)
            last = (x + more, y + more, z + more)
            count = _collect(level, (x, y, z), last, grid.heads, grid.cell, grid.after, rows, count)
            for at in range(start, min(count, len(points))):
                points[at] = point
    return count


@compiled
def inside(low: Floats, high: Floats, grid: GridColumns, rows: Rows) -> int:
    """Fill rows as ``HashGrid.inside`` gives them, as far as they go; returns how many there are."""
    count = 0
    for level in range(len(grid.cells)):
        if grid.on_level[level]:
            size = grid.cells[level]
            first = math.floor(low[0] / size), math.floor(low[1] / size), math.floor(low[2] / size)
            last = math.floor(high[0] / size), math.floor(high[1] / size), math.floor(high[2] / size)
            count = _collect(level, first, last, grid.heads, grid.cell, grid.after, rows, count)
    return count


@compiled
def _collect(
    level: int,
    first: tuple[int, int, int],
    last: tuple[int, int, int],
    heads: Ints,
    cell: Rows,
    after: Ints,
    rows: Rows,
    count: int,
) -> int:
    """Append the rows of all cells from the first to the last on each axis, as far as there is room."""
    for at_x in range(first[0], last[0] + 1):
        for at_y in range(first[1], last[1] + 1):
            for at_z in range(first[2], last[2] + 1):
                key = _pack(level, at_x, at_y, at_z)
                link = heads[_chain(key)]
                while link:
                    if cell[link - 1] == key:
                        if count < len(rows):
                            rows[count] = link - 1
                        count += 1
                    link = after[link - 1]
    return count
