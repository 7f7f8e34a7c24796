"""Changes drawn from a seed: what a household does to its things while the robot looks elsewhere.

A moved thing is put down on a free, flat place of a support or of the floor. Ray casts find it, not bounding boxes: a
sofa's seat is found below its back, and a cluttered table only where it is clear. The place must be in sight of
somewhere a robot can be, so that nothing is put where nobody could find it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lastseen.config.programs import Robot
from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.change import Change, ChangeKind, add, carried_by, move, new_id, remove, swap
from lastseen.sim.home import STRUCTURE_ID, Home, Thing
from lastseen.sim.navigation import CELL, NavigationGrid
from lastseen.sim.scene import NO_HIT, Scene
from lastseen.sim.viewpoint import near_spots, surface_points

_TRIES = 40
"""Draws per change before the home counts as too full for it."""
_SPOT_TRIES = 24
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
class _Spot:
    """A place for a thing: its pose there and what carries it; None for the floor."""

    pose: Pose3D
    support_id: int | None


def random_changes(
    home: Home,
    stamps: Sequence[float],
    *,
    seed: int,
    kinds: Sequence[ChangeKind] = tuple(ChangeKind),
    robot: Robot | None = None,
) -> tuple[Home, list[Change]]:
    """One change per stamp, kinds in turn; each thing is touched at most once, so the truth stays easy to score."""
    rng = np.random.default_rng([seed, 31])
    touched: set[int] = set()
    changes: list[Change] = []
    scene = Scene(home)
    for number, stamp in enumerate(stamps):
        grid = NavigationGrid(home, robot=robot, scene=scene)
        change = _draw(grid, kinds[number % len(kinds)], float(stamp), touched, rng)
        home = change.apply(home)
        scene = Scene(home, previous=scene)
        touched.update(edit.thing_id for edit in change.edits)
        changes.append(change)
    return home, changes


def _draw(
    grid: NavigationGrid, kind: ChangeKind, stamp: float, touched: set[int], rng: np.random.Generator
) -> Change:
    home = grid.scene.home
    loose = [
        thing
        for thing in home.things.values()
        if thing.movable and thing.id not in touched and not carried_by(home, thing)
    ]
    for _ in range(_TRIES if loose else 0):
        thing = loose[int(rng.integers(len(loose)))]
        if kind is ChangeKind.REMOVE:
            return remove(home, thing.id, stamp=stamp)
        if kind is ChangeKind.SWAP:
            other = _partner(grid, thing, loose, rng)
            if other is not None:
                return swap(home, thing.id, other.id, stamp=stamp)
            continue
        spot = free_spot(grid, thing, rng)
        if spot is None:
            continue
        if kind is ChangeKind.MOVE:
            return move(home, thing.id, spot.pose, stamp=stamp, support_id=spot.support_id)
        twin = replace(thing, id=new_id(home), pose=spot.pose, support_id=spot.support_id)
        return add(home, twin, stamp=stamp)
    raise InvalidValue(
        "change", str(kind), f"found no place in {home.name} after {_TRIES} tries", remedy="ask for fewer changes"
    )


def _partner(grid: NavigationGrid, thing: Thing, loose: Sequence[Thing], rng: np.random.Generator) -> Thing | None:
    """Another thing, not its twin, that fits where this one stands, while this one fits there."""
    home = grid.scene.home
    others = [
        other for other in loose if other.id != thing.id and (other.label, other.color) != (thing.label, thing.color)
    ]
    for number in rng.permutation(len(others)):
        other = others[int(number)]
        emptied = home.without_thing(thing.id).without_thing(other.id)
        bare = NavigationGrid(emptied, robot=grid.robot, scene=Scene(emptied, previous=grid.scene))
        if _fits(bare, thing, other.pose) and _fits(bare, other, thing.pose):
            return other
    return None


def free_spot(grid: NavigationGrid, thing: Thing, rng: np.random.Generator) -> _Spot | None:
    """A random place for a thing elsewhere in its home: on a support, or on the floor if it stands on it now."""
    home = grid.scene.home
    size = _longest_side(thing.mesh.bounds)
    if thing.support_id is None and float(thing.box[0, 2]) < 0.05:
        return _floor_spot(grid, thing, size, rng)
    supports = [other for other in home.things.values() if _can_carry(other, thing, size)]
    for number in rng.permutation(len(supports)):
        spot = _top_spot(grid, thing, supports[int(number)], rng)
        if spot is not None:
            return spot
    return None


def _longest_side(bounds: NDArray[np.float64]) -> float:
    """The longest side of a footprint."""
    return float((bounds[1] - bounds[0])[:2].max())


def _can_carry(support: Thing, thing: Thing, size: float) -> bool:
    """Furniture with a top of the right height and size; things that are carried about carry nothing."""
    if support.id == thing.id or support.movable:
        return False
    top = float(support.box[1, 2])
    return top >= _LOWEST and float(support.box[0, 2]) < _HIGHEST and float(support.extent[:2].min()) >= size


def _top_spot(grid: NavigationGrid, thing: Thing, support: Thing, rng: np.random.Generator) -> _Spot | None:
    low, high = support.box
    for _ in range(_SPOT_TRIES):
        x, y = rng.uniform(low[:2], high[:2])
        yaw = float(rng.uniform(-math.pi, math.pi))
        ground = _ground(grid, thing, Pose2D(float(x), float(y), yaw), from_height=float(high[2]) + 0.3)
        if ground is None or ground[1] != support.id or not _LOWEST <= ground[0] <= _HIGHEST:
            continue
        pose = Pose3D.from_pose2d(Pose2D(float(x), float(y), yaw), height=ground[0])
        if _fits(grid, thing, pose) and _in_sight(grid, thing, pose):
            return _Spot(pose, support.id)
    return None


def _floor_spot(grid: NavigationGrid, thing: Thing, size: float, rng: np.random.Generator) -> _Spot | None:
    """Free floor beside something, so that the path through a room stays open."""
    cells = grid.reachable()
    clearance = grid.clearance[cells[:, 0], cells[:, 1]]
    beside = cells[(clearance > size / 2.0 + _MARGIN) & (clearance < size / 2.0 + 2.0 * grid.robot.radius)]
    for number in rng.permutation(len(beside))[:_SPOT_TRIES]:
        x, y = grid.centers(beside[[int(number)]])[0]
        yaw = float(rng.uniform(-math.pi, math.pi))
        pose = Pose3D.from_pose2d(Pose2D(float(x), float(y), yaw), height=0.0)
        if _fits(grid, thing, pose) and _in_sight(grid, thing, pose) and _keeps_open(grid, thing, pose):
            return _Spot(pose, None)
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


def _fits(grid: NavigationGrid, thing: Thing, pose: Pose3D) -> bool:
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
    rays = np.tile(points, (len(near), 1)) - origins
    hits = grid.scene.cast(origins.astype(np.float32), rays.astype(np.float32))
    # a ray that gets to the point, less a hair for the surface it may lie on
    shares = (hits["tfar"] > 1.0 - _LIFT).reshape(len(near), len(points)).mean(axis=1)
    return bool((shares >= _MIN_SHARE).any())


def _keeps_open(grid: NavigationGrid, thing: Thing, pose: Pose3D) -> bool:
    """Whether the reachable floor loses no more than the thing itself covers: no room is closed off."""
    home = grid.scene.home
    edited = NavigationGrid(home.with_thing(replace(thing, pose=pose)), robot=grid.robot)
    side = _longest_side(thing.mesh.bounds) * math.sqrt(2.0) + 2.0 * grid.robot.radius + 4.0 * CELL
    return edited.area() >= grid.area() - side**2
