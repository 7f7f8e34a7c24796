"""ObjectNav episodes: a start, a class to find, and the truth that success and SPL are measured by.

Every episode can be solved: a path from its start to a viewpoint of a goal was found before it was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.pose2d import Pose2D
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.viewpoint import viewpoints

NEAREST_START = 1.0
"""Metres: a start nearer than this to a viewpoint is no search; ObjectNav uses the same."""
_SPACING = 0.25
"""Metres between the viewpoints written down; the geodesic distance is over all of them."""
_TRIES = 200
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Episode:
    """One search; stopping at one of the ``viewpoints`` is success, ``goal_ids`` are the things that count."""

    id: str
    home: str
    start: Pose2D
    goal: str
    goal_ids: tuple[int, ...]
    geodesic_distance: float
    euclidean_distance: float
    viewpoints: tuple[Pose2D, ...]


def make_episodes(
    home: Home,
    count: int,
    *,
    seed: int,
    goals: Sequence[str] = (),
    grid: NavigationGrid | None = None,
    farthest: float = math.inf,
) -> list[Episode]:
    """Draw episodes; classes in turn (all that can be reached, or those named), starts all over the free floor.

    ``farthest`` in metres bounds the geodesic distance, for quick sets.
    """
    if count < 1:
        raise InvalidValue("count", count, "must be at least 1", remedy="ask for one episode or more")
    unknown = sorted(set(goals) - set(home.labels()))
    if unknown:
        raise InvalidValue("goals", unknown[0], f"is not in {home.name}", remedy=f"choose of {home.labels()}")
    grid = grid or NavigationGrid(home)
    rng = np.random.default_rng([seed, 53])
    floor = grid.centers(grid.reachable())
    labels = list(goals or home.labels())
    turns = cycle([labels[int(k)] for k in rng.permutation(len(labels))])
    known: dict[str, _Goal] = {}
    episodes: list[Episode] = []
    while len(episodes) < count:
        number, label = len(episodes), next(turns)
        goal = known[label] = known.get(label) or _Goal(grid, label)
        if not goal.spots:
            if len(known) == len(labels) and not any(one.spots for one in known.values()):
                raise InvalidValue("goals", labels, "cannot be seen from the floor", remedy="choose other classes")
            continue
        name = f"{home.name}-{seed}-{number:04d}"
        episode = _draw(name, home.name, goal, floor, rng=rng, farthest=farthest)
        if episode is None:
            raise InvalidValue(
                "goals", goal, f"leaves no start {NEAREST_START} to {farthest} m away", remedy="choose other classes"
            )
        episodes.append(episode)
    return episodes


def _draw(
    name: str, home: str, goal: _Goal, floor: NDArray[np.float64], *, rng: np.random.Generator, farthest: float
) -> Episode | None:
    grid, spots = goal.grid, goal.spots
    for _ in range(_TRIES):
        x, y = (float(value) for value in floor[int(rng.integers(len(floor)))])
        yaw = math.radians(30.0 * int(rng.integers(12)) - 150.0)
        # the field may be a little too long: the path decides
        if not NEAREST_START <= float(goal.field[grid.cell_of(x, y)]) <= farthest * 1.05:
            continue
        path = grid.path((x, y), spots)
        if path is None or not NEAREST_START <= path.length <= farthest:
            continue
        best = next(pose for poses in goal.poses.values() for pose in poses if (pose.x, pose.y) == path.points[-1])
        kept = sorted({*goal.thinned, _rounded(best)}, key=lambda pose: (pose.x, pose.y, pose.yaw))
        return Episode(
            name,
            home,
            _rounded(Pose2D(x, y, yaw)),
            goal.label,
            tuple(key for key, poses in goal.poses.items() if poses),
            round(path.length, _DECIMALS),
            round(min(math.dist((x, y), spot) for spot in spots), _DECIMALS),
            tuple(kept),
        )
    return None


class _Goal:
    """All viewpoints of one class and the distances to them, worked out once."""

    def __init__(self, grid: NavigationGrid, label: str) -> None:
        self.grid = grid
        self.label = label
        things = grid.scene.home.things_of(label)
        self.poses = {thing.id: viewpoints(grid, thing) for thing in things}
        self.spots = [(pose.x, pose.y) for poses in self.poses.values() for pose in poses]
        self._things = things

    @cached_property
    def field(self) -> NDArray[np.float64]:
        return self.grid.distances(self.spots)

    @cached_property
    def thinned(self) -> list[Pose2D]:
        return [_rounded(one) for thing in self._things for one in viewpoints(self.grid, thing, spacing=_SPACING)]


def _rounded(pose: Pose2D) -> Pose2D:
    return Pose2D(round(pose.x, _DECIMALS), round(pose.y, _DECIMALS), round(pose.yaw, _DECIMALS))
