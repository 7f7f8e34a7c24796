"""Where a thing can be put down: free, flat places on supports and on the floor, found by looking down.

Ray casts decide, not bounding boxes: a sofa's seat is found below its back, and a cluttered table only where it is
clear. A spot must also be in sight of a place where a robot can be; nothing is put where nobody could find it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.home import STRUCTURE_ID, Home, Thing
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.scene import NO_HIT
from lastseen.sim.viewpoint import near_spots, surface_points

_TRIES = 24
"""Draws per support before it counts as full."""
_FLAT = 0.012
"""Metres of unevenness under a thing that still let it stand."""
_MARGIN = 0.02
"""Metres kept free around a thing: nobody puts things down edge to edge."""
_LOWEST, _HIGHEST = 0.15, 1.5
"""Metres above the floor between which tops are used as supports."""
_LIFT = 0.005
"""Metres by which a thing is lifted to test its volume: it touches what it stands on."""
_SIGHT_POINTS, _SIGHT_STEP = 32, 5
"""Points on the thing, and every which nearby cell, that the check of visibility tries."""
_MIN_SHARE = 0.25
"""Share of those points in sight: half would be all of one side, the thing hiding its own back."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for a thing: its pose there and what carries it; None for the floor."""

    pose: Pose3D
    support_id: int | None


def free_spot(grid: NavigationGrid, thing: Thing, rng: np.random.Generator) -> Spot | None:
    """A random place for a thing elsewhere in its home: on a support, or on the floor if it stands on it now."""
    home = grid.scene.home
    size = high_side(thing.mesh.bounds)
    if thing.support_id is None and float(thing.box[0, 2]) < 0.05:
        return _floor_spot(grid, thing, size, rng)
    supports = [other for other in home.things.values() if _can_carry(other, thing, size)]
    for number in rng.permutation(len(supports)):
        spot = _top_spot(grid, thing, supports[int(number)], rng)
        if spot is not None:
            return spot
    return None


def high_side(bounds: NDArray[np.float64]) -> float:
    """The longest side of a footprint."""
    return float((bounds[1] - bounds[0])[:2].max())


def _can_carry(support: Thing, thing: Thing, size: float) -> bool:
    """Furniture with a top of the right height and size; things that are carried about carry nothing."""
    if support.id == thing.id or support.movable:
        return False
    top = float(support.box[1, 2])
    return top >= _LOWEST and float(support.box[0, 2]) < _HIGHEST and float(support.extent[:2].min()) >= size


def _top_spot(grid: NavigationGrid, thing: Thing, support: Thing, rng: np.random.Generator) -> Spot | None:
    low, high = support.box
    for _ in range(_TRIES):
        x, y = rng.uniform(low[:2], high[:2])
        yaw = float(rng.uniform(-math.pi, math.pi))
        ground = _ground(grid, thing, Pose2D(float(x), float(y), yaw), from_height=float(high[2]) + 0.3)
        if ground is None or ground[1] != support.id or not _LOWEST <= ground[0] <= _HIGHEST:
            continue
        pose = Pose3D.from_pose2d(Pose2D(float(x), float(y), yaw), height=ground[0])
        if fits(grid, thing, pose) and _in_sight(grid, thing, pose):
            return Spot(pose, support.id)
    return None


def _floor_spot(grid: NavigationGrid, thing: Thing, size: float, rng: np.random.Generator) -> Spot | None:
    """Free floor beside something, so that the way through a room stays open."""
    cells = grid.reachable()
    clearance = grid.clearance[cells[:, 0], cells[:, 1]]
    beside = cells[(clearance > size / 2.0 + _MARGIN) & (clearance < size / 2.0 + 2.0 * grid.robot.radius)]
    for number in rng.permutation(len(beside))[:_TRIES]:
        x, y = grid.centers(beside[[int(number)]])[0]
        yaw = float(rng.uniform(-math.pi, math.pi))
        pose = Pose3D.from_pose2d(Pose2D(float(x), float(y), yaw), height=0.0)
        if fits(grid, thing, pose) and _in_sight(grid, thing, pose) and _keeps_open(grid, thing, pose):
            return Spot(pose, None)
    return None


def _ground(grid: NavigationGrid, thing: Thing, pose: Pose2D, *, from_height: float) -> tuple[float, int] | None:
    """Height and instance under a footprint, where it is flat and all of one thing."""
    low, high = thing.mesh.bounds
    x, y = np.meshgrid(
        np.linspace(low[0] - _MARGIN, high[0] + _MARGIN, 5), np.linspace(low[1] - _MARGIN, high[1] + _MARGIN, 5)
    )
    local = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])
    origins = Pose3D.from_pose2d(pose, height=from_height).transform(local).astype(np.float32)
    down = np.tile(np.array([0.0, 0.0, -1.0], dtype=np.float32), (len(origins), 1))
    hits = grid.scene.cast(origins, down)
    faces = hits["primID"]
    if (faces == NO_HIT).any() or float(np.ptp(hits["tfar"])) > _FLAT:
        return None
    ids = set(grid.scene.surface.ids[faces].tolist())
    return (from_height - float(hits["tfar"].min()), ids.pop()) if len(ids) == 1 else None


def fits(grid: NavigationGrid, thing: Thing, pose: Pose3D) -> bool:
    """Whether a thing at a pose runs into no other thing and no wall: rays through its volume hit nothing else."""
    low, high = thing.mesh.bounds
    low = low + np.array([0.0, 0.0, _LIFT])
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    world = pose.transform(corners)
    starts = np.array([world[i] for i, _ in pairs] + [world[j] for _, j in pairs])
    ends = np.array([world[j] for _, j in pairs] + [world[i] for i, _ in pairs])
    hits = grid.scene.cast(starts.astype(np.float32), (ends - starts).astype(np.float32))
    struck = (hits["primID"] != NO_HIT) & (hits["tfar"] <= 1.0)
    own = grid.scene.surface.ids[hits["primID"]] == thing.id
    return not bool((struck & ~own).any()) and not _overlaps(grid.scene.home, thing, world)


def _overlaps(home: Home, thing: Thing, corners: NDArray[np.float64]) -> bool:
    """Whether the box holds the middle of a small thing: rays along edges would pass it by."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    return any(
        bool(((low < other.position) & (other.position < high)).all())
        for other in home.things.values()
        if other.id not in (thing.id, STRUCTURE_ID)
    )


def _in_sight(grid: NavigationGrid, thing: Thing, pose: Pose3D) -> bool:
    """Whether a robot within the view distance would see a good part of the thing at its new pose."""
    there = replace(thing, pose=pose)
    points = surface_points(there, _SIGHT_POINTS)
    near = near_spots(grid, there)[::_SIGHT_STEP]
    origins = np.repeat(np.column_stack([near, np.full(len(near), grid.robot.camera_height)]), len(points), axis=0)
    ways = np.tile(points, (len(near), 1)) - origins
    hits = grid.scene.cast(origins.astype(np.float32), ways.astype(np.float32))
    # a ray that gets to the point, less a hair for the surface it may lie on
    shares = (hits["tfar"] > 1.0 - _LIFT).reshape(len(near), len(points)).mean(axis=1)
    return bool((shares >= _MIN_SHARE).any())


def _keeps_open(grid: NavigationGrid, thing: Thing, pose: Pose3D) -> bool:
    """Whether the reachable floor loses no more than the thing itself covers: no room is closed off."""
    home = grid.scene.home
    edited = NavigationGrid(home.with_thing(replace(thing, pose=pose)), robot=grid.robot, navigation=grid.navigation)
    side = high_side(thing.mesh.bounds) * math.sqrt(2.0) + 2.0 * grid.robot.radius + 4.0 * grid.navigation.cell
    return edited.area() >= grid.area() - side**2
