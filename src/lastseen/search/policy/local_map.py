"""What is free and what is in the way around the robot, from depth alone, and the shortest way through it."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from lastseen.config.policy import Policy
from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import Pose2D

_MOST_EXPANDED = 6000
"""Cells a search may look at: a quarter of the map, some 30 ms; what is farther round is not a local detour."""
_DIAGONAL = math.sqrt(2.0)
_NEIGHBOURS = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


class LocalMap(FloorGrid):
    """The window of floor around where it was started.

    Unknown cells are passable: a policy that only walks where it has looked never leaves a room.
    """

    def __init__(self, origin: Pose2D, settings: Policy) -> None:
        super().__init__(settings, origin=origin, window=settings.window)

    def path(self, start: Pose2D, goal: tuple[float, float]) -> list[tuple[float, float]] | None:
        """The shortest way as points, start and goal included; None when there is none.

        A goal inside an obstacle (a target thing, a wall) is replaced by the reachable cell nearest to it.
        """
        begin, end = self.cell_of(start.x, start.y), self.nearest_inside(goal)
        if begin is None:
            return None
        blocked = self.blocked.copy()
        # the robot stands where it stands, whatever the map says
        i, j = begin
        blocked[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = False
        cells = _shortest(blocked, begin, _nearest_open(blocked, end))
        return None if cells is None else [self.point_of(cell) for cell in cells]


def _nearest_open(blocked: NDArray[np.bool_], cell: tuple[int, int]) -> tuple[int, int]:
    """The cell itself or, where something is in it, the open cell nearest to it (ties by index)."""
    if not blocked[cell]:
        return cell
    open_cells = np.argwhere(~blocked)
    if not len(open_cells):
        return cell
    i, j = open_cells[int(np.argmin(((open_cells - np.array(cell)) ** 2).sum(axis=1)))]
    return int(i), int(j)


def _shortest(
    blocked: NDArray[np.bool_], begin: tuple[int, int], end: tuple[int, int]
) -> list[tuple[int, int]] | None:
    """A* over eight neighbours; ends at the reached cell nearest to the end, None when no step leads nearer."""
    size = blocked.shape[0]
    wall: list[bool] = blocked.reshape(-1).tolist()
    start, goal = begin[0] * size + begin[1], end[0] * size + end[1]

    def estimate(cell: int) -> float:
        di, dj = abs(cell // size - end[0]), abs(cell % size - end[1])
        return float(max(di, dj) + (_DIAGONAL - 1.0) * min(di, dj))

    cost = {start: 0.0}
    came: dict[int, int] = {}
    queue = [(estimate(start), start)]
    done: set[int] = set()
    nearest, nearest_left = start, estimate(start)
    while queue and len(done) < _MOST_EXPANDED:
        _, cell = heapq.heappop(queue)
        if cell in done:
            continue
        done.add(cell)
        left = estimate(cell)
        if left < nearest_left:
            nearest, nearest_left = cell, left
        if cell == goal:
            break
        i, j = divmod(cell, size)
        for di, dj, length in _NEIGHBOURS:
            ni, nj = i + di, j + dj
            if not (0 <= ni < size and 0 <= nj < size):
                continue
            other = ni * size + nj
            if wall[other] or other in done:
                continue
            total = cost[cell] + length
            if total < cost.get(other, math.inf):
                cost[other], came[other] = total, cell
                heapq.heappush(queue, (total + estimate(other), other))
    if nearest == start and start != goal:
        return None
    cells = [nearest]
    while cells[-1] != start:
        cells.append(came[cells[-1]])
    return [divmod(cell, size) for cell in reversed(cells)]
