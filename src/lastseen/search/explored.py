"""Where the robot has not looked yet, and where it saw what it looks for: a coarse map of the whole walk.

It belongs to one search: what was looked at before the search began is memory's, and may have changed since. What it
holds reaches a planner only as lines of the navigation context.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.policy import Explored, Policy
from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.floor_paths import FloorPaths, Segment

_SAME_WAY = 0.3
"""Radians between a chosen direction and the beginning of the way that it takes: little over half a turn."""
_EIGHT = np.ones((3, 3), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Spot:
    """Somewhere to go: where it is, how far by the way there, and where that way begins.

    ``segments`` are the straight parts of the way, the first from where the robot stands. For an edge of the known
    floor ``size`` is its width in metres and ``labels`` are things seen near it; for a sighting it is the number of
    views.
    """

    x: float
    y: float
    way: float
    segments: tuple[Segment, ...]
    size: float
    labels: tuple[tuple[str, float], ...] = ()

    @property
    def heading(self) -> float:
        """Where the way begins, radians from where the robot faces."""
        return self.segments[0][1]


@dataclass(frozen=True, slots=True)
class _Thing:
    x: float
    y: float
    label: str
    score: float
    looks: int


@dataclass(slots=True)
class _Chosen:
    x: float
    y: float
    way: float
    strikes: int = 0


def coarse_map(settings: Explored, policy: Policy, origin: Pose2D = ORIGIN) -> FloorGrid:
    """A map of a whole home, around where the walk begins."""
    return FloorGrid(replace(policy, cell=settings.cell), origin=origin, window=settings.window)


class ExploredMap:
    """Tell it every pose with ``moved_to``, every view with ``see`` and ``saw``, and ask when planning."""

    def __init__(
        self,
        settings: Explored | None = None,
        *,
        policy: Policy | None = None,
        start: Pose2D = ORIGIN,
    ) -> None:
        self.settings = settings or Explored()
        self.policy = policy or Policy()
        self.pose = start
        self._map = coarse_map(self.settings, self.policy, start)
        self._things: list[_Thing] = []
        self._looked: list[Pose2D] = []
        self._offered: list[Spot] = []
        self._chosen: list[_Chosen] = []

    def moved_to(self, pose: Pose2D, *, collided: bool) -> None:
        """The robot stands here now; a forward that was blocked marks what it bumped into."""
        self.pose = pose
        if collided:
            self._map.mark_blocked(pose)

    def see(self, points: NDArray[np.float32]) -> None:
        """Take in one depth image as body points (height, width, 3)."""
        self._map.add(points, self.pose)

    def saw(self, label: str, score: float, *, x: float, y: float) -> None:
        """Remember about where a thing stands; ``x`` and ``y`` are body metres."""
        there = self.pose.compose(Pose2D(x, y, 0.0))
        self._things.append(_Thing(there.x, there.y, label, score, len(self._looked)))

    def looked_around(self) -> None:
        """A full turn was made here: what is still unknown close by cannot be seen from the floor."""
        self._looked.append(self.pose)

    def chose(self, heading: float) -> None:
        """A direction was taken, radians from where the robot faces; counts against the edge it leads to."""
        aimed = [each for each in self._offered if abs(math.remainder(each.heading - heading, math.tau)) < _SAME_WAY]
        if not aimed:
            return
        goal = min(aimed, key=lambda each: (each.way, each.x, each.y))
        for old in self._chosen:
            if math.hypot(old.x - goal.x, old.y - goal.y) < self.settings.same_frontier:
                # no nearer than last time: it may be out of reach
                old.strikes = old.strikes + 1 if goal.way > old.way - self.settings.progress else 0
                old.x, old.y, old.way = goal.x, goal.y, min(old.way, goal.way)
                return
        self._chosen.append(_Chosen(goal.x, goal.y, goal.way))

    def survey(self, target: str) -> tuple[list[Spot], list[Spot]]:
        """The edges worth going to and the places where the target was seen, the shortest way first."""
        here = self._map.cell_of(self.pose.x, self.pose.y)
        if here is None:
            return [], []
        ways = FloorPaths(self._map, self.pose, here)
        # with nothing else left, even a narrow gap and one looked at before are better than wandering
        self._offered = self._edges(ways, strict=True) or self._edges(ways, strict=False)
        return list(self._offered), self._sightings(ways, target)

    def _edges(self, ways: FloorPaths, *, strict: bool) -> list[Spot]:
        unknown, cell = ways.unknown, self.settings.cell
        gain = ndimage.uniform_filter(unknown.astype(np.float32), size=2 * round(1.0 / cell) + 1)
        around = ndimage.convolve(unknown.astype(np.int8), _EIGHT.astype(np.int8), mode="constant")
        edge = ways.passable & np.isfinite(ways.lengths) & (around >= 2) & (gain >= self.settings.min_unknown)
        self._leave_out(edge, looked_radius=self.settings.looked_radius if strict else 0.0)
        groups, count = ndimage.label(edge, structure=_EIGHT)
        found: list[Spot] = []
        for group in range(1, count + 1):
            cells = np.argwhere(groups == group)
            if strict and len(cells) * cell < self.settings.min_width - 1e-9:
                continue
            lengths = ways.lengths[cells[:, 0], cells[:, 1]]
            i, j = cells[int(np.argmin(lengths))]
            middle = cells[int(np.argmin(((cells - cells.mean(axis=0)) ** 2).sum(axis=1)))]
            x, y = self._map.point_of((int(middle[0]), int(middle[1])))
            way = ways.segments((int(i), int(j)))
            found.append(Spot(x, y, float(lengths.min()), tuple(way), len(cells) * cell, self._near(x, y)))
        found.sort(key=lambda each: (each.way, each.x, each.y))
        return found[: self.settings.most]

    def _sightings(self, ways: FloorPaths, target: str) -> list[Spot]:
        """Where the target was seen in several views; a look around from close by that saw nothing ends it."""
        left = [each for each in self._things if each.label == target and each.score >= self.settings.sighting_score]
        found: list[Spot] = []
        while left:
            best = max(left, key=lambda each: (each.score, -each.x, -each.y))
            near = [e for e in left if math.hypot(e.x - best.x, e.y - best.y) <= self.settings.same_frontier]
            left = [each for each in left if each not in near]
            since = self._looked[max(each.looks for each in near) + 1 :]
            there = Pose2D(best.x, best.y, 0.0)
            gone = any(pose.distance_to(there) <= self.settings.label_radius for pose in since)
            cell = ways.nearest_cell(best.x, best.y)
            if len(near) < self.settings.sighting_views or gone or cell is None:
                continue
            way = ways.segments(cell)
            if sum(metres for metres, _ in way) < self.settings.cell:
                way = [(self.pose.distance_to(there), self.pose.bearing_to(there))]
            found.append(Spot(best.x, best.y, float(ways.lengths[cell]), tuple(way), float(len(near))))
        return sorted(found, key=lambda each: (-each.size, each.way, each.x, each.y))[: self.settings.most_sightings]

    def _leave_out(self, edge: NDArray[np.bool_], *, looked_radius: float) -> None:
        spots = [(pose.x, pose.y, looked_radius) for pose in self._looked]
        spots += [
            (old.x, old.y, self.settings.same_frontier)
            for old in self._chosen
            if old.strikes >= self.settings.max_strikes
        ]
        rows, columns = np.nonzero(edge)
        x0, y0 = self._map.point_of((0, 0))
        for x, y, radius in spots:
            near = np.hypot(x0 + rows * self.settings.cell - x, y0 + columns * self.settings.cell - y) < radius
            edge[rows[near], columns[near]] = False

    def _near(self, x: float, y: float) -> tuple[tuple[str, float], ...]:
        best: dict[str, float] = {}
        for each in self._things:
            if math.hypot(each.x - x, each.y - y) <= self.settings.label_radius:
                best[each.label] = max(best.get(each.label, 0.0), each.score)
        return tuple(sorted(best.items(), key=lambda item: (-item[1], item[0]))[: self.settings.most_labels])
