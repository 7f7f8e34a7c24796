"""The floor plan as it is drawn: walls as straight strips, and the doors between rooms.

Rooms are cut from a raster; a picture wants lines. The strips cover the cells of the raster's walls without their
ragged edges, so that a plan drawn from them shows what the rooms were cut from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.rooms.room_map import Cut, opening_sides

_TEETH = 5
"""Cells along a wall below which a piece that stands out of it is raggedness: 25 cm."""

Point2 = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight piece of wall from ``start`` to ``end`` along its middle, ``thickness`` metres across."""

    start: Point2
    end: Point2
    thickness: float


@dataclass(frozen=True, slots=True)
class Door:
    """A door or passage between two ``rooms`` (their ids), from ``start`` to ``end`` along its threshold."""

    start: Point2
    end: Point2
    rooms: tuple[int, int]


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """Walls and doors of one storey, in metres of the world frame, in a lasting order."""

    storey: int
    walls: tuple[Wall, ...]
    doors: tuple[Door, ...]


def floor_plan(cut: Cut, storey: int) -> FloorPlan:
    """The plan that the rooms of a storey were cut from."""
    return FloorPlan(storey, tuple(_walls(cut)), tuple(_doors(cut)))


def _walls(cut: Cut) -> Iterator[Wall]:
    plan = cut.plan
    wall = _without_teeth(plan.wall)
    along_rows, along_columns = _run_lengths(wall), _run_lengths(wall.T).T
    for axis, mask in ((0, wall & (along_rows >= along_columns)), (1, wall & (along_rows < along_columns))):
        grid = mask if axis == 0 else mask.T
        for start, end, low, high in _rectangles(grid):
            # half a cell around the middles of the first and last cell
            ends = np.array([[start - 0.5, (low + high - 1) / 2], [end - 0.5, (low + high - 1) / 2]])
            first, last = plan.points(ends if axis == 0 else ends[:, ::-1]).tolist()
            yield Wall(_rounded(first), _rounded(last), round((high - low) * plan.cell, 3))


def _doors(cut: Cut) -> Iterator[Door]:
    for opening in sorted(cut.regions.openings, key=lambda one: (one.axis, one.at, one.start, one.end)):
        sides = opening_sides(cut, opening)
        if sides is None:
            continue
        ends = np.array([[opening.start - 0.5, opening.at], [opening.end - 0.5, opening.at]])
        first, last = cut.plan.points(ends if opening.axis == 0 else ends[:, ::-1]).tolist()
        yield Door(_rounded(first), _rounded(last), sides)


def _without_teeth(wall: NDArray[np.bool_]) -> NDArray[np.bool_]:
    from scipy import ndimage

    rows = ndimage.binary_opening(wall, np.ones((_TEETH, 1), dtype=np.bool_))
    columns = ndimage.binary_opening(wall, np.ones((1, _TEETH), dtype=np.bool_))
    return rows | columns


def _run_lengths(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each cell the length of the run of set cells along axis 0 that it lies in; 0 at the others."""
    lengths = np.zeros(mask.shape, dtype=np.int64)
    for line, start, end in _runs(mask):
        lengths[start:end, line] = end - start
    return lengths


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Runs of set cells along axis 0: line, first cell, cell after the last; by line."""
    step = np.diff(np.pad(mask, ((1, 1), (0, 0))).astype(np.int8).T, axis=1)
    lines, starts = np.nonzero(step == 1)
    _, ends = np.nonzero(step == -1)
    return list(zip(lines.tolist(), starts.tolist(), ends.tolist(), strict=True))


def _rectangles(mask: NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """Rectangles that cover a mask: start and end along axis 0, first line and line after the last.

    Runs of neighbouring lines make one where both ends agree.
    """
    found: list[tuple[int, int, int, int]] = []
    growing: dict[tuple[int, int], tuple[int, int]] = {}
    for line, start, end in _runs(mask):
        low, last = growing.get((start, end), (line, line))
        if last < line - 1:
            found.append((start, end, low, last + 1))
            low = line
        growing[start, end] = low, line
    found += [(start, end, low, last + 1) for (start, end), (low, last) in growing.items()]
    return sorted(found)


def _rounded(point: list[float]) -> Point2:
    return round(point[0], 3), round(point[1], 3)
