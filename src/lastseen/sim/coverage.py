"""A tour of a home that sees everything there is to see: for recordings and for a first look around.

Stops are chosen greedily so that together they see all reachable floor and all things, then put into a short order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.sim.agent import Agent, next_action
from lastseen.sim.environment import random_start
from lastseen.sim.home import Home
from lastseen.sim.navigation import CELL, NavigationGrid, Point
from lastseen.sim.viewpoint import surface_points

_LATTICE = 0.6
"""Metres between candidate stops and between floor points to be seen."""
_RANGE = 3.5
"""Metres within which a stop counts as having seen: depth and detectors are good there."""
_THING_POINTS = 12
_UNSEEN = 0.04
"""Share of all that could be seen that a tour may leave out: undersides and gaps."""
_ARRIVED = 0.3
"""Metres from a stop that count as there: one step of 0.25 m cannot always do better."""


def coverage_stops(grid: NavigationGrid, start: Point) -> list[Point]:
    """Stops that see all floor and things which can be seen from the start's area, in a short order from it."""
    candidates = _lattice(grid, start)
    targets, owners = _targets(grid, start)
    seen = _seen(grid, candidates, targets)
    chosen: list[int] = []
    left = seen.any(axis=0)
    enough = _UNSEEN * left.sum()
    # the last hidden corners would double the tour: they are left once every thing was seen from somewhere
    while left.sum() > enough or not set(owners[left]) <= set(owners[~left & seen.any(axis=0)]):
        gain = (seen & left).sum(axis=1)
        best = int(gain.argmax())
        chosen.append(best)
        left &= ~seen[best]
    return _ordered(grid, start, [(float(x), float(y)) for x, y in candidates[chosen]])


def tour_path(home: Home, settings: Settings, *, seed: int) -> list[Point]:
    """The path of a tour from a drawn start, as points on the floor: what a recording of this home walks."""
    grid = NavigationGrid(home, robot=settings.robot)
    start = random_start(grid, seed=seed)
    here = (start.x, start.y)
    points = [here]
    for stop in coverage_stops(grid, here):
        path = grid.path(points[-1], [stop])
        if path is not None:
            points += [(float(x), float(y)) for x, y in path.points[1:]]
    return points


def tour(agent: Agent, stops: list[Point]) -> Iterator[Action]:
    """Actions that take the agent to each stop and all around there; act on each before asking for the next."""
    turns = round(360.0 / agent.motion.turn_angle)
    yield from [Action.TURN_LEFT] * turns
    for stop in stops:
        grid, field = agent.grid, agent.grid.distances([stop])
        while (action := next_action(agent, field, within=_ARRIVED)) is not Action.STOP:
            yield action
            if agent.grid is not grid:
                # the home changed meanwhile: the path may be blocked now
                grid, field = agent.grid, agent.grid.distances([stop])
        yield from [Action.TURN_LEFT] * turns


def _lattice(grid: NavigationGrid, start: Point) -> NDArray[np.float64]:
    """One cell per lattice square of the reachable floor, the one with the most room around it."""
    cells = grid.reachable(start)
    step = max(1, round(_LATTICE / CELL))
    clearance = grid.clearance[cells[:, 0], cells[:, 1]]
    order = np.lexsort((cells[:, 1], cells[:, 0], -clearance))
    _, first = np.unique(cells[order] // step, axis=0, return_index=True)
    return grid.centers(cells[order][first])


def _targets(grid: NavigationGrid, start: Point) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """Points to be seen and the thing that each lies on: the reachable floor (0) and every thing's surface."""
    floor = _lattice(grid, start)
    points, owners = [np.column_stack([floor, np.full(len(floor), 0.02)])], [np.zeros(len(floor), dtype=int)]
    for thing in grid.scene.home.things.values():
        points.append(surface_points(thing, _THING_POINTS))
        owners.append(np.full(_THING_POINTS, thing.id))
    return np.concatenate(points), np.concatenate(owners)


def _seen(grid: NavigationGrid, stops: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which target (column) each stop (row) has in plain sight and in range."""
    cameras = np.column_stack([stops, np.full(len(stops), grid.robot.camera_height)])
    rays = targets[np.newaxis] - cameras[:, np.newaxis]
    seen = np.linalg.norm(rays, axis=2) <= _RANGE
    row, column = np.nonzero(seen)
    hits = grid.scene.cast(cameras[row].astype(np.float32), rays[row, column].astype(np.float32))
    # the ray ends at the target: what it hits first must not be nearer than that, less a hand's breadth of rounding
    seen[row, column] = hits["tfar"] > 0.99
    return np.asarray(seen, dtype=np.bool_)


def _ordered(grid: NavigationGrid, start: Point, stops: list[Point]) -> list[Point]:
    """Nearest next, then segments of the order reversed as long as that shortens the path (2-opt)."""
    if not stops:
        return []
    points = [start, *stops]
    cells = tuple(np.array([grid.cell_of(*point) for point in points]).T)
    between = np.stack([grid.distances([point])[cells] for point in points])
    order, rest = [0], set(range(1, len(points)))
    while rest:
        nearest = min(rest, key=lambda k: (between[order[-1], k], k))
        order.append(nearest)
        rest.remove(nearest)
    improved = True
    while improved:
        improved = False
        for i in range(1, len(order) - 1):
            for j in range(i + 1, len(order)):
                after = order[j + 1] if j + 1 < len(order) else None
                now = between[order[i - 1], order[i]] + (0.0 if after is None else between[order[j], after])
                new = between[order[i - 1], order[j]] + (0.0 if after is None else between[order[i], after])
                if new < now - 1e-9 and math.isfinite(new):
                    order[i : j + 1] = reversed(order[i : j + 1])
                    improved = True
    return [points[k] for k in order[1:]]


def endless_tour(agent: Agent, start: Point) -> Iterator[Action]:
    """Tours of the whole home, one after the other, every second one the other way round."""
    stops = coverage_stops(agent.grid, start)
    while True:
        yield from tour(agent, stops)
        stops = stops[::-1]
