"""What is free and what is in the way around the robot, from depth alone, and the shortest way through it."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.body import column_bearings, floor_height
from lastseen.config.policy import Policy
from lastseen.pose2d import Pose2D

_OCCUPIED = 2
"""Evidence at which a cell counts as occupied; each sighting adds two, each look through takes one."""
_MOST, _LEAST = 6, -4
_MOST_EXPANDED = 6000
"""Cells a search may look at: a quarter of the map, some 30 ms; what is farther round is not a local detour."""
_DIAGONAL = math.sqrt(2.0)
_NEIGHBOURS = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


class LocalMap:
    """An evidence grid in the dead-reckoned frame, centred where it was started.

    Unknown cells are passable: a policy that only walks where it has looked never leaves a room.
    """

    def __init__(self, origin: Pose2D, settings: Policy) -> None:
        self.settings = settings
        self.size = 2 * round(settings.window / settings.cell) + 1
        self._left = origin.x - (self.size // 2 + 0.5) * settings.cell
        self._bottom = origin.y - (self.size // 2 + 0.5) * settings.cell
        self._evidence = np.zeros((self.size, self.size), dtype=np.int8)
        self._bumps = np.zeros((self.size, self.size), dtype=np.bool_)
        self._blocked: NDArray[np.bool_] | None = None
        reach = settings.robot_radius / settings.cell
        span = np.arange(-math.ceil(reach), math.ceil(reach) + 1)
        self._disk = np.hypot(span[:, None], span[None, :]) <= reach + 0.5

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Cells with something in them."""
        return (self._evidence >= _OCCUPIED) | self._bumps

    @property
    def free(self) -> NDArray[np.bool_]:
        """Cells that were looked through or stood in."""
        return self._evidence < 0

    @property
    def blocked(self) -> NDArray[np.bool_]:
        """Cells where the middle of the robot cannot be; computed once per change of the map."""
        if self._blocked is None:
            self._blocked = ndimage.binary_dilation(self.occupied, structure=self._disk)
        return self._blocked

    def cell_of(self, x: float, y: float) -> tuple[int, int] | None:
        """The cell of a point of the dead-reckoned frame; None outside the map."""
        i = math.floor((x - self._left) / self.settings.cell)
        j = math.floor((y - self._bottom) / self.settings.cell)
        return (i, j) if 0 <= i < self.size and 0 <= j < self.size else None

    def point_of(self, cell: tuple[int, int]) -> tuple[float, float]:
        """The middle of a cell in the dead-reckoned frame."""
        return self._left + (cell[0] + 0.5) * self.settings.cell, self._bottom + (cell[1] + 0.5) * self.settings.cell

    def straight(
        self, start: tuple[float, float], end: tuple[float, float], *, through: NDArray[np.bool_], beyond: int = 0
    ) -> bool:
        """Whether a straight line leads through these cells alone, its first ``beyond`` half cells left out."""
        steps = max(1, math.ceil(math.dist(start, end) / (self.settings.cell / 2.0)))
        for step in range(1 + beyond, steps + 1):
            share = step / steps
            cell = self.cell_of(start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
            if cell is None or not through[cell]:
                return False
        return True

    def add(self, points: NDArray[np.float32], pose: Pose2D) -> None:
        """Take in one depth image as body points (height, width, 3), seen from a dead-reckoned pose."""
        points = points[::2]
        reach = np.hypot(points[..., 0], points[..., 1])
        known = (reach < self.settings.max_range) & (points[..., 2] < self.settings.obstacle_high)
        in_the_way = known & (points[..., 2] > floor_height(reach, self.settings))
        blocked = np.where(in_the_way, reach, np.inf).min(axis=0)
        seen = np.where(known, reach, 0.0).max(axis=0)
        self._mark_free(points, np.minimum(blocked - self.settings.cell, seen), pose)
        self._change(points[in_the_way][:, :2].astype(np.float64), pose, +2, at_least=self.settings.min_points)

    def mark_blocked(self, pose: Pose2D) -> None:
        """Something unseen stopped the robot: remember it just ahead, whatever depth says later."""
        ahead = self.settings.robot_radius + self.settings.cell
        for side in (-0.5, 0.0, 0.5):
            bump = pose.compose(Pose2D(ahead, side * self.settings.robot_radius, 0.0))
            cell = self.cell_of(bump.x, bump.y)
            if cell is not None:
                self._bumps[cell] = True
        self._blocked = None

    def path(self, start: Pose2D, goal: tuple[float, float]) -> list[tuple[float, float]] | None:
        """The shortest way as points, start and goal included; None when there is none.

        A goal inside an obstacle (a target thing, a wall) is replaced by the reachable cell nearest to it.
        """
        begin, end = self.cell_of(start.x, start.y), self._nearest_inside(goal)
        if begin is None:
            return None
        blocked = self.blocked.copy()
        # the robot stands where it stands, whatever the map says
        i, j = begin
        blocked[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = False
        cells = _shortest(blocked, begin, _nearest_open(blocked, end))
        return None if cells is None else [self.point_of(cell) for cell in cells]

    def _nearest_inside(self, goal: tuple[float, float]) -> tuple[int, int]:
        last = self.size - 1
        i = math.floor((goal[0] - self._left) / self.settings.cell)
        j = math.floor((goal[1] - self._bottom) / self.settings.cell)
        return min(max(i, 0), last), min(max(j, 0), last)

    def _mark_free(self, points: NDArray[np.float32], until: NDArray[np.float32], pose: Pose2D) -> None:
        """Clear the cells along each image column up to the distance seen through."""
        bearing = column_bearings(points)
        use = np.isfinite(points[..., 0]).any(axis=0) & np.isfinite(until) & (until > 0)
        steps = np.arange(0.0, self.settings.max_range, self.settings.cell)
        along = steps[None, :] < until[use, None]
        xy = np.stack(
            [steps[None, :] * np.cos(bearing[use, None]), steps[None, :] * np.sin(bearing[use, None])], axis=-1
        )
        self._change(xy[along].astype(np.float64), pose, -1)

    def _change(self, body_xy: NDArray[np.float64], pose: Pose2D, amount: int, *, at_least: int = 1) -> None:
        cos, sin = math.cos(pose.yaw), math.sin(pose.yaw)
        x = pose.x + cos * body_xy[:, 0] - sin * body_xy[:, 1]
        y = pose.y + sin * body_xy[:, 0] + cos * body_xy[:, 1]
        i = np.floor((x - self._left) / self.settings.cell).astype(np.int64)
        j = np.floor((y - self._bottom) / self.settings.cell).astype(np.int64)
        inside = (i >= 0) & (i < self.size) & (j >= 0) & (j < self.size)
        # each cell changes once per look, however many pixels fall on it
        counts = np.bincount(i[inside] * self.size + j[inside], minlength=self.size**2)
        cells = np.flatnonzero(counts >= at_least)
        self._blocked = None
        flat = self._evidence.reshape(-1)
        flat[cells] = np.clip(flat[cells] + amount, _LEAST, _MOST)


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
