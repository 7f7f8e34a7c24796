"""Where the robot has not looked yet, and where it saw what it looks for: a coarse map of the whole walk.

It belongs to one search: what was looked at before the search began is memory's, and may have changed since. Only
where memory knows nothing like the goal does it begin with the floor that was seen before, and goes where nobody has
looked; when nothing of that is left, the goal was overlooked or has come since, and all is unexplored but this walk.
What it holds reaches a planner only as lines of the navigation context.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.search import Explored, Policy
from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.paths import FloorPaths, Segment

_WINDOW = 18.0
"""Metres, half the width of the map: the far end of a home from any start in it."""
_MIN_WIDTH = 0.4
"""Metres: what a door leaves once the robot's width is taken off; narrower ones are shadows."""
_MIN_UNKNOWN = 0.2
"""Of the square of 2 m around: less unknown floor is a corner, no room."""
_LOOKED_RADIUS = 1.0
"""Metres: what a full turn left unknown so close by is behind furniture."""
_SAME_FRONTIER = 1.2
"""Metres: edges move as they are seen better, and drift adds."""
_PROGRESS = 0.5
"""Metres: two forward steps nearer, or the try counts against it."""
_MAX_STRIKES = 2
"""Tries: one try may fail by chance; then it is out of reach."""
_LABEL_RADIUS = 2.0
"""Metres: things this near tell the room the edge leads into."""
_MOST = 8
"""Edges: the nearest ones; a home has about as many rooms."""
_SIGHTING_SCORE = 0.3
"""The planner's own threshold: weaker ones are as often wrong as right."""
_SIGHTING_VIEWS = 2
"""Views: one detection may be false; two at one spot seldom are."""
_MOST_SIGHTINGS = 3
"""Sightings: the surest ones; more would be false ones."""
_MOST_LABELS = 6
"""Labels: a room is told by a few things."""

_SAME_WAY = 0.3
"""Radians between a chosen direction and the beginning of the way that it takes: little over half a turn."""
_EIGHT = np.ones((3, 3), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Spot:
    """Somewhere to go: where it is, how far by the path there, and where that way begins.

    ``segments`` are the straight parts of the way, the first from where the robot stands. For an edge of the known
    floor ``size`` is its width in metres and ``labels`` are things seen near it; for a sighting it is the number of
    views.
    """

    x: float
    y: float
    metres: float
    segments: tuple[Segment, ...]
    size: float
    labels: tuple[tuple[str, float], ...] = ()

    @property
    def heading(self) -> float:
        """Where the path begins, radians from where the robot faces."""
        return self.segments[0][1]

    @property
    def angle(self) -> float:
        """The same in degrees, as planners speak of it."""
        return math.degrees(self.heading)


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
    metres: float
    strikes: int = 0


def coarse_map(settings: Explored, policy: Policy, origin: Pose2D = ORIGIN) -> FloorGrid:
    """A map of a whole home, around where the walk begins."""
    return FloorGrid(replace(policy, cell=settings.cell), origin=origin, window=_WINDOW)


class ExploredMap:
    """Tell it every pose with ``moved_to``, every view with ``see`` and ``saw``, and ask when planning."""

    def __init__(
        self,
        settings: Explored | None = None,
        *,
        policy: Policy | None = None,
        start: Pose2D = ORIGIN,
        seen_before: FloorGrid | None = None,
    ) -> None:
        self.settings = settings or Explored()
        self.policy = policy or Policy()
        self.pose = start
        self._map = self._walk = coarse_map(self.settings, self.policy, start)
        """What counts as explored, and what was seen on this walk alone."""
        if seen_before is not None and seen_before.evidence.any():
            self._map = coarse_map(self.settings, self.policy, start)
            self._map.begin_with(seen_before)
        self._things: list[_Thing] = []
        self._looked: list[Pose2D] = []
        self._offered: list[Spot] = []
        self._chosen: list[_Chosen] = []

    def moved_to(self, pose: Pose2D, *, collided: bool) -> None:
        """The robot stands here now; a forward that was blocked marks what it bumped into."""
        self.pose = pose
        if collided:
            for each in self._maps():
                each.mark_blocked(pose)

    def see(self, points: NDArray[np.float32]) -> None:
        """Take in one depth image as body points (height, width, 3)."""
        for each in self._maps():
            each.add(points, self.pose)

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
        goal = min(aimed, key=lambda each: (each.metres, each.x, each.y))
        for old in self._chosen:
            if math.hypot(old.x - goal.x, old.y - goal.y) < _SAME_FRONTIER:
                # no nearer than last time: it may be out of reach
                old.strikes = old.strikes + 1 if goal.metres > old.metres - _PROGRESS else 0
                old.x, old.y, old.metres = goal.x, goal.y, min(old.metres, goal.metres)
                return
        self._chosen.append(_Chosen(goal.x, goal.y, goal.metres))

    def survey(self, target: str) -> tuple[list[Spot], list[Spot]]:
        """The edges worth going to and the places where the target was seen, the shortest path first."""
        here = self._map.cell_of(self.pose.x, self.pose.y)
        if here is None:
            return [], []
        paths = FloorPaths(self._map, self.pose, here)
        self._offered = self._edges(paths, strict=True)
        if not self._offered and self._map is not self._walk:
            self._map = self._walk
            return self.survey(target)
        # with nothing else left, even a narrow gap and one looked at before are better than wandering
        self._offered = self._offered or self._edges(paths, strict=False)
        return list(self._offered), self._sightings(paths, target)

    def _maps(self) -> list[FloorGrid]:
        return [self._map] if self._map is self._walk else [self._map, self._walk]

    def _edges(self, paths: FloorPaths, *, strict: bool) -> list[Spot]:
        unknown, cell = paths.unknown, self.settings.cell
        gain = ndimage.uniform_filter(unknown.astype(np.float32), size=2 * round(1.0 / cell) + 1)
        around = ndimage.convolve(unknown.astype(np.int8), _EIGHT.astype(np.int8), mode="constant")
        edge = paths.passable & np.isfinite(paths.lengths) & (around >= 2) & (gain >= _MIN_UNKNOWN)
        self._leave_out(edge, looked_radius=_LOOKED_RADIUS if strict else 0.0)
        groups, count = ndimage.label(edge, structure=_EIGHT)
        found: list[Spot] = []
        for group in range(1, count + 1):
            cells = np.argwhere(groups == group)
            if strict and len(cells) * cell < _MIN_WIDTH - 1e-9:
                continue
            lengths = paths.lengths[cells[:, 0], cells[:, 1]]
            i, j = cells[int(np.argmin(lengths))]
            middle = cells[int(np.argmin(((cells - cells.mean(axis=0)) ** 2).sum(axis=1)))]
            x, y = self._map.point_of((int(middle[0]), int(middle[1])))
            path = paths.segments((int(i), int(j)))
            found.append(Spot(x, y, float(lengths.min()), tuple(path), len(cells) * cell, self._near(x, y)))
        found.sort(key=lambda each: (each.metres, each.x, each.y))
        return found[:_MOST]

    def _sightings(self, paths: FloorPaths, target: str) -> list[Spot]:
        """Where the target was seen in several views; a look around from close by that saw nothing ends it."""
        left = [each for each in self._things if each.label == target and each.score >= _SIGHTING_SCORE]
        found: list[Spot] = []
        while left:
            best = max(left, key=lambda each: (each.score, -each.x, -each.y))
            near = [e for e in left if math.hypot(e.x - best.x, e.y - best.y) <= _SAME_FRONTIER]
            left = [each for each in left if each not in near]
            since = self._looked[max(each.looks for each in near) + 1 :]
            there = Pose2D(best.x, best.y, 0.0)
            gone = any(pose.distance_to(there) <= _LABEL_RADIUS for pose in since)
            cell = paths.nearest_cell(best.x, best.y)
            if len(near) < _SIGHTING_VIEWS or gone or cell is None:
                continue
            path = paths.segments(cell)
            if sum(metres for metres, _ in path) < self.settings.cell:
                path = [(self.pose.distance_to(there), self.pose.bearing_to(there))]
            found.append(Spot(best.x, best.y, float(paths.lengths[cell]), tuple(path), float(len(near))))
        return sorted(found, key=lambda each: (-each.size, each.metres, each.x, each.y))[:_MOST_SIGHTINGS]

    def _leave_out(self, edge: NDArray[np.bool_], *, looked_radius: float) -> None:
        spots = [(pose.x, pose.y, looked_radius) for pose in self._looked]
        spots += [(old.x, old.y, _SAME_FRONTIER) for old in self._chosen if old.strikes >= _MAX_STRIKES]
        rows, columns = np.nonzero(edge)
        x0, y0 = self._map.point_of((0, 0))
        for x, y, radius in spots:
            near = np.hypot(x0 + rows * self.settings.cell - x, y0 + columns * self.settings.cell - y) < radius
            edge[rows[near], columns[near]] = False

    def _near(self, x: float, y: float) -> tuple[tuple[str, float], ...]:
        best: dict[str, float] = {}
        for each in self._things:
            if math.hypot(each.x - x, each.y - y) <= _LABEL_RADIUS:
                best[each.label] = max(best.get(each.label, 0.0), each.score)
        return tuple(sorted(best.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LABELS])
