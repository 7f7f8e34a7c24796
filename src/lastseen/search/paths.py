"""Paths over a floor map to any known cell, as few straight segments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.sparse import csgraph

from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import Pose2D, wrap_angle

_TIGHT, _SMEARED = 3.0, 12.0
"""How many times longer a path counts through cells too close to something, and through something."""
_UNKNOWN, _STANDS = 2.0, 0.3
"""The same through unknown cells where they are hoped to be floor, and metres around what was run into."""
_OFF = 1.5
"""Cells that a segment may lie off the path it stands for: in tight places a path winds from cell to cell."""
_MOVES = [(1, 0, 1.0), (0, 1, 1.0), (1, 1, math.sqrt(2.0)), (1, -1, math.sqrt(2.0))]
Cell = tuple[int, int]
Segment = tuple[float, float]
"""A straight part of a path: metres, and radians from where the robot faces now, positive left."""


class FloorPaths:
    """The paths from one pose.

    On a map made while dead reckoning, drift smears walls over doors: with ``smeared`` an obstacle makes a path
    longer and never closes it. Otherwise no path leads through an obstacle. With ``hopeful`` unknown cells count as
    floor, a little longer; ``closed`` are points where something stands that depth does not show.
    """

    def __init__(
        self,
        ground: FloorGrid,
        pose: Pose2D,
        here: Cell,
        *,
        smeared: bool = True,
        hopeful: bool = False,
        closed: Sequence[Pose2D] = (),
    ) -> None:
        self._ground, self._pose, self._smeared = ground, pose, smeared
        self.here = here
        self.cell = ground.settings.cell
        occupied = ground.occupied
        free = ground.free & ~occupied
        self.unknown: NDArray[np.bool_] = ~free & ~occupied
        shut = _near(ground, closed)
        self.passable: NDArray[np.bool_] = free & ~ground.blocked & ~shut
        i, j = here
        self.passable[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = True
        cost = np.where(self.passable, 1.0, np.where(free, _TIGHT, _SMEARED if smeared else np.inf))
        cost[self.unknown & ~self.passable] = _UNKNOWN if hopeful else np.inf
        cost[shut & ~self.passable] = np.inf
        self._open = np.isfinite(cost)
        self._numbers = np.full(cost.shape, -1, dtype=np.int32)
        self._numbers[self._open] = np.arange(int(self._open.sum()), dtype=np.int32)
        self._cells = np.argwhere(self._open)
        found, self._before = csgraph.dijkstra(
            self._graph(cost), directed=False, indices=int(self._numbers[here]), return_predecessors=True
        )
        self.lengths = np.full(cost.shape, np.inf)
        self.lengths[self._open] = found

    def _graph(self, cost: NDArray[np.float64]) -> sparse.csr_matrix:
        rows, columns, lengths = [], [], []
        height, width = cost.shape
        for down, right, length in _MOVES:
            start = (slice(0, height - down), slice(max(0, -right), width - max(0, right)))
            end = (slice(down, height), slice(max(0, right), width - max(0, -right)))
            both = self._open[start] & self._open[end]
            rows.append(self._numbers[start][both])
            columns.append(self._numbers[end][both])
            lengths.append(0.5 * length * self.cell * (cost[start][both] + cost[end][both]))
        count = len(self._cells)
        edges = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_matrix((np.concatenate(lengths), edges), shape=(count, count))

    def nearest_cell(self, x: float, y: float) -> Cell | None:
        """The cell with a path to it that lies nearest to a point; None where nothing is known."""
        reached = np.argwhere(self.passable & np.isfinite(self.lengths))
        if not len(reached):
            return None
        x0, y0 = self._ground.point_of((0, 0))
        away = np.hypot(x0 + reached[:, 0] * self.cell - x, y0 + reached[:, 1] * self.cell - y)
        i, j = reached[int(np.argmin(away))]
        return int(i), int(j)

    def segments(self, end: Cell) -> list[Segment]:
        """The path to a cell as straight segments, up to where it leaves what is known; at least one."""
        points = [(self._pose.x, self._pose.y)]
        hoped = self.unknown & ~self.passable
        known = itertools.takewhile(lambda cell: not hoped[cell], self._path(end)[1:])
        points += [self._ground.point_of(cell) for cell in known]
        corners = self._string_pulled(points)
        found = simplified(corners, yaw=self._pose.yaw, off=_OFF * self.cell)
        if self._smeared or self._is_open(found):
            return found
        # few segments would cut the corner of an obstacle
        return simplified(corners, yaw=self._pose.yaw, off=0.0)

    def _is_open(self, segments: list[Segment]) -> bool:
        """Whether segments from the pose lead over open cells alone."""
        x, y = self._pose.x, self._pose.y
        for metres, bearing in segments:
            start, heading = (x, y), self._pose.yaw + bearing
            x, y = x + metres * math.cos(heading), y + metres * math.sin(heading)
            if not self._ground.straight(start, (x, y), through=self._open):
                return False
        return True

    def _string_pulled(self, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """The path without the corners that the eight directions of the grid put in it."""
        kept = points[:1]
        at = 0
        while at < len(points) - 1:
            turn = at + 1
            while turn + 1 < len(points) and self._ground.straight(
                points[at], points[turn + 1], through=self.passable
            ):
                turn += 1
            kept.append(points[turn])
            at = turn
        return kept

    def _path(self, end: Cell) -> list[Cell]:
        node = int(self._numbers[end])
        path: list[Cell] = []
        while node >= 0:
            path.append((int(self._cells[node, 0]), int(self._cells[node, 1])))
            node = int(self._before[node])
        return path[::-1]


def _near(ground: FloorGrid, points: Sequence[Pose2D]) -> NDArray[np.bool_]:
    """The cells around points where something stands."""
    stands = np.zeros(ground.free.shape, dtype=np.bool_)
    cells = [cell for point in points if (cell := ground.cell_of(point.x, point.y)) is not None]
    if not cells:
        return stands
    stands[tuple(np.array(cells).T)] = True
    near: NDArray[np.bool_] = ndimage.distance_transform_edt(~stands) * ground.settings.cell <= _STANDS
    return near


def rounded_path(segments: Sequence[tuple[float, float]], *, longest: float) -> list[list[float]]:
    """A path as the context holds it, metres and whole degrees; what lies beyond ``longest`` is left for later.

    >>> rounded_path([(2.04, 0.0), (3.0, 1.5708)], longest=4.0)
    [[2.0, 0], [2.0, 90]]
    """
    rounded: list[list[float]] = []
    left = longest
    for metres, bearing in segments:
        if left <= 0.0:
            break
        rounded.append([round(min(metres, left), 1), round(math.degrees(bearing))])
        left -= metres
    return rounded


def simplified(points: Sequence[tuple[float, float]], *, yaw: float, off: float) -> list[tuple[float, float]]:
    """A path of many points as few segments: metres, and radians from a heading.

    A segment may lie this far off the points it stands for. There is at least one, however short.

    >>> simplified([(0, 0), (1, 0.1), (2, 0), (2, 3)], yaw=0.0, off=0.3)
    [(2.0, 0.0), (3.0, 1.5707963267948966)]
    """
    found: list[tuple[float, float]] = []
    at = 0
    while at < len(points) - 1 or not found:
        turn = min(at + 1, len(points) - 1)
        while turn + 1 < len(points) and _near_line(points[at : turn + 2], off):
            turn += 1
        (x, y), (next_x, next_y) = points[at], points[turn]
        metres = math.dist(points[at], points[turn])
        found.append((metres, wrap_angle(math.atan2(next_y - y, next_x - x) - yaw) if metres else 0.0))
        at = turn
    return found


def _near_line(points: Sequence[tuple[float, float]], off: float) -> bool:
    """Whether every point lies near the line from the first to the last, and none behind its ends."""
    (x, y), (end_x, end_y) = points[0], points[-1]
    length = math.dist(points[0], points[-1])
    if length == 0.0:
        return all(math.dist(points[0], point) <= off for point in points)
    ahead_x, ahead_y = (end_x - x) / length, (end_y - y) / length
    for px, py in points:
        along = ahead_x * (px - x) + ahead_y * (py - y)
        aside = abs(ahead_x * (py - y) - ahead_y * (px - x))
        if aside > off or not -off <= along <= length + off:
            return False
    return True
