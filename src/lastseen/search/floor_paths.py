"""Paths over a floor map: how far to any known cell, and in which direction to set out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import Pose2D
from lastseen.search.planning.paths import simplified

_TIGHT, _SMEARED = 3.0, 12.0
"""How many times longer a path counts through cells too close to something, and through something."""
_OFF = 1.5
"""Cells that a segment may lie off the path it stands for: in tight places a path winds from cell to cell."""
_MOVES = [(1, 0, 1.0), (0, 1, 1.0), (1, 1, math.sqrt(2.0)), (1, -1, math.sqrt(2.0))]
Cell = tuple[int, int]
Segment = tuple[float, float]
"""A straight part of a path: metres, and radians from where the robot faces now, positive left."""


class FloorPaths:
    """The paths from one pose.

    On a map made while dead reckoning, drift smears walls over doors: with ``smeared`` an obstacle makes a path
    longer and never closes it. Otherwise no path leads through an obstacle.
    """

    def __init__(self, ground: FloorGrid, pose: Pose2D, here: Cell, *, smeared: bool = True) -> None:
        self._ground, self._pose, self._smeared = ground, pose, smeared
        self.cell = ground.settings.cell
        occupied = ground.occupied
        free = ground.free & ~occupied
        self.unknown: NDArray[np.bool_] = ~free & ~occupied
        self.passable: NDArray[np.bool_] = free & ~ground.blocked
        i, j = here
        self.passable[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = True
        cost = np.where(self.passable, 1.0, np.where(free, _TIGHT, _SMEARED if smeared else np.inf))
        cost[self.unknown & ~self.passable] = np.inf
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
        """The path to a cell as straight segments; at least one."""
        points = [(self._pose.x, self._pose.y)]
        points += [self._ground.point_of(cell) for cell in self._path(end)[1:]]
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
