"""Cutting the structure of a home at a height: where its walls are, whatever they were made from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.sim.mesh import Mesh


class Raster:
    """Maps metres on the floor plan to pixels; y points up in the world and down in the picture."""

    def __init__(self, low: NDArray[np.float64], high: NDArray[np.float64], scale: float) -> None:
        self.low, self.high, self.scale = low, high, scale
        self.width = math.ceil((high[0] - low[0]) * scale)
        self.height = math.ceil((high[1] - low[1]) * scale)

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """The pixel of a floor point."""
        return (x - self.low[0]) * self.scale, (self.high[1] - y) * self.scale

    def pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The pixels (n, 2) of floor points (n, 2 or more)."""
        return np.stack(
            [(points[:, 0] - self.low[0]) * self.scale, (self.high[1] - points[:, 1]) * self.scale], axis=-1
        )


def cut(mesh: Mesh, height: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The segments (n, 2, 2) at which the faces of a mesh cross a height, and the face of each.

    A segment runs so that the solid lies to its left.
    """
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    above = corners[:, :, 2] > height
    # exactly one corner alone on its side, as a plane cuts a triangle in two edges
    crossing = np.flatnonzero((above.sum(axis=1) == 1) | (above.sum(axis=1) == 2))
    corners, above = corners[crossing], above[crossing]
    lonely_above = above.sum(axis=1) == 1
    lonely = np.where(lonely_above, above.argmax(axis=1), (~above).argmax(axis=1))
    rows = np.arange(len(corners))
    apex, after, before = (corners[rows, (lonely + step) % 3] for step in (0, 1, 2))

    def meet(other: NDArray[np.float64]) -> NDArray[np.float64]:
        share = (height - apex[:, 2]) / (other[:, 2] - apex[:, 2])
        met: NDArray[np.float64] = (apex + share[:, None] * (other - apex))[:, :2]
        return met

    first, second = meet(after), meet(before)
    flip = lonely_above[:, None]
    return np.stack([np.where(flip, second, first), np.where(flip, first, second)], axis=1), crossing


def is_closed(mesh: Mesh) -> bool:
    """Whether every edge is run along once in each direction, so that inside and outside are defined."""
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]).astype(np.int64)
    size = len(mesh.vertices)
    forward = np.sort(edges[:, 0] * size + edges[:, 1])
    backward = np.sort(edges[:, 1] * size + edges[:, 0])
    return bool((forward == backward).all())


def solid(mesh: Mesh, height: float, raster: Raster) -> NDArray[np.bool_]:
    """Which pixels lie inside a closed mesh at a height, by winding number."""
    segments, _ = cut(mesh, height)
    winding = np.zeros((raster.height, raster.width + 1), dtype=np.int32)
    for start, end in segments:
        (x0, y0), (x1, y1) = raster.pixel(*start), raster.pixel(*end)
        sign = 1 if y1 > y0 else -1
        if y0 > y1:
            x0, y0, x1, y1 = x1, y1, x0, y0
        first, last = max(math.ceil(y0 - 0.5), 0), min(math.ceil(y1 - 0.5), raster.height)
        if first >= last:
            continue
        rows = np.arange(first, last)
        columns = x0 + (rows + 0.5 - y0) / (y1 - y0) * (x1 - x0)
        columns = np.clip(np.ceil(columns - 0.5), 0, raster.width).astype(np.int64)
        winding[rows, columns] += sign
    inside: NDArray[np.bool_] = np.cumsum(winding, axis=1)[:, :-1] != 0
    return inside
