"""Which cells of the floor are blocked: what lies between the wheels and the top of the robot, seen from above."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_MAX_SAMPLES = 2_000_000
"""Points held at once while triangles are sampled; bounds the memory of large walls."""


def blocked_cells(
    triangles: NDArray[np.float32],
    *,
    low: float,
    high: float,
    cell: float,
    origin: tuple[float, float],
    shape: tuple[int, int],
) -> NDArray[np.bool_]:
    """Mark the cells (x index, y index) that hold some part of a triangle with low <= z <= high."""
    blocked = np.zeros(shape, dtype=np.bool_)
    heights = triangles[..., 2]
    near = triangles[(heights.max(axis=1) >= low) & (heights.min(axis=1) <= high)].astype(np.float64)
    inside = (near[..., 2].min(axis=1) >= low) & (near[..., 2].max(axis=1) <= high)
    flat = [near[inside][..., :2], _clipped(near[~inside], low, high)]
    for corners in flat:
        _mark(blocked, corners, cell, origin)
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


def _mark(blocked: NDArray[np.bool_], corners: NDArray[np.float64], cell: float, origin: tuple[float, float]) -> None:
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
    order = np.stack([_power(base, cell / 2.0), _power(height, cell / 2.0)], axis=1)
    for power in np.unique(order, axis=0):
        chosen = np.flatnonzero((order == power).all(axis=1))
        s, t = np.meshgrid(*(np.linspace(0.0, 1.0, (1 << int(p)) + 1) for p in power), indexing="ij")
        weights = np.stack([(1 - t) * (1 - s), (1 - t) * s, t], axis=-1).reshape(-1, 3)
        step = max(1, math.floor(_MAX_SAMPLES / len(weights)))
        for first in range(0, len(chosen), step):
            group = chosen[first : first + step]
            points = weights @ np.stack([start[group], end[group], apex[group]], axis=1)
            index = np.floor((points.reshape(-1, 2) - origin) / cell).astype(int)
            np.clip(index, 0, np.array(blocked.shape) - 1, out=index)
            blocked[index[:, 0], index[:, 1]] = True


def _power(length: NDArray[np.float64], spacing: float) -> NDArray[np.int_]:
    return np.ceil(np.log2(np.maximum(length / spacing, 1.0))).astype(int)
