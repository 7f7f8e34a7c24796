"""The plan of a storey: its walls as a raster along their own direction, so that a wall is a row or a column.

Where depth told nothing of walls (files of older versions, cameras without depth, the first frames) the explored
floor, the robot's own path and the lines along which things were seen say what is open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.space.floor import OCCUPIED, FloorGrid
from lastseen.memory.space.space import Space
from lastseen.memory.space.storeys import Storey

_SPECK = 0.05
"""Square metres: a smaller patch of wall that stands alone is a lamp, a plant or noise."""
_HOLE = 0.35
"""Metres missing along a wall that was seen at a glancing angle or behind things: no door is as narrow."""
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
    wall = _without_specks(_without_holes(evidence >= OCCUPIED, cell), cell)
    return Plan(wall, ((evidence < 0) | (evidence >= OCCUPIED)) & ~wall, cell, turn, corner)


def _without_holes(wall: NDArray[np.bool_], cell: float) -> NDArray[np.bool_]:
    """Walls whose holes along their own direction are closed where nobody could walk through them."""
    from scipy import ndimage

    closed = wall.copy()
    for axis in (0, 1):
        # a wall that wavers by a cell is still one line
        line = ndimage.maximum_filter1d(wall, 3, axis=1 - axis)
        length = 1 + round(_HOLE / cell)
        bridged = ndimage.binary_closing(line, structure=np.ones((length, 1) if axis == 0 else (1, length)))
        # the line was made thicker to bridge it: it goes back to the width of the wall
        closed |= ndimage.minimum_filter1d(bridged, 3, axis=1 - axis)
    return closed


def _without_specks(wall: NDArray[np.bool_], cell: float) -> NDArray[np.bool_]:
    from scipy import ndimage

    patches, count = ndimage.label(wall, structure=np.ones((3, 3)))
    sizes = np.bincount(patches.ravel(), minlength=count + 1)
    sizes[0] = 0
    return sizes[patches] * cell**2 >= _SPECK


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


_STANDS = 0.5
"""Metres around a spot on the robot's path that are open: it was there."""
_FROM_WALLS = 0.3
"""Metres from what the grid of walls knows within which that alone counts."""
_MOST = 400
"""Spots and lines that are drawn, the newest ones: in a home with depth there are none."""


def open_points(space: Space, storey: Storey, things: NDArray[np.float64], ids: list[str]) -> Points:
    """Points (n, 2), no farther apart than a cell of the walls, that are open though that grid does not know them.

    ``things`` are the positions (n, 3) of the confirmed objects of the storey, ``ids`` theirs.
    """
    walls, cell = storey.walls, storey.walls.settings.cell
    known = _known(walls)
    found = []
    free = np.argwhere(storey.floor.free)
    if len(free):
        size = storey.floor.settings.cell
        first = np.array(storey.floor.point_of((0, 0)))
        inside = np.arange(-size / 2 + cell / 2, size / 2, cell)
        found.append(_around(_unknown(first + free * size, walls, known), inside, disc=False))
    poses = [
        anchor.world_pose
        for anchor in space.spatial.graph.anchors.values()
        if anchor.world_pose is not None and space.storey_of_anchor.get(anchor.anchor_id, 0) == storey.number
    ]
    path = np.array([(pose.x, pose.y) for pose in poses[-_MOST:]]).reshape(-1, 2)
    found.append(_around(_unknown(path, walls, known), np.arange(-_STANDS, _STANDS + cell / 2, cell), disc=True))
    lines = []
    for at in np.flatnonzero(_is_unknown(things[:, :2], walls, known))[-_MOST:].tolist():
        for spot in space.viewpoints.of(ids[at])[:1]:
            end = np.array(spot)
            steps = max(2, int(np.hypot(*(end - things[at, :2])) / (cell / 2)))
            lines.append(things[at, :2] + np.linspace(0.0, 1.0, steps)[:, None] * (end - things[at, :2]))
    if lines:
        found.append(_unknown(np.concatenate(lines), walls, known))
    return np.concatenate(found)


def _known(walls: FloorGrid) -> NDArray[np.bool_]:
    """Cells near enough to what the grid of walls knows."""
    from scipy import ndimage

    reach = 2 * round(_FROM_WALLS / walls.settings.cell) + 1
    seen = walls.evidence != 0
    return ndimage.maximum_filter(seen, reach) if seen.size else seen


def _is_unknown(points: Points, walls: FloorGrid, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if not known.size:
        return np.ones(len(points), dtype=np.bool_)
    at = np.floor((points - walls.point_of((0, 0))) / walls.settings.cell + 0.5)
    inside: NDArray[np.bool_] = np.asarray(((at >= 0) & (at < known.shape)).all(axis=1))
    i, j = np.where(inside[:, None], at, 0).astype(np.int64).T
    return ~(inside & known[i, j])


def _unknown(points: Points, walls: FloorGrid, known: NDArray[np.bool_]) -> Points:
    return points[_is_unknown(points, walls, known)]


def _around(points: Points, offsets: NDArray[np.float64], *, disc: bool) -> Points:
    """Each point with those around it, in a square or a disc."""
    x, y = (each.ravel() for each in np.meshgrid(offsets, offsets, indexing="ij"))
    if disc:
        inside = np.hypot(x, y) <= offsets.max()
        x, y = x[inside], y[inside]
    return (points[:, None] + np.stack([x, y], axis=1)[None]).reshape(-1, 2)
