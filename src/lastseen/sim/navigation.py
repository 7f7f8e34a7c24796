"""Where a robot can be in a home and how far it is from there to anywhere: the truth that searches are measured by.

The floor is a grid of cells; a cell is free when there is floor and the nearest obstacle is farther away than the
robot's radius. Distances are shortest paths over 16 directions, straightened where the robot can go straight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from scipy.sparse import csgraph

from lastseen.config.programs import Robot
from lastseen.errors import InvalidValue
from lastseen.sim.home import Home
from lastseen.sim.scene import NO_HIT, Scene

Point = tuple[float, float]
CELL = 0.05
"""Metres: ten cells across the free width of a narrow doorway."""
_MOVES = [(1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (1, 2), (2, -1), (1, -2)]
"""Half of the 16 moves; the graph is undirected. Knight's moves bring the worst detour from 8 % down to 3 %."""
_PULLS = 4
"""Rounds of straightening; two are nearly always enough."""
_MAX_SAMPLES = 2_000_000
"""Points held at once while triangles are sampled; bounds the memory of large walls."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path for the robot's centre: straight between the points, ``length`` in metres."""

    points: tuple[Point, ...]
    length: float


class NavigationGrid:
    """The free floor of one home for one robot; a changed home needs a new one (about a tenth of a second)."""

    def __init__(self, home: Home, *, robot: Robot | None = None, scene: Scene | None = None) -> None:
        self.robot = robot or Robot()
        self.scene = scene or Scene(home)
        low, high = home.bounds[:, :2]
        # whole cells, so that a small edit of the home does not shift the grid under the robot
        self.origin: Point = (math.floor(low[0] / CELL) * CELL - CELL, math.floor(low[1] / CELL) * CELL - CELL)
        extent = np.ceil((high - self.origin) / CELL).astype(int) + 1
        self.shape: tuple[int, int] = (int(extent[0]), int(extent[1]))
        surface = self.scene.surface
        self.blocked = _blocked_cells(
            surface.vertices[surface.faces],
            low=self.robot.step_over,
            high=self.robot.camera_height,
            origin=self.origin,
            shape=self.shape,
        )
        self.blocked |= ~self._floor()
        # distance from a cell's centre to the border of the nearest blocked cell
        distance: NDArray[np.float64] = ndimage.distance_transform_edt(np.pad(~self.blocked, 1))[1:-1, 1:-1]
        self.clearance = distance * CELL - CELL / 2.0
        self.free: NDArray[np.bool_] = self.clearance >= self.robot.radius
        self._reached: dict[int, NDArray[np.int_]] = {}

    def _floor(self) -> NDArray[np.bool_]:
        """Cells with something to stand on, found by looking straight down from just above it."""
        x, y = np.meshgrid(*(np.arange(count) for count in self.shape), indexing="ij")
        centres = self.centers(np.stack([x.ravel(), y.ravel()], axis=1))
        above = self.robot.step_over + 0.01
        origins = np.column_stack([centres, np.full(len(centres), above)]).astype(np.float32)
        down = np.tile(np.array([0.0, 0.0, -1.0], dtype=np.float32), (len(origins), 1))
        hits = self.scene.cast(origins, down)
        solid = (hits["primID"] != NO_HIT) & (hits["tfar"] <= 2.0 * above)
        return solid.reshape(self.shape)

    def cell_of(self, x: float, y: float) -> tuple[int, int]:
        """The cell that holds a point; it may lie outside the grid."""
        return math.floor((x - self.origin[0]) / CELL), math.floor((y - self.origin[1]) / CELL)

    def centers(self, cells: NDArray[np.int_]) -> NDArray[np.float64]:
        """The middle points (n, 2) of cells (n, 2)."""
        return (np.asarray(cells, dtype=np.float64) + 0.5) * CELL + self.origin

    def is_free(self, x: float, y: float) -> bool:
        """Whether the robot's centre may be at a point."""
        i, j = self.cell_of(x, y)
        return 0 <= i < self.shape[0] and 0 <= j < self.shape[1] and bool(self.free[i, j])

    @cached_property
    def islands(self) -> NDArray[np.int32]:
        """Free cells by connected area: 1 is the largest, 0 is not free."""
        # diagonal moves are allowed only between two free neighbours, so areas join by sides
        numbers, count = ndimage.label(self.free)
        sizes = np.bincount(numbers.ravel(), minlength=count + 1)[1:]
        rank = np.zeros(count + 1, dtype=np.int32)
        rank[np.argsort(-sizes, kind="stable") + 1] = np.arange(1, count + 1)
        return rank[numbers]

    def island_at(self, x: float, y: float) -> int:
        """The number of the free area at a point; 0 where the robot cannot be."""
        return int(self.islands[self.cell_of(x, y)]) if self.is_free(x, y) else 0

    def reachable(self, start: Point | None = None) -> NDArray[np.int_]:
        """The cells (n, 2) that can be reached from a point; from anywhere on the largest area without one."""
        island = 1 if start is None else self.island_at(*start)
        if island == 0 or not self.free.any():
            raise InvalidValue("start", start, "is not free floor", remedy="see NavigationGrid.nearest_free")
        if island not in self._reached:
            cells = np.argwhere(self.islands == island)
            cells.flags.writeable = False
            self._reached[island] = cells
        return self._reached[island]

    def area(self) -> float:
        """Square metres that the robot's centre can reach on the largest area."""
        return len(self.reachable()) * CELL**2

    def nearest_free(self, x: float, y: float, *, island: int = 1) -> Point:
        """The centre of the nearest cell of a free area; the point itself where it lies in it."""
        if self.island_at(x, y) == island:
            return x, y
        cells = np.argwhere(self.islands == island)
        if not len(cells):
            raise InvalidValue("home", island, "has no free floor", remedy="use a smaller robot or a larger home")
        centres = self.centers(cells)
        best = int(np.hypot(centres[:, 0] - x, centres[:, 1] - y).argmin())
        return float(centres[best, 0]), float(centres[best, 1])

    @cached_property
    def _numbers(self) -> NDArray[np.int32]:
        """The node of each free cell in the graph, -1 elsewhere."""
        numbers = np.full(self.shape, -1, dtype=np.int32)
        numbers[self.free] = np.arange(int(self.free.sum()), dtype=np.int32)
        return numbers

    @cached_property
    def _graph(self) -> Any:
        rows, columns, lengths = [], [], []
        for dx, dy in _MOVES:
            start, end = _overlap(self.shape, dx, dy)
            passable = self.free[start] & self.free[end]
            for x, y in _between(dx, dy):
                passable &= _shifted(self.free, x, y)[start]
            rows.append(self._numbers[start][passable])
            columns.append(self._numbers[end][passable])
            lengths.append(np.full(int(passable.sum()), math.hypot(dx, dy) * CELL))
        count = int(self.free.sum())
        return sparse.csr_matrix(
            (np.concatenate(lengths), (np.concatenate(rows), np.concatenate(columns))), shape=(count, count)
        )

    def distances(self, goals: Sequence[Point]) -> NDArray[np.float64]:
        """For every cell the length of the path to the nearest goal, up to 3 % too long; inf where there is none."""
        field, _ = self._search(goals)
        return field

    def path(self, start: Point, goals: Sequence[Point]) -> Path | None:
        """The shortest path from a point to the nearest of the goals, straightened; None where there is none."""
        field, before = self._search(goals)
        if not self.is_free(*start) or not math.isfinite(field[self.cell_of(*start)]):
            return None
        ends = {int(self._numbers[self.cell_of(*goal)]): goal for goal in reversed(goals) if self.is_free(*goal)}
        node = int(self._numbers[self.cell_of(*start)])
        nodes = []
        while node not in ends:
            node = int(before[node])
            nodes.append(node)
        cells = self._cells[nodes[:-1]]
        line = [start, *((float(x), float(y)) for x, y in self.centers(cells)), ends[node]]
        best = self._straightened(line)
        # pulling from the other end tightens what the first pull left slack
        for _ in range(_PULLS):
            pulled = self._straightened(_dense(best, CELL)[::-1])[::-1]
            if _length(pulled) >= _length(best):
                break
            best = pulled
        return Path(best, _length(best))

    @cached_property
    def _cells(self) -> NDArray[np.int_]:
        return np.argwhere(self.free)

    def _search(self, goals: Sequence[Point]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        nodes = sorted({int(self._numbers[self.cell_of(*goal)]) for goal in goals if self.is_free(*goal)})
        field = np.full(self.shape, np.inf)
        if not nodes:
            return field, np.empty(0, dtype=np.int32)
        lengths, before, _ = csgraph.dijkstra(
            self._graph, directed=False, indices=nodes, min_only=True, return_predecessors=True
        )
        field[self.free] = lengths
        return field, before

    def _straightened(self, line: list[Point]) -> tuple[Point, ...]:
        """Leave out every point that the robot can pass by in a straight line, farthest first."""
        kept = [line[0]]
        at = 0
        while at < len(line) - 1:
            low, high = at + 1, len(line) - 1
            # gallop: the farthest visible point, assuming that what hides one hides those behind it
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self.is_straight(line[at], line[middle]) else (low, middle - 1)
            kept.append(line[low])
            at = low
        return tuple(kept)

    def is_straight(self, start: Point, end: Point) -> bool:
        """Whether the robot can go straight from one point to another: every cell in between is free."""
        from_cell = (np.asarray(start) - self.origin) / CELL
        line = (np.asarray(end) - self.origin) / CELL - from_cell
        # where the line crosses grid lines; between two crossings it lies in one cell
        shares = [np.array([0.0, 1.0])]
        for first, step in zip(from_cell.tolist(), line.tolist(), strict=True):
            if step:
                lines = np.arange(math.ceil(min(first, first + step)), math.floor(max(first, first + step)) + 1)
                shares.append((lines - first) / step)
        share = np.sort(np.concatenate(shares))
        # a crossing of two lines at once is no cell of its own
        middles = ((share[1:] + share[:-1]) / 2.0)[np.diff(share) > 1e-9]
        cells = np.floor(from_cell + middles[:, np.newaxis] * line).astype(int)
        if (cells < 0).any() or (cells >= self.shape).any():
            return False
        return bool(self.free[cells[:, 0], cells[:, 1]].all())


def _length(points: Sequence[Point]) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(points))


def _dense(points: Sequence[Point], spacing: float) -> list[Point]:
    """The same line with a point at least every ``spacing`` metres."""
    line = [points[0]]
    for a, b in pairwise(points):
        count = max(1, math.ceil(math.dist(a, b) / spacing))
        for k in range(1, count):
            share = k / count
            line.append((a[0] * (1.0 - share) + b[0] * share, a[1] * (1.0 - share) + b[1] * share))
        line.append(b)
    return line


def _overlap(shape: tuple[int, int], dx: int, dy: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Slices of the cells that have a neighbour at (dx, dy), and of those neighbours."""
    starts, ends = [], []
    for size, step in zip(shape, (dx, dy), strict=True):
        starts.append(slice(max(0, -step), size - max(0, step)))
        ends.append(slice(max(0, step), size - max(0, -step)))
    return (starts[0], starts[1]), (ends[0], ends[1])


def _between(dx: int, dy: int) -> list[tuple[int, int]]:
    """Cells a move touches besides its ends: no corner of an obstacle is cut."""
    if abs(dx) + abs(dy) == 1:
        return []
    sx, sy = int(math.copysign(1, dx)), int(math.copysign(1, dy))
    if abs(dx) == abs(dy):
        return [(sx, 0), (0, sy)]
    return [(sx, 0), (sx, sy)] if abs(dx) > abs(dy) else [(0, sy), (sx, sy)]


def _shifted(free: NDArray[np.bool_], dx: int, dy: int) -> NDArray[np.bool_]:
    moved = np.zeros_like(free)
    start, end = _overlap((free.shape[0], free.shape[1]), dx, dy)
    moved[start] = free[end]
    return moved


def _blocked_cells(
    triangles: NDArray[np.float32], *, low: float, high: float, origin: tuple[float, float], shape: tuple[int, int]
) -> NDArray[np.bool_]:
    """Mark the cells (x index, y index) that hold some part of a triangle with low <= z <= high."""
    blocked = np.zeros(shape, dtype=np.bool_)
    heights = triangles[..., 2]
    near = triangles[(heights.max(axis=1) >= low) & (heights.min(axis=1) <= high)].astype(np.float64)
    inside = (near[..., 2].min(axis=1) >= low) & (near[..., 2].max(axis=1) <= high)
    flat = [near[inside][..., :2], _clipped(near[~inside], low, high)]
    for corners in flat:
        _mark(blocked, corners, origin)
    return blocked


def _clipped(triangles: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """The parts within the slab as plan triangles (n, 3, 2): cut by the lower plane, the rest by the upper one."""
    parts = []
    for piece in _cut(triangles, low, keep_above=True):
        parts.extend(_cut(piece, high, keep_above=False))
    joined = np.concatenate(parts) if parts else np.empty((0, 3, 3))
    return joined[..., :2]


def _cut(triangles: NDArray[np.float64], height: float, *, keep_above: bool) -> list[NDArray[np.float64]]:
    sign = 1.0 if keep_above else -1.0
    side = sign * (triangles[..., 2] - height)
    kept = (side >= 0.0).sum(axis=1)
    pieces = [triangles[kept == 3]]
    for count in (1, 2):
        chosen, value = triangles[kept == count], side[kept == count]
        # the lone corner comes first, the order around the triangle stays
        lone = (value >= 0.0).argmax(axis=1) if count == 1 else (value < 0.0).argmax(axis=1)
        turn = (lone[:, np.newaxis] + np.arange(3)) % 3
        rows = np.arange(len(chosen))[:, np.newaxis]
        corner, value = chosen[rows, turn], value[rows, turn]
        first = _crossing(corner[:, 0], corner[:, 1], value[:, 0], value[:, 1])
        second = _crossing(corner[:, 0], corner[:, 2], value[:, 0], value[:, 2])
        if count == 1:
            pieces.append(np.stack([corner[:, 0], first, second], axis=1))
        else:
            pieces.append(np.stack([first, corner[:, 1], corner[:, 2]], axis=1))
            pieces.append(np.stack([first, corner[:, 2], second], axis=1))
    return [piece for piece in pieces if len(piece)]


def _crossing(
    a: NDArray[np.float64], b: NDArray[np.float64], value_a: NDArray[np.float64], value_b: NDArray[np.float64]
) -> NDArray[np.float64]:
    share = value_a / (value_a - value_b)
    return a + share[:, np.newaxis] * (b - a)


def _mark(blocked: NDArray[np.bool_], corners: NDArray[np.float64], origin: tuple[float, float]) -> None:
    """Sample every triangle at half a cell, in rows along its longest side, and mark where the samples fall."""
    if not len(corners):
        return
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    longest = sides.argmax(axis=1)
    rows = np.arange(len(corners))
    start, end, apex = (corners[rows, (longest + k) % 3] for k in range(3))
    base = sides[rows, longest]
    along, across = end - start, apex - start
    area = np.abs(along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0])
    height = np.divide(area, base, out=np.zeros_like(area), where=base > 0.0)
    # powers of two: few groups, and every triangle is sampled at least as finely as asked
    order = np.stack([_power(base, CELL / 2.0), _power(height, CELL / 2.0)], axis=1)
    for power in np.unique(order, axis=0):
        chosen = np.flatnonzero((order == power).all(axis=1))
        s, t = np.meshgrid(*(np.linspace(0.0, 1.0, (1 << int(p)) + 1) for p in power), indexing="ij")
        weights = np.stack([(1 - t) * (1 - s), (1 - t) * s, t], axis=-1).reshape(-1, 3)
        step = max(1, math.floor(_MAX_SAMPLES / len(weights)))
        for first in range(0, len(chosen), step):
            group = chosen[first : first + step]
            points = weights @ np.stack([start[group], end[group], apex[group]], axis=1)
            index = np.floor((points.reshape(-1, 2) - origin) / CELL).astype(int)
            np.clip(index, 0, np.array(blocked.shape) - 1, out=index)
            blocked[index[:, 0], index[:, 1]] = True


def _power(length: NDArray[np.float64], spacing: float) -> NDArray[np.int_]:
    return np.ceil(np.log2(np.maximum(length / spacing, 1.0))).astype(int)
