"""Cut the seen floor into rooms: at openings in walls that are narrower than the space on both of their sides.

A door, or a wide passage without one, is a gap between two ends of one wall. A corridor is as narrow as a passage,
so width alone does not tell them apart; that a wall goes on behind the gap does. docs/rooms.md has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.rooms.plan import Plan

_NARROWEST, _WIDE, _WIDEST = 0.5, 2.2, 3.6
"""Metres between two wall ends that make an opening: a narrow door, a double one without leaves, an open wall."""
_WIDE_NARROWING = 2.0
"""Times wider than a wide opening the space on each side must be: else most of the wall is missing."""
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
_RAGGED = 0.1
"""Metres by which the face of a wall may waver."""
_LONG = 0.6
"""Metres of wall along the line that make it one that runs there, however thick it seems."""
_WAVERS = 2
"""Cells by which an end of an opening may waver from one line to the next."""
_SMALL = 1.2
"""Square metres: what is cut off and smaller is a niche of the room it touches most."""
_LEAST = 0.6
"""Square metres of floor that make a region where there is nothing to join it to."""
_TOUCH = 3
"""Cells over which regions touch: an opening is one, blur another."""

Mask = NDArray[np.bool_]
Gap = tuple[int, int, int]
"""First cell, cell after the last, and line."""


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
    # openings between two wall ends first: what lies behind them is no part of the space beside a doubtful one
    for wall_ends in (2, 1):
        shut = barrier.copy()
        for axis in (0, 1):
            wall, free, closed, marked = (
                each if axis == 0 else each.T for each in (plan.wall, plan.open, shut | plan.wall, barrier)
            )
            for start, end, at in _openings(wall, free, closed, plan.cell, wall_ends=wall_ends):
                openings.append(Opening(axis, start, end, at))
                marked[start - 1 : end + 1, at] = True
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
    members = {k: [k] for k in range(1, count + 1)}
    small = [k for k in range(1, count + 1) if area[k] < _SMALL]
    for k in sorted(small, key=lambda k: (area[k], k)):
        own_number = int(numbers[k])
        if area[own_number] >= _SMALL:
            continue
        around = tuple(slice(max(part.start - _TOUCH, 0), part.stop + _TOUCH) for part in boxes[k - 1])
        part = labels[around]
        window = numbers[part]
        others = (window > 0) & (window != own_number)
        near = others & ndimage.binary_dilation(part == k, iterations=_TOUCH) if others.any() else others
        if near.any():
            to = int(np.bincount(window[near]).argmax())
            area[to] += area[own_number]
        elif area[own_number] < _LEAST:
            to = 0
        else:
            continue
        moved = members.pop(own_number)
        numbers[moved] = to
        if to:
            members[to] += moved
    return numbers[labels]


def _openings(wall: Mask, free: Mask, closed: Mask, cell: float, *, wall_ends: int) -> list[Gap]:
    """Openings along axis 0 with so many wall ends, as (start, end, line); ``closed`` are walls and doors."""
    from scipy import ndimage

    # a wall that wavers by a cell is still one line
    thick = ndimage.maximum_filter1d(wall, 3, axis=1)
    solid = ndimage.binary_opening(thick, structure=np.ones((round(_STUB / cell), 1), dtype=np.bool_))
    starts, ends, lines = _gaps(solid)
    width = (ends - starts) * cell
    seen = np.concatenate([np.zeros((1, free.shape[1]), dtype=np.int64), np.cumsum(free, axis=0)])
    looked_through = seen[ends, lines] - seen[starts, lines] >= _OPEN * (ends - starts)
    widths = _widths(closed, free)
    found = []
    # wide gaps apart: the width of a whole room is one, and would swallow the doors beside it
    for least, most in ((_NARROWEST, _WIDE), (_WIDE + 2 * cell, _WIDEST)):
        chosen = np.flatnonzero((width >= least) & (width <= most + 2 * cell) & looked_through)
        gaps = [(int(starts[k]), int(ends[k]), int(lines[k])) for k in chosen.tolist()]
        narrow = (_narrow(group, wall, solid, widths, cell, wall_ends=wall_ends) for group in _grouped(gaps))
        found += [gap for gap in narrow if gap is not None and (gap[1] - gap[0]) * cell <= most]
    return found


def _grouped(gaps: list[Gap]) -> list[list[Gap]]:
    """Gaps on neighbouring lines with the same ends."""
    groups: list[list[Gap]] = []
    for gap in gaps:
        for group in reversed(groups):
            a, b, line = group[-1]
            if gap[2] - line <= 2 and max(abs(gap[0] - a), abs(gap[1] - b)) <= _WAVERS:
                group.append(gap)
                break
        else:
            groups.append([gap])
    return groups


def _gaps(solid: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Runs between two solid cells along axis 0, in the order of their columns: first cell, cell after, column."""
    padded = np.pad(solid, ((1, 1), (0, 0))).astype(np.int8).T
    step = np.diff(padded, axis=1)
    columns, begins = np.nonzero(step == 1)
    _, stops = np.nonzero(step == -1)
    same = columns[1:] == columns[:-1]
    return stops[:-1][same], begins[1:][same], columns[1:][same]


def _narrow(
    group: list[Gap], wall: Mask, solid: Mask, widths: NDArray[np.int64], cell: float, *, wall_ends: int
) -> Gap | None:
    """The narrowest gap of neighbouring lines, if it is an opening of a wall between two wider spaces."""
    start, end, at = min(group, key=lambda gap: (gap[1] - gap[0], gap[2]))
    width = (end - start) * cell
    low, high = min(gap[2] for gap in group), max(gap[2] for gap in group)
    if (high - low) * cell > _THIN:
        return None
    near, far = (round(offset / cell) for offset in _BESIDE)
    middle = (start + end) // 2
    through = [middle, (start + middle) // 2, (end + middle) // 2]
    sides = widths[through, max(low - far, 0) : max(low - near + 1, 0)], widths[through, high + near : high + far + 1]
    beside = min(int(side.max(initial=0)) for side in sides)
    if beside * cell < width + _NARROWING or (width > _WIDE and beside * cell < _WIDE_NARROWING * width):
        return None
    before, after = (
        # the outermost cell of a wall is ragged; a perpendicular wall may begin four cells behind it
        _is_wall_end(wall, solid, rows, (low, at, high), cell)
        for rows in (range(start - 2, -1, -1), range(end + 1, len(wall)))
    )
    if before + after != wall_ends:
        return None
    # one end alone may be a cupboard that stands out: only a clear narrowing is a door then
    if wall_ends == 1 and (width > _DOOR or beside * cell < width + 2 * _NARROWING):
        return None
    return start, end, at


def _widths(closed: Mask, free: Mask) -> NDArray[np.int64]:
    """How many cells without wall or door lie in one line along axis 0 with each open cell; 0 at the others."""
    rows = np.arange(len(closed))[:, None]
    before = np.maximum.accumulate(np.where(closed, rows, -1), axis=0)
    after = np.minimum.accumulate(np.where(closed, rows, len(closed))[::-1], axis=0)[::-1]
    return np.where(free, after - before - 1, 0)


def _is_wall_end(wall: Mask, solid: Mask, rows: range, lines: tuple[int, int, int], cell: float) -> bool:
    """Whether a wall ends at an opening whose lines are ``low`` to ``high``; ``rows`` lead away from it.

    Such a wall is thin. One with something at one of its sides (a wardrobe, a wall that begins there) is told by its
    length: a wall that runs across is no longer along the line than it is thick.
    """
    low, at, high = lines
    below = above = thickness = 0
    for i in rows[:2]:
        for j in range(low, high + 1):
            if wall[i, j]:
                before, after = np.flatnonzero(~wall[i, :j]), np.flatnonzero(~wall[i, j:])
                first = int(before[-1]) + 1 if len(before) else 0
                last = (j + int(after[0]) if len(after) else wall.shape[1]) - 1
                thickness = max(thickness, last - first + 1)
                below, above = max(below, low - first), max(above, last - high)
    if not thickness or thickness * cell <= _THIN:
        return thickness > 0
    length = next((n for n, i in enumerate(rows) if not solid[i, at]), len(rows))
    return min(below, above) * cell <= _RAGGED and length * cell >= _LONG
