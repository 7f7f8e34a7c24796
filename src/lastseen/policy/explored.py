"""Where the robot has not looked yet: a coarse map of the whole walk, and the edges of what it knows.

Its poses come from the actions alone, so it is good for "there was an opening back there" and for nothing finer. It
is memory: what it holds reaches a planner only as lines of the navigation context.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.sparse import csgraph

from lastseen.action import Action, apply
from lastseen.config.moving import DeadReckoning
from lastseen.config.policy import Explored, Policy
from lastseen.policy.local_map import LocalMap
from lastseen.pose2d import ORIGIN, Pose2D

_TIGHT, _SMEARED = 3.0, 12.0
"""How many times longer a way counts through cells too close to something, and through something."""
_EIGHT = np.ones((3, 3), dtype=np.bool_)
_MOVES = [(1, 0, 1.0), (0, 1, 1.0), (1, 1, math.sqrt(2.0)), (1, -1, math.sqrt(2.0))]


@dataclass(frozen=True, slots=True)
class Frontier:
    """An edge of the known floor: where it is, how far by the way there, and where that way begins.

    ``hop`` is the first straight stretch of the way, metres and radians from where the robot faces. ``labels`` are
    things seen near it with their scores, best first.
    """

    x: float
    y: float
    way: float
    hop: tuple[float, float]
    width: float
    labels: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True)
class _Chosen:
    x: float
    y: float
    way: float
    strikes: int = 0


class ExploredMap:
    """Tell it every action with ``moved``, every view with ``see``, and ask for ``frontiers`` when planning."""

    def __init__(
        self,
        settings: Explored | None = None,
        *,
        policy: Policy | None = None,
        motion: DeadReckoning | None = None,
    ) -> None:
        self.settings = settings or Explored()
        self.policy = policy or Policy()
        self.motion = motion or DeadReckoning()
        self.pose = ORIGIN
        grid = replace(self.policy, cell=self.settings.cell, window=self.settings.window)
        self._map = LocalMap(ORIGIN, grid)
        self._things: list[tuple[float, float, str, float]] = []
        self._looked: list[Pose2D] = []
        self._offered: list[Frontier] = []
        self._chosen: list[_Chosen] = []

    def moved(self, action: Action, *, collided: bool) -> None:
        """Take note of an action; a forward that ended in a bump does not count as a step."""
        if collided and action is Action.FORWARD:
            self._map.mark_blocked(self.pose)
        else:
            self.pose = apply(self.pose, action, motion=self.motion)

    def see(self, points: NDArray[np.float32]) -> None:
        """Take in one depth image as body points (height, width, 3)."""
        self._map.add(points, self.pose)

    def saw(self, label: str, score: float, *, x: float, y: float) -> None:
        """Remember about where a thing stands; ``x`` and ``y`` are body metres."""
        there = self.pose.compose(Pose2D(x, y, 0.0))
        self._things.append((there.x, there.y, label, score))

    def looked_around(self) -> None:
        """A full turn was made here: what is still unknown close by cannot be seen from the floor."""
        self._looked.append(self.pose)

    def chose(self, heading: float) -> None:
        """A direction was taken, radians from where the robot faces; counts against the frontier it leads to."""
        aimed = [each for each in self._offered if abs(math.remainder(each.hop[1] - heading, math.tau)) < 0.3]
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

    def frontiers(self) -> list[Frontier]:
        """The edges worth going to, the shortest way first."""
        here = self._map.cell_of(self.pose.x, self.pose.y)
        if here is None:
            return []
        occupied = self._map.occupied
        free = self._map.free & ~occupied
        unknown = ~free & ~occupied
        passable = free & ~self._map.blocked
        i, j = here
        passable[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = True
        # drift smears walls over doors that were walked through: the map makes a way longer, it never closes it
        cost = np.where(passable, 1.0, np.where(free, _TIGHT, _SMEARED))
        cost[unknown & ~passable] = np.inf
        lengths, before, numbers = _ways(cost, here, self.settings.cell)
        gain = ndimage.uniform_filter(unknown.astype(np.float32), size=2 * round(1.0 / self.settings.cell) + 1)
        around = ndimage.convolve(unknown.astype(np.int8), _EIGHT.astype(np.int8), mode="constant")
        edge = passable & np.isfinite(lengths) & (around >= 2) & (gain >= self.settings.min_unknown)
        self._leave_out(edge)
        groups, count = ndimage.label(edge, structure=_EIGHT)
        found: list[Frontier] = []
        for group in range(1, count + 1):
            cells = np.argwhere(groups == group)
            if len(cells) * self.settings.cell < self.settings.min_width:
                continue
            way = lengths[cells[:, 0], cells[:, 1]]
            nearest = cells[int(np.argmin(way))]
            middle = cells[int(np.argmin(((cells - cells.mean(axis=0)) ** 2).sum(axis=1)))]
            x, y = self._map.point_of((int(middle[0]), int(middle[1])))
            found.append(
                Frontier(
                    x,
                    y,
                    float(way.min()),
                    self._hop(_back(before, numbers, (int(nearest[0]), int(nearest[1]))), passable, (x, y)),
                    len(cells) * self.settings.cell,
                    self._near(x, y),
                )
            )
        found.sort(key=lambda each: (each.way, each.x, each.y))
        self._offered = found[: self.settings.most]
        return list(self._offered)

    def _leave_out(self, edge: NDArray[np.bool_]) -> None:
        cell = self.settings.cell
        spots = [(pose.x, pose.y, self.settings.looked_radius) for pose in self._looked]
        spots += [
            (old.x, old.y, self.settings.same_frontier)
            for old in self._chosen
            if old.strikes >= self.settings.max_strikes
        ]
        rows, columns = np.nonzero(edge)
        x0, y0 = self._map.point_of((0, 0))
        for x, y, radius in spots:
            near = np.hypot(x0 + rows * cell - x, y0 + columns * cell - y) < radius
            edge[rows[near], columns[near]] = False

    def _hop(
        self, way: Sequence[tuple[int, int]], passable: NDArray[np.bool_], end: tuple[float, float]
    ) -> tuple[float, float]:
        """The farthest point of the way that lies in a straight free line, at most one waypoint off."""
        points = [self._map.point_of(cell) for cell in way] or [end]
        target = points[min(1, len(points) - 1)]
        for point in points[1:]:
            distance = math.dist(point, (self.pose.x, self.pose.y))
            if distance > self.policy.max_waypoint or not self._straight(point, passable):
                break
            target = point
        there = Pose2D(*target, 0.0)
        if self.pose.distance_to(there) < self.settings.cell:
            there = Pose2D(*end, 0.0)
        return self.pose.distance_to(there), self.pose.bearing_to(there)

    def _straight(self, point: tuple[float, float], passable: NDArray[np.bool_]) -> bool:
        steps = max(1, math.ceil(math.dist(point, (self.pose.x, self.pose.y)) / (self.settings.cell / 2.0)))
        for step in range(1, steps + 1):
            share = step / steps
            cell = self._map.cell_of(
                self.pose.x + share * (point[0] - self.pose.x), self.pose.y + share * (point[1] - self.pose.y)
            )
            if cell is None or not passable[cell]:
                return False
        return True

    def _near(self, x: float, y: float) -> tuple[tuple[str, float], ...]:
        best: dict[str, float] = {}
        for tx, ty, label, score in self._things:
            if math.hypot(tx - x, ty - y) <= self.settings.label_radius:
                best[label] = max(best.get(label, 0.0), score)
        return tuple(sorted(best.items(), key=lambda item: (-item[1], item[0]))[: self.settings.most_labels])


def _ways(
    cost: NDArray[np.float64], here: tuple[int, int], cell: float
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Length of the way from a cell to every one of finite cost, and each one's predecessor by number."""
    open_cells = np.isfinite(cost)
    numbers = np.full(cost.shape, -1, dtype=np.int32)
    numbers[open_cells] = np.arange(int(open_cells.sum()), dtype=np.int32)
    rows, columns, lengths = [], [], []
    height, width = cost.shape
    for down, right, length in _MOVES:
        start = (slice(0, height - down), slice(max(0, -right), width - max(0, right)))
        end = (slice(down, height), slice(max(0, right), width - max(0, -right)))
        both = open_cells[start] & open_cells[end]
        rows.append(numbers[start][both])
        columns.append(numbers[end][both])
        lengths.append(0.5 * length * cell * (cost[start][both] + cost[end][both]))
    count = int(open_cells.sum())
    graph = sparse.csr_matrix(
        (np.concatenate(lengths), (np.concatenate(rows), np.concatenate(columns))), shape=(count, count)
    )
    found, before = csgraph.dijkstra(graph, directed=False, indices=int(numbers[here]), return_predecessors=True)
    field = np.full(cost.shape, np.inf)
    field[open_cells] = found
    return field, before, numbers


def _back(before: NDArray[np.int32], numbers: NDArray[np.int32], end: tuple[int, int]) -> list[tuple[int, int]]:
    """The cells of the way to an end, from the start on."""
    cells = np.argwhere(numbers >= 0)
    node = int(numbers[end])
    way = []
    while node >= 0:
        way.append((int(cells[node, 0]), int(cells[node, 1])))
        node = int(before[node])
    return way[::-1]
