"""The floor as an evidence grid: which cells were seen free, which hold something, which nobody has looked at.

One class serves both uses: the explored floor of a memory, which grows with what is seen, and the window around a
robot that a policy walks in.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.body import column_bearings, floor_height
from lastseen.config.search import Policy
from lastseen.errors import JournalDamaged
from lastseen.pose2d import ORIGIN, Pose2D

OCCUPIED = 2
"""Evidence at which a cell counts as occupied; each sighting adds two, each look through takes one."""
_MOST, _LEAST = 6, -4
_MIN_POINTS = 2
"""Pixels of one depth image that must fall on a cell: a single one is a stray."""
_BUMP = 100
"""Evidence of a cell that a robot bumped into: whatever depth says later, it stays occupied."""
TILE = 64
"""Cells along the side of a tile, the unit in which floor is stored: 12.8 m, some 300 bytes once compressed."""
_LARGEST = 64 * TILE
"""Cells along the side of a grid at most: 800 m. What lies beyond is not mapped; a pose that far off is wrong."""
_FARTHEST = 2**31
"""Cells from the origin at most: ten times round the Earth. A pose or a tile beyond it is no place at all."""

_WALL_CELL = 0.05
"""Metres: a wall of 0.1 m is two cells, a door of 0.8 m sixteen."""
_WALL_LOW, _WALL_HIGH = 1.1, 1.95
"""Metres above the floor between which a thing is a wall: above tables and chairs, below the lintel of a door."""

Cell = tuple[int, int]
Points = NDArray[np.float32]


def wall_grid(policy: Policy) -> FloorGrid:
    """An empty grid that takes in depth images as the explored floor does, but sees walls only.

    Rooms end at walls, not at tables: what is lower than a person's chest does not divide a room, and what is higher
    than a door does not close one.
    """
    return FloorGrid(
        replace(policy, cell=_WALL_CELL, obstacle_low=_WALL_LOW, obstacle_high=_WALL_HIGH, floor_slope=0.0)
    )


class FloorGrid:
    """Evidence per square cell of floor, in the frame of the poses it is given.

    ``settings`` give the cell size and what is floor to a robot of this height. With ``window`` (metres) the grid is
    a square of that half width around ``origin`` and stays so; without, it grows with what is seen. Cell centres lie
    at ``origin`` and whole cells from it.
    """

    def __init__(self, settings: Policy, *, origin: Pose2D = ORIGIN, window: float | None = None) -> None:
        self.settings = settings
        self._grows = window is None
        half = 0 if window is None else round(window / settings.cell)
        self._x, self._y = origin.x, origin.y
        self._first: Cell = (-half, -half)
        side = 0 if window is None else 2 * half + 1
        self.evidence = np.zeros((side, side), dtype=np.int8)
        """Evidence per cell, for reading: above 0 for something there, below for nothing, 0 where nobody looked."""
        self._blocked: NDArray[np.bool_] | None = None
        self.revision = 0
        """Grows with every change."""
        self._changed: set[Cell] = set()
        reach = settings.robot_radius / settings.cell
        span = np.arange(-math.ceil(reach), math.ceil(reach) + 1)
        self._disk = np.hypot(span[:, None], span[None, :]) <= reach + 0.5

    def copy(self) -> FloorGrid:
        """The same grid, which later changes of this one do not reach."""
        made = FloorGrid(self.settings, origin=Pose2D(self._x, self._y, 0.0))
        made._first, made.evidence = self._first, self.evidence.copy()
        return made

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Cells with something in them."""
        return self.evidence >= OCCUPIED

    @property
    def free(self) -> NDArray[np.bool_]:
        """Cells that were looked through or stood in."""
        return self.evidence < 0

    @property
    def blocked(self) -> NDArray[np.bool_]:
        """Cells where the middle of the robot cannot be; computed once per change of the grid."""
        if self._blocked is None:
            from scipy import ndimage

            self._blocked = (
                ndimage.binary_dilation(self.occupied, structure=self._disk) if self.evidence.size else self.occupied
            )
        return self._blocked

    def cell_of(self, x: float, y: float) -> Cell | None:
        """The row and column of a point; None outside the grid."""
        i, j = self._numbers(x, y)
        i, j = i - self._first[0], j - self._first[1]
        rows, columns = self.evidence.shape
        return (i, j) if 0 <= i < rows and 0 <= j < columns else None

    def knows_around(self, x: float, y: float, *, radius: float) -> bool:
        """Whether a cell within ``radius`` metres of a point was looked at."""
        reach = round(radius / self.settings.cell)
        i, j = (number - first for number, first in zip(self._numbers(x, y), self._first, strict=True))
        near = self.evidence[max(i - reach, 0) : max(i + reach + 1, 0), max(j - reach, 0) : max(j + reach + 1, 0)]
        return bool(near.any())

    def point_of(self, cell: Cell) -> tuple[float, float]:
        """The middle of a cell, given by row and column."""
        size = self.settings.cell
        return self._x + (cell[0] + self._first[0]) * size, self._y + (cell[1] + self._first[1]) * size

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

    def add(self, points: Points, pose: Pose2D) -> None:
        """Take in one depth image as body points (height, width, 3), seen from a pose on the floor."""
        points = points[::2]
        reach = np.hypot(points[..., 0], points[..., 1])
        known = (reach < self.settings.max_range) & (points[..., 2] < self.settings.obstacle_high)
        in_the_way = known & (points[..., 2] > floor_height(reach, self.settings))
        blocked = np.where(in_the_way, reach, np.inf).min(axis=0)
        seen = np.where(known, reach, 0.0).max(axis=0)
        if not self._is_on_earth(pose):
            return
        self._mark_free(points, np.minimum(blocked - self.settings.cell, seen), pose)
        self._change(points[in_the_way][:, :2].astype(np.float64), pose, +2, at_least=_MIN_POINTS)

    def begin_with(self, finer: FloorGrid) -> None:
        """Begin with what another grid of cells no larger than these knows, in the same frame; for an empty grid."""
        rows, columns = self.evidence.shape
        x, y = self.point_of((0, 0))
        quarters = np.zeros((4, rows, columns), dtype=np.int8)
        for quarter, (down, right) in zip(quarters, itertools.product((-0.25, 0.25), repeat=2), strict=True):
            i = finer._rows(x + self.settings.cell * (np.arange(rows, dtype=np.float64) + down), axis=0)
            j = finer._rows(y + self.settings.cell * (np.arange(columns, dtype=np.float64) + right), axis=1)
            quarter[np.ix_(i >= 0, j >= 0)] = finer.evidence[np.ix_(i[i >= 0], j[j >= 0])]
        # a cell is as free as the freest of its quarters, unless there is something in one of them
        most, least = quarters.max(axis=0), quarters.min(axis=0)
        self.evidence = np.where(most >= OCCUPIED, most, np.minimum(least, 0)).astype(np.int8)
        self._blocked = None
        self.revision += 1

    def _rows(self, points: NDArray[np.floating[Any]], *, axis: int) -> NDArray[np.intp]:
        """The rows (or columns) of coordinates along an axis; -1 outside the grid."""
        origin, first, count = (self._x, self._y)[axis], self._first[axis], self.evidence.shape[axis]
        numbers = np.round((points - origin) / self.settings.cell).astype(np.intp) - first
        return np.where((numbers >= 0) & (numbers < count), numbers, -1)

    def mark_blocked(self, pose: Pose2D) -> None:
        """Something unseen stopped the robot: remember it just ahead; in a window, whatever depth says later."""
        ahead = self.settings.robot_radius + self.settings.cell
        if not self._is_on_earth(pose):
            return
        for side in (-0.5, 0.0, 0.5):
            bump = pose.compose(Pose2D(ahead, side * self.settings.robot_radius, 0.0))
            if self._grows:
                self._extend_to(*(np.array(self._numbers(bump.x, bump.y)) + more for more in (0, 1)))
            cell = self.cell_of(bump.x, bump.y)
            if cell is not None:
                # a person in the way today is gone tomorrow: what lasts must be able to change
                self.evidence[cell] = _MOST if self._grows else _BUMP
                self._note_changed(np.array([cell[0]]), np.array([cell[1]]))

    def take_in(self, other: FloorGrid, origin: Pose2D) -> None:
        """Fill what is unknown here with what another grid of the same cells knows.

        ``origin`` is where its frame lies in this one's. What is known here stays: two maps of one wall lie a hand
        apart, and both together would make it twice as thick and its rooms smaller.
        """
        rows, columns = np.nonzero(other.evidence)
        if not len(rows):
            return
        size = self.settings.cell
        cosine, sine = math.cos(origin.yaw), math.sin(origin.yaw)
        x, y = other._x + (rows + other._first[0]) * size, other._y + (columns + other._first[1]) * size
        x, y = origin.x + cosine * x - sine * y, origin.y + sine * x + cosine * y
        low = np.floor(np.array([(x - self._x).min(), (y - self._y).min()]) / size).astype(np.int64)
        high = np.ceil(np.array([(x - self._x).max(), (y - self._y).max()]) / size).astype(np.int64) + 1
        if self._grows:
            self._extend_to(low, high)
        # every cell here asks where it lies there: the other way round, turned cells would leave holes
        i, j = (each.ravel() for each in np.mgrid[low[0] : high[0], low[1] : high[1]])
        x, y = self._x + i * size - origin.x, self._y + j * size - origin.y
        x, y = cosine * x + sine * y, cosine * y - sine * x
        there = np.floor(np.array([(x - other._x) / size + 0.5, (y - other._y) / size + 0.5])).astype(np.int64)
        there -= np.array(other._first)[:, None]
        here = np.array([i - self._first[0], j - self._first[1]])
        inside = np.ones(len(i), dtype=np.bool_)
        for cells, grid in ((there, other.evidence), (here, self.evidence)):
            inside &= (cells >= 0).all(axis=0) & (cells < np.array(grid.shape)[:, None]).all(axis=0)
        there, here = there[:, inside], here[:, inside]
        more = np.clip(other.evidence[there[0], there[1]], _LEAST, _MOST)
        told = (more != 0) & (self.evidence[here[0], here[1]] == 0)
        i, j = here[0][told], here[1][told]
        self.evidence[i, j] = more[told]
        self._note_changed(i, j)

    def nearest_inside(self, point: tuple[float, float]) -> Cell:
        """The cell of a point, or the one at the border that lies nearest to it."""
        i, j = self._numbers(*point)
        rows, columns = self.evidence.shape
        return min(max(i - self._first[0], 0), rows - 1), min(max(j - self._first[1], 0), columns - 1)

    def drain_changed(self) -> dict[Cell, bytes]:
        """The tiles that changed since the last call, by tile number, compressed for the memory file."""
        tiles = {}
        for tile in sorted(self._changed):
            tiles[tile] = zlib.compress(np.ascontiguousarray(self.evidence[self._within(tile)]).tobytes())
        self._changed.clear()
        return tiles

    def restore(self, tiles: Mapping[Cell, bytes], path: object = "") -> None:
        """Fill a grid that grows with stored tiles; ``path`` is named where one cannot be read."""
        if not tiles:
            return
        absurd = [tile for tile in tiles if max(map(abs, tile)) >= _FARTHEST // TILE]
        if absurd:
            raise JournalDamaged(path, f"floor tile {min(absurd)} lies nowhere on Earth")
        numbers = np.array(list(tiles))
        self._extend_to(numbers.min(axis=0) * TILE, (numbers.max(axis=0) + 1) * TILE, path=path)
        for tile, body in tiles.items():
            unpacker = zlib.decompressobj()
            try:
                evidence = unpacker.decompress(body, TILE * TILE + 1)
            except zlib.error as error:
                raise JournalDamaged(path, f"floor tile {tile} cannot be unpacked: {error}") from error
            if len(evidence) != TILE * TILE:
                raise JournalDamaged(path, f"floor tile {tile} has another size than {TILE} x {TILE}")
            self.evidence[self._within(tile)] = np.frombuffer(evidence, dtype=np.int8).reshape(TILE, TILE)
        self._blocked = None
        self.revision += 1

    def _within(self, tile: Cell) -> tuple[slice, slice]:
        """Where a tile lies in the grid."""
        (i, j), (top, left) = tile, self._first
        return slice(i * TILE - top, (i + 1) * TILE - top), slice(j * TILE - left, (j + 1) * TILE - left)

    def _numbers(self, x: float, y: float) -> Cell:
        """The cell's numbers from the origin: the cell around it is (0, 0)."""
        size = self.settings.cell
        return math.floor((x - self._x) / size + 0.5), math.floor((y - self._y) / size + 0.5)

    def _is_on_earth(self, pose: Pose2D) -> bool:
        return max(abs(number) for number in self._numbers(pose.x, pose.y)) < _FARTHEST

    def _extend_to(self, low: NDArray[np.int64], high: NDArray[np.int64], *, path: object | None = None) -> None:
        first = np.array(self._first)
        last = first + self.evidence.shape
        if self.evidence.size:
            if (low >= first).all() and (high <= last).all():
                return
            low, high = np.minimum(low, first), np.maximum(high, last)
        low, high = np.floor_divide(low, TILE) * TILE, -np.floor_divide(-high, TILE) * TILE
        if (high - low > _LARGEST).any():
            if path is not None:
                raise JournalDamaged(path, f"the floor is {(high - low).max()} cells wide, more than {_LARGEST}")
            return
        grown = np.zeros(high - low, dtype=np.int8)
        if self.evidence.size:
            (i, j), (rows, columns) = first - low, self.evidence.shape
            grown[i : i + rows, j : j + columns] = self.evidence
        self.evidence, self._first, self._blocked = grown, (int(low[0]), int(low[1])), None

    def _mark_free(self, points: Points, until: NDArray[np.float32], pose: Pose2D) -> None:
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
        cos, sin, size = math.cos(pose.yaw), math.sin(pose.yaw), self.settings.cell
        x = pose.x + cos * body_xy[:, 0] - sin * body_xy[:, 1]
        y = pose.y + sin * body_xy[:, 0] + cos * body_xy[:, 1]
        if not len(x):
            return
        i = np.floor((x - self._x) / size + 0.5).astype(np.int64)
        j = np.floor((y - self._y) / size + 0.5).astype(np.int64)
        # each cell changes once per look, however many pixels fall on it
        top, left, width = i.min(), j.min(), j.max() - j.min() + 1
        # counting is quicker than sorting: what one look reaches is a square of a few metres
        counts = np.bincount((i - top) * width + j - left)
        i, j = np.divmod(np.flatnonzero(counts >= at_least), width)
        i, j = i + top, j + left
        if self._grows and len(i):
            # no farther than what changes, so that a grid that is restored has the same size
            self._extend_to(np.array([i.min(), j.min()]), np.array([i.max(), j.max()]) + 1)
        i, j = i - self._first[0], j - self._first[1]
        rows, columns = self.evidence.shape
        inside = (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
        i, j = i[inside], j[inside]
        old = self.evidence[i, j]
        # a bump stays: what stopped the robot was not to be seen
        self.evidence[i, j] = np.where(old == _BUMP, old, np.clip(old + amount, _LEAST, _MOST))
        self._note_changed(i, j)

    def _note_changed(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        self._blocked = None
        self.revision += 1
        if self._grows and len(rows):
            # all tiles between the outermost cells: a look reaches over four at most
            (top, bottom), (left, right) = (
                ((int(each.min()) + first) // TILE, (int(each.max()) + first) // TILE)
                for each, first in zip((rows, columns), self._first, strict=True)
            )
            self._changed.update((i, j) for i in range(top, bottom + 1) for j in range(left, right + 1))
