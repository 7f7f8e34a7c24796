"""Cut the seen floor into rooms: at openings in walls that are narrower than the space on both of their sides.

A door, or a wide passage without one, is a gap between two ends of one wall. A corridor is as narrow as a passage,
so width alone does not tell them apart; that a wall goes on behind the gap does. docs/rooms.md has the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.rooms.plan import Plan

_NARROWEST, _WIDEST = 0.5, 2.2
"""Metres between two wall ends that make an opening: a narrow door to a double one without leaves."""
_STUB = 0.2
"""Metres of wall that must go on behind each side of an opening: doors often stand a hand's breadth from a corner."""
_NARROWING = 0.2
"""Metres by which the space on each side must be wider than the opening: else a corridor bends or a room ends."""
_BESIDE = 0.15, 0.9
"""Metres from the wall within which the width of the space beside it is measured."""
_THIN = 0.45
"""Metres across a wall at an opening, blur included; what is thicker is a wall that runs the other way."""
_DOOR = 1.2
"""Metres: an opening not wider than this may end at a wall that runs across; a wider one needs wall on both sides."""
_OPEN = 0.8
"""Share of an opening's cells that must have been looked through."""
_SMALL = 1.2
"""Square metres: what is cut off and smaller is a niche of the room it touches most."""
_LEAST = 0.3
"""Square metres of floor that make a region where there is nothing to join it to."""
_TOUCH = 3
"""Cells over which regions touch: an opening is one, blur another."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A gap in a wall along rows (axis 0) or columns (axis 1): from ``start`` to before ``end``, on line ``at``."""

    axis: int
    start: int
    end: int
    at: int


@dataclass(frozen=True, eq=False)
class Regions:
    """A label per cell of a plan, 0 for none and 1 to ``count`` for regions, and the openings they were cut at."""

    labels: NDArray[np.int32]
    count: int
    openings: tuple[Opening, ...]


def cut(plan: Plan) -> Regions:
    """Cut the open cells of a plan into regions, numbered in the order of their first cell."""
    from scipy import ndimage

    barrier = np.zeros_like(plan.wall)
    openings: list[Opening] = []
    for axis in (0, 1):
        wall, free, shut = (each if axis == 0 else each.T for each in (plan.wall, plan.open, barrier))
        for start, end, at in _openings(np.ascontiguousarray(wall), np.ascontiguousarray(free), plan.cell):
            openings.append(Opening(axis, start, end, at))
            shut[start - 1 : end + 1, at] = True
    labels, count = ndimage.label(plan.open & ~barrier)
    labels = _joined(labels.astype(np.int32), count, plan.cell)
    kept, first = np.unique(labels, return_index=True)
    kept = kept[np.argsort(first)]
    numbers = np.zeros(count + 1, dtype=np.int32)
    kept = kept[kept > 0]
    numbers[kept] = np.arange(1, len(kept) + 1)
    return Regions(numbers[labels], len(kept), tuple(openings))


def _joined(labels: NDArray[np.int32], count: int, cell: float) -> NDArray[np.int32]:
    """Give regions too small to be rooms to the neighbour they touch most, and drop scraps that touch none."""
    from scipy import ndimage

    area = np.bincount(labels.ravel(), minlength=count + 1) * cell**2
    boxes = ndimage.find_objects(labels)
    numbers = np.arange(count + 1, dtype=np.int32)
    small = [k for k in range(1, count + 1) if area[k] < _SMALL]
    for k in sorted(small, key=lambda k: (area[k], k)):
        around = tuple(slice(max(part.start - _TOUCH, 0), part.stop + _TOUCH) for part in boxes[k - 1])
        window = numbers[labels[around]]
        own = labels[around] == k
        near = ndimage.binary_dilation(own, iterations=_TOUCH) & (window > 0) & (window != numbers[k])
        own_number = int(numbers[k])
        if area[own_number] >= _SMALL:
            continue
        if near.any():
            to = int(np.bincount(window[near]).argmax())
            numbers[numbers == own_number] = to
            area[to] += area[own_number]
        elif area[own_number] < _LEAST:
            numbers[numbers == own_number] = 0
    return numbers[labels]


def _openings(wall: NDArray[np.bool_], free: NDArray[np.bool_], cell: float) -> list[tuple[int, int, int]]:
    """Openings in walls along axis 0 as (start, end, line)."""
    from scipy import ndimage

    # a wall that wavers by a cell is still one line
    thick = ndimage.maximum_filter1d(wall, 3, axis=1)
    solid = ndimage.binary_opening(thick, structure=np.ones((round(_STUB / cell), 1), dtype=np.bool_))
    starts, ends, lines = _gaps(solid)
    width = (ends - starts) * cell
    usual = (width >= _NARROWEST) & (width <= _WIDEST + 2 * cell)
    seen = np.concatenate([np.zeros((1, free.shape[1]), dtype=np.int64), np.cumsum(free, axis=0)])
    looked_through = seen[ends, lines] - seen[starts, lines] >= _OPEN * (ends - starts)
    chosen = np.flatnonzero(usual & looked_through)
    groups: list[list[tuple[int, int, int]]] = []
    for k in chosen.tolist():
        gap = int(starts[k]), int(ends[k]), int(lines[k])
        for group in reversed(groups):
            a, b, line = group[-1]
            shared = min(b, gap[1]) - max(a, gap[0])
            if gap[2] - line <= 2 and shared >= 0.6 * min(b - a, gap[1] - gap[0]):
                group.append(gap)
                break
        else:
            groups.append([gap])
    found = (_narrow(group, wall, cell) for group in groups)
    return [gap for gap in found if gap is not None]


def _gaps(solid: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Runs between two solid cells along axis 0, in the order of their columns: first cell, cell after, column."""
    padded = np.pad(solid, ((1, 1), (0, 0))).astype(np.int8).T
    step = np.diff(padded, axis=1)
    columns, begins = np.nonzero(step == 1)
    _, stops = np.nonzero(step == -1)
    same = columns[1:] == columns[:-1]
    return stops[:-1][same], begins[1:][same], columns[1:][same]


def _narrow(group: list[tuple[int, int, int]], wall: NDArray[np.bool_], cell: float) -> tuple[int, int, int] | None:
    """The narrowest gap of neighbouring lines, if it is an opening of a wall between two wider spaces."""
    start, end, at = min(group, key=lambda gap: (gap[1] - gap[0], gap[2]))
    width = (end - start) * cell
    if width > _WIDEST:
        return None
    low, high = min(gap[2] for gap in group), max(gap[2] for gap in group)
    offsets = range(round(_BESIDE[0] / cell), round(_BESIDE[1] / cell) + 1)
    beside = min(
        max(_width(wall, start, end, line) for line in lines)
        for lines in ([low - offset for offset in offsets], [high + offset for offset in offsets])
    )
    if beside * cell < width + _NARROWING:
        return None
    thin, other = sorted(
        # the outermost cell of a wall is ragged; a perpendicular wall may begin four cells behind it
        max(_thickness(wall, i, j) for i in rows for j in range(low, high + 1)) * cell or math.inf
        for rows in ((start - 2, start - 3), (end + 1, end + 2))
    )
    if thin > _THIN or (other > _THIN and width > _DOOR):
        return None
    return start, end, at


def _width(wall: NDArray[np.bool_], start: int, end: int, line: int) -> int:
    """Cells without wall along a line beside an opening, through its middle or its quarters; the widest counts."""
    if not 0 <= line < wall.shape[1]:
        return 0
    column = wall[:, line]
    middle = (start + end) // 2
    best = 0
    for at in (middle, (start + middle) // 2, (end + middle) // 2):
        if not column[at]:
            before, after = np.flatnonzero(column[:at]), np.flatnonzero(column[at:])
            low = int(before[-1]) + 1 if len(before) else 0
            high = at + int(after[0]) if len(after) else len(column)
            best = max(best, high - low)
    return best


def _thickness(wall: NDArray[np.bool_], i: int, j: int) -> int:
    """Cells of wall across the line, through one cell; 0 where that is none."""
    if not (0 <= i < wall.shape[0] and 0 <= j < wall.shape[1] and wall[i, j]):
        return 0
    row = wall[i]
    before, after = np.flatnonzero(~row[:j]), np.flatnonzero(~row[j:])
    low = int(before[-1]) + 1 if len(before) else 0
    return (j + int(after[0]) if len(after) else len(row)) - low
