"""Where is something near this point? A hash grid over rows that stay where they are most of the time.

Things of different reach live on different levels, so that one sofa does not widen the search for every mug: a
thing stands on the finest level whose cells are twice its reach, and a point then looks into two cells per axis
and level. A cell is a small array of rows; looking up costs per cell asked for, never per object remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

_AXIS_BITS = 20
_AXIS_MASK = (1 << _AXIS_BITS) - 1
_NONE: Rows = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The cells to look into around a point, on the levels that hold anything."""

    levels: Rows
    columns: Rows
    offsets: Rows
    halves: Floats
    cells: Floats


class HashGrid:
    """Rows by place; ``reaches`` are the largest reach on each level, ``slack`` the largest of a query point."""

    def __init__(self, reaches: tuple[float, ...], *, slack: float) -> None:
        self.reaches = np.array(reaches)
        self.cells = 2.0 * (self.reaches + slack)
        self._held: dict[int, Rows] = {}
        self._on_level = [0] * len(reaches)
        self._plans: dict[tuple[float, tuple[bool, ...]], _Plan] = {}

    def keys_of(self, xyz: Floats, reach: Floats) -> Rows:
        """The cell each thing belongs to, as one positive number."""
        level = np.minimum(np.searchsorted(self.reaches, reach), len(self.reaches) - 1)
        return _pack(level, np.floor(xyz / self.cells[level][:, np.newaxis]).astype(np.int64))

    def move(self, row: int, old: int, new: int) -> None:
        """Take a row from one cell to another; 0 stands for no cell."""
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
        order = np.argsort(keys, kind="stable")
        distinct, starts = np.unique(keys[order], return_index=True)
        for key, group in zip(distinct.tolist(), np.split(rows[order], starts)[1:], strict=True):
            self._held[key] = np.concatenate([self._held.get(key, _NONE), group])
            self._on_level[(key >> (3 * _AXIS_BITS)) - 1] += len(group)

    def near(self, xyz: Floats, *, widen: float = 0.0) -> tuple[Rows, Rows]:
        """Pairs (point, row) of every row within reach plus slack plus ``widen`` of the point, and some more."""
        plan = self._plan(widen)
        if not (len(xyz) and len(plan.levels)):
            return _NONE, _NONE
        base = np.floor((xyz[:, np.newaxis, :] - plan.halves) / plan.cells).astype(np.int64)
        keys = _pack(plan.levels, base[:, plan.columns] + plan.offsets)
        get = self._held.get
        found = [get(key, _NONE) for key in keys.ravel().tolist()]
        counts = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        per_point = counts.reshape(len(xyz), -1).sum(axis=1)
        return np.repeat(np.arange(len(xyz)), per_point), np.concatenate(found)

    def inside(self, low: Floats, high: Floats) -> Rows:
        """Every row whose centre can lie in an axis-aligned box, and some more from its border cells."""
        found = []
        get = self._held.get
        for level, cell in enumerate(self.cells.tolist()):
            if not self._on_level[level]:
                continue
            first = np.floor(low / cell).astype(np.int64).tolist()
            last = np.floor(high / cell).astype(np.int64).tolist()
            xs, ys, zs = (range(a, b + 1) for a, b in zip(first, last, strict=True))
            top = (level + 1) << (3 * _AXIS_BITS)
            for x in xs:
                plane = top | (x & _AXIS_MASK) << (2 * _AXIS_BITS)
                for y in ys:
                    line = plane | (y & _AXIS_MASK) << _AXIS_BITS
                    for z in zs:
                        rows = get(line | (z & _AXIS_MASK))
                        if rows is not None:
                            found.append(rows)
        return np.concatenate(found) if found else _NONE

    def _plan(self, widen: float) -> _Plan:
        used = tuple(count > 0 for count in self._on_level)
        plan = self._plans.get((widen, used))
        if plan is None:
            steps: list[tuple[int, ...]] = []
            halves = self.cells / 2.0 + widen
            for level in np.flatnonzero(used).tolist():
                count = 2 if widen == 0.0 else int(np.ceil(2.0 * halves[level] / self.cells[level])) + 1
                steps += [(level, *step) for step in product(range(count), repeat=3)]
            table = np.array(steps, dtype=np.int64).reshape(-1, 4)
            kept = np.flatnonzero(used)
            plan = _Plan(
                levels=table[:, 0],
                columns=np.searchsorted(kept, table[:, 0]),
                offsets=table[:, 1:],
                halves=halves[kept, np.newaxis],
                cells=self.cells[kept, np.newaxis],
            )
            self._plans[widen, used] = plan
        return plan


def _pack(level: Rows, cell: Rows) -> Rows:
    """One positive number per level and cell; axes wrap after a million cells, and distances are checked later."""
    cell = cell & _AXIS_MASK
    packed: Rows = (cell[..., 0] << (2 * _AXIS_BITS)) | (cell[..., 1] << _AXIS_BITS) | cell[..., 2]
    return packed | ((level + 1) << (3 * _AXIS_BITS))
