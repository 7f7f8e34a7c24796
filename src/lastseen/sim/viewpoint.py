"""From where a thing can be seen up close: the places at which a search for it may stop and have succeeded."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.pose2d import Pose2D
from lastseen.sim.home import Thing
from lastseen.sim.navigation import CELL, NavigationGrid

VIEW_DISTANCE = 1.0
"""Metres: in ObjectNav a viewpoint lies within one metre of the object."""
_SAMPLES = 48
_MIN_SEEN = 3
"""Of 48 surface points about half face away; three seen are some 10 % of what could be."""


def viewpoints(grid: NavigationGrid, thing: Thing, *, spacing: float = 0.0) -> list[Pose2D]:
    """Reachable poses within the view distance of a thing that see it, facing it, by cell.

    ``spacing`` in metres thins them out to a lattice where that leaves any; distances need them all.
    """
    spots = near_spots(grid, thing)
    spots = spots[seen_share(grid, thing, spots) >= _MIN_SEEN / _SAMPLES]
    if spacing > CELL:
        step = max(1, round(spacing / CELL))
        cells = np.floor((spots - grid.origin) / CELL).astype(int)
        lattice = (cells % step == 0).all(axis=1)
        spots = spots[lattice] if lattice.any() else spots
    middle = thing.position
    return [Pose2D(x, y, math.atan2(middle[1] - y, middle[0] - x)) for x, y in spots.tolist()]


def near_spots(grid: NavigationGrid, thing: Thing) -> NDArray[np.float64]:
    """The middles (n, 2) of reachable cells within the view distance of a thing's box, seen from above."""
    low, high = thing.box
    centres = grid.centers(grid.reachable())
    outside = np.maximum(np.maximum(low[:2] - centres, centres - high[:2]), 0.0)
    return centres[np.hypot(outside[:, 0], outside[:, 1]) <= VIEW_DISTANCE]


def seen_share(grid: NavigationGrid, thing: Thing, spots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of points all over a thing, the share that a camera above each floor spot (n, 2) has in plain sight."""
    if not len(spots):
        return np.empty(0)
    points = surface_points(thing, _SAMPLES)
    cameras = np.column_stack([spots, np.full(len(spots), grid.robot.camera_height)])
    origins = np.repeat(cameras, len(points), axis=0)
    directions = np.tile(points, (len(cameras), 1)) - origins
    ids = grid.scene.first_ids(origins.astype(np.float32), directions.astype(np.float32))
    return (ids == thing.id).reshape(len(cameras), len(points)).mean(axis=1)


def surface_points(thing: Thing, count: int) -> NDArray[np.float64]:
    """Points (count, 3) spread over a thing's surface by area, the same ones each time, in the world."""
    corners = thing.mesh.vertices[thing.mesh.faces].astype(np.float64)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = np.random.default_rng([thing.id, count])
    # one point per equal share of the area: no part is left out by chance
    share = (np.arange(count) + rng.random(count)) / count
    face = np.searchsorted(np.cumsum(area) / area.sum(), share).clip(0, len(area) - 1)
    u, v = rng.random((2, count))
    over = u + v > 1.0
    u, v = np.where(over, 1.0 - u, u), np.where(over, 1.0 - v, v)
    chosen = corners[face]
    local = chosen[:, 0] + u[:, None] * (chosen[:, 1] - chosen[:, 0]) + v[:, None] * (chosen[:, 2] - chosen[:, 0])
    return thing.pose.transform(local)
