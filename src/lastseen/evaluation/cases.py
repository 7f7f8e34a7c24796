"""What is searched: one home and one episode per case, the same for every arm.

One episode per home, so that two results never share a floor plan and an interval over them means what it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.geometry import Intrinsics
from lastseen.pose2d import Pose2D
from lastseen.sim.episodes import Episode, make_episodes
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.viewpoint import viewpoints

GENERATED = "generated"


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A home, its navigation grid, and one episode in it; ``seed`` drives everything random in its runs."""

    seed: int
    home: Home
    grid: NavigationGrid
    episode: Episode
    viewpoints: tuple[Pose2D, ...]

    def at_goal(self, pose: Pose2D, *, tolerance: float) -> bool:
        """Whether a stop here is success: at a spot near a goal that sees it, give or take the tolerance."""
        return any(pose.distance_to(spot) <= tolerance for spot in self.viewpoints)

    def distance_left(self, pose: Pose2D) -> float:
        """Metres of path from here to the nearest viewpoint; the straight line where the grid knows no path."""
        spots = [(spot.x, spot.y) for spot in self.viewpoints]
        path = self.grid.path(self.grid.nearest_free(pose.x, pose.y), spots)
        return min(math.dist((pose.x, pose.y), spot) for spot in spots) if path is None else path.length


@lru_cache(maxsize=4)
def case_of(seed: int, settings: Settings, scene: str = GENERATED) -> Case:
    """The case of a seed; ``scene`` is ``generated`` or the address of one home that every seed starts in anew."""
    home = home_of(seed, scene)
    grid = NavigationGrid(home, robot=settings.robot)
    known = [goal for goal in goal_classes(settings) if home.things_of(goal)]
    if not known:
        raise InvalidValue(
            "goals", settings.evaluation.goals, f"are not in {home.name}", remedy=f"choose of {home.labels()}"
        )
    # the classes in turn over the seeds, so that no class is drawn more often for being in more homes
    order = known[seed % len(known) :] + known[: seed % len(known)]
    episode = _episode(home, order, seed, grid)
    spots = [spot for key in episode.goal_ids for spot in viewpoints(grid, home.thing(key))]
    return Case(seed, home, grid, episode, tuple(spots))


def home_of(seed: int, scene: str) -> Home:
    """The home a scene names: generated from the seed, or read from a file."""
    if scene == GENERATED:
        return generate_home(seed)
    return _read(scene)


@lru_cache(maxsize=2)
def _read(scene: str) -> Home:
    kind, _, path = scene.partition(":")
    if kind == "npz" and path:
        return Home.from_npz(path)
    if kind == "graph" and path:
        return Home.from_graph(path)
    raise InvalidValue("scene", scene, "is not a scene", remedy=f"use {GENERATED}, npz:FILE or graph:FILE")


def camera_of(settings: Settings) -> Intrinsics:
    """The camera of the evaluation."""
    chosen = settings.evaluation
    return Intrinsics.from_fov(chosen.image_width, chosen.image_height, horizontal_deg=settings.camera.horizontal_fov)


def goal_classes(settings: Settings) -> list[str]:
    """The classes to look for, in the order of the settings."""
    return [word.strip() for word in settings.evaluation.goals.split(",") if word.strip()]


def _episode(home: Home, goals: Sequence[str], seed: int, grid: NavigationGrid) -> Episode:
    """An episode for the first class that can be reached and is not everywhere."""
    refused: InvalidValue | None = None
    for goal in goals:
        try:
            return make_episodes(home, 1, seed=seed, goals=[goal], grid=grid)[0]
        except InvalidValue as error:
            refused = error
    assert refused is not None
    raise refused
