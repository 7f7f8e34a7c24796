"""Changes drawn from a seed: what a household does to its things while the robot looks elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lastseen.config.sim import Navigation, Robot
from lastseen.errors import InvalidValue
from lastseen.sim.change import Change, ChangeKind, add, carried_by, move, new_id, remove, swap
from lastseen.sim.home import Home, Thing
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.scene import Scene
from lastseen.sim.spot import fits, free_spot

_TRIES = 40
"""Draws per change before the home counts as too full for it."""


def random_changes(
    home: Home,
    stamps: Sequence[float],
    *,
    seed: int,
    kinds: Sequence[ChangeKind] = tuple(ChangeKind),
    robot: Robot | None = None,
    navigation: Navigation | None = None,
) -> tuple[Home, list[Change]]:
    """One change per stamp, kinds in turn; each thing is touched at most once, so the truth stays easy to score."""
    rng = np.random.default_rng([seed, 31])
    touched: set[int] = set()
    changes: list[Change] = []
    scene = Scene(home)
    for number, stamp in enumerate(stamps):
        grid = NavigationGrid(home, robot=robot, navigation=navigation, scene=scene)
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
        bare = NavigationGrid(
            emptied, robot=grid.robot, navigation=grid.navigation, scene=Scene(emptied, previous=grid.scene)
        )
        if fits(bare, thing, other.pose) and fits(bare, other, thing.pose):
            return other
    return None
