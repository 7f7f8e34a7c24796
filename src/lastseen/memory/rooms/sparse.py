"""Open floor where depth told nothing of walls: files of older versions, cameras without depth, the first frames.

There the explored floor, the robot's own path and the lines along which things were seen say what is open.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.rooms.plan import Points
from lastseen.memory.space.floor import FloorGrid
from lastseen.memory.space.space import Space

_STANDS = 0.5
"""Metres around a spot on the robot's path that are open: it was there."""
_FROM_WALLS = 0.3
"""Metres from what the grid of walls knows within which that alone counts."""
_MOST = 400
"""Spots and lines that are drawn, the newest ones: in a home with depth there are none."""


def open_points(space: Space, things: NDArray[np.float64], ids: list[str]) -> Points:
    """Points (n, 2), no farther apart than a cell of the walls, that are open though that grid does not know them.

    ``things`` are the positions (n, 3) of confirmed objects, ``ids`` theirs.
    """
    walls, cell = space.walls, space.walls.settings.cell
    known = _known(walls)
    found = []
    free = np.argwhere(space.floor.free)
    if len(free):
        size = space.floor.settings.cell
        first = np.array(space.floor.point_of((0, 0)))
        inside = np.arange(-size / 2 + cell / 2, size / 2, cell)
        found.append(_around(_unknown(first + free * size, walls, known), inside, disc=False))
    poses = [anchor.world_pose for anchor in space.spatial.graph.anchors.values() if anchor.world_pose is not None]
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
    wide: NDArray[np.bool_] = ndimage.maximum_filter(seen, reach) if seen.size else seen
    return wide


def _is_unknown(points: Points, walls: FloorGrid, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if not known.size:
        return np.ones(len(points), dtype=np.bool_)
    at = np.floor((points - walls.point_of((0, 0))) / walls.settings.cell + 0.5)
    inside: NDArray[np.bool_] = np.asarray(((at >= 0) & (at < known.shape)).all(axis=1))
    i, j = np.where(inside[:, None], at, 0).astype(np.int64).T
    found: NDArray[np.bool_] = ~(inside & known[i, j])
    return found


def _unknown(points: Points, walls: FloorGrid, known: NDArray[np.bool_]) -> Points:
    chosen: Points = points[_is_unknown(points, walls, known)]
    return chosen


def _around(points: Points, offsets: NDArray[np.float64], *, disc: bool) -> Points:
    """Each point with those around it, in a square or a disc."""
    x, y = (each.ravel() for each in np.meshgrid(offsets, offsets, indexing="ij"))
    if disc:
        inside = np.hypot(x, y) <= offsets.max()
        x, y = x[inside], y[inside]
    return (points[:, None] + np.stack([x, y], axis=1)[None]).reshape(-1, 2)
