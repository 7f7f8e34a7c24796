"""The plan of a storey: its walls as a raster along their own direction, so that a wall is a row or a column."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.space.floor import OCCUPIED, FloorGrid

_SPECK = 0.05
"""Square metres: a smaller patch of wall that stands alone is a lamp, a plant or noise."""
_ALIGNED = math.radians(1.5)
"""A grid turned less than this against the walls is used as it is: over 5 m they leave a line by three cells."""
_LARGEST = 4096
"""Cells across within which points beyond the walls' own grid are believed: 200 m."""
_TURNS = 90
"""Directions tried between 0 and 90 degrees."""
_MOST_SAMPLES = 20_000
"""Wall cells that the direction is told from: more say no more."""

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Plan:
    """Walls and open cells as a raster whose rows and columns run along the walls.

    A point (x, y) in the world lies at row ``(cos x + sin y - u) / cell`` and column ``(cos y - sin x - v) / cell``,
    rounded, with ``turn`` the angle of the rows' direction.
    """

    wall: NDArray[np.bool_]
    open: NDArray[np.bool_]
    cell: float
    turn: float
    corner: tuple[float, float]

    def equals(self, other: Plan) -> bool:
        """Whether both show the same."""
        return (self.turn, self.corner) == (other.turn, other.corner) and all(
            np.array_equal(mine, theirs) for mine, theirs in ((self.wall, other.wall), (self.open, other.open))
        )

    def cells(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        """Row and column of points (n, 2); they may lie outside."""
        u, v = _turned(xy[:, 0], xy[:, 1], self.turn)
        at = np.stack([u - self.corner[0], v - self.corner[1]], axis=1) / self.cell
        return np.floor(np.clip(at, -1e9, 1e9) + 0.5).astype(np.int64)

    def points(self, cells: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
        """The middles (n, 2) of cells given by row and column, in the world; halves give corners."""
        u, v = (cells[:, axis].astype(np.float64) * self.cell + self.corner[axis] for axis in (0, 1))
        x, y = _turned(u, v, -self.turn)
        return np.stack([x, y], axis=1)


def plan_of(grid: FloorGrid, more_open: Points) -> Plan | None:
    """The plan of what a grid of walls holds, and points (n, 2) that are open besides; None where nothing was seen.

    Points that lie too far off for a building are left out.
    """
    cell = grid.settings.cell
    seen = np.argwhere(grid.evidence != 0)
    x, y = grid.point_of((0, 0))
    extra = np.floor((more_open - (x, y)) / cell + 0.5).astype(np.int64)
    middle = np.median(seen if len(seen) else extra, axis=0) if len(seen) or len(extra) else np.zeros(2)
    extra = extra[(np.abs(extra - middle) <= _LARGEST / 2).all(axis=1)]
    if not len(seen) and not len(extra):
        return None
    both = np.concatenate([seen, extra])
    low, high = both.min(axis=0), both.max(axis=0) + 1
    evidence = np.zeros(high - low, dtype=np.int8)
    if len(seen):
        (top, left), (bottom, right) = seen.min(axis=0), seen.max(axis=0) + 1
        i, j = (top, left) - low
        evidence[i : i + bottom - top, j : j + right - left] = grid.evidence[top:bottom, left:right]
    i, j = (extra - low).T
    evidence[i, j] = np.where(evidence[i, j] == 0, -1, evidence[i, j])
    corner = grid.point_of((int(low[0]), int(low[1])))
    turn = _direction(np.argwhere(evidence >= OCCUPIED))
    if abs(turn) > _ALIGNED:
        evidence, corner = _resampled(evidence, corner, cell, turn)
    else:
        turn = 0.0
    # a margin, so that whatever looks a few cells around a place stays inside
    evidence = np.pad(evidence, 2)
    corner = corner[0] - 2 * cell, corner[1] - 2 * cell
    wall = _without_specks(evidence >= OCCUPIED, cell)
    return Plan(wall, ((evidence < 0) | (evidence >= OCCUPIED)) & ~wall, cell, turn, corner)


def _without_specks(wall: NDArray[np.bool_], cell: float) -> NDArray[np.bool_]:
    from scipy import ndimage

    patches, count = ndimage.label(wall, structure=np.ones((3, 3)))
    sizes = np.bincount(patches.ravel(), minlength=count + 1)
    sizes[0] = 0
    large: NDArray[np.bool_] = sizes[patches] * cell**2 >= _SPECK
    return large


def _direction(cells: NDArray[np.int64]) -> float:
    """The angle, -45 to 45 degrees in radians, along which most wall runs: its shadow falls on the fewest lines."""
    if len(cells) < 2:
        return 0.0
    some = cells[:: -(-len(cells) // _MOST_SAMPLES)].astype(np.float64)

    def sharpness(angle: float) -> float:
        total = 0.0
        for shadow in _turned(some[:, 0], some[:, 1], angle):
            # two cells to a line, so that rounding does not favour the grid's own axes
            counts = np.bincount(np.floor((shadow - shadow.min()) / 2.0).astype(np.int64))
            total += float((counts.astype(np.float64) ** 2).sum())
        return total

    angles = np.radians(np.arange(_TURNS) * 90.0 / _TURNS - 45.0)
    scores = [sharpness(float(angle)) for angle in angles]
    best = float(angles[int(np.argmax(scores))])
    fine = best + np.radians(np.linspace(-1.0, 1.0, 9))
    return float(fine[int(np.argmax([sharpness(float(angle)) for angle in fine]))])


def _resampled(
    evidence: NDArray[np.int8], corner: tuple[float, float], cell: float, turn: float
) -> tuple[NDArray[np.int8], tuple[float, float]]:
    """The grid along turned axes, each cell as the nearest one of the old; and where its first cell lies."""
    rows, columns = evidence.shape
    x = corner[0] + np.array([0, 0, rows - 1, rows - 1]) * cell
    y = corner[1] + np.array([0, columns - 1, 0, columns - 1]) * cell
    u, v = _turned(x, y, turn)
    first = float(u.min()), float(v.min())
    shape = tuple(math.ceil((float(axis.max()) - float(axis.min())) / cell) + 1 for axis in (u, v))
    grid_u, grid_v = np.meshgrid(*(first[k] + np.arange(shape[k]) * cell for k in (0, 1)), indexing="ij")
    x, y = _turned(grid_u, grid_v, -turn)
    i = np.floor((x - corner[0]) / cell + 0.5).astype(np.int64)
    j = np.floor((y - corner[1]) / cell + 0.5).astype(np.int64)
    inside = (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
    turned = np.zeros(shape, dtype=np.int8)
    turned[inside] = evidence[i[inside], j[inside]]
    return turned, first


def _turned(
    x: NDArray[np.float64], y: NDArray[np.float64], angle: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates along axes that are turned to the left by an angle."""
    cos, sin = math.cos(angle), math.sin(angle)
    return cos * x + sin * y, cos * y - sin * x
