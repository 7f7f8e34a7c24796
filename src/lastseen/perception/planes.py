"""Floors, tables and walls in one depth image, found from their normals and the direction of gravity.

The world's z is up, so a supporting surface is a peak in the heights of level points and a wall a peak in the
distances of upright points that face one way: two histograms instead of a random search, and the same every time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config.perception import Segment

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

PLANE_SHARE = 0.02
"""Share of the pixels that makes a level or upright plane."""
LEVEL_AREA = 0.5
"""Square metres; a larger level surface supports things: floor, table, bed."""
WALL_AREA = 1.0
"""Square metres; a larger upright surface is a wall, not a cupboard's side."""
LEVEL = 0.94
"""Cosine to the vertical of a level surface: 20 degrees, for noisy normals and soft beds."""
UPRIGHT = 0.25
"""The same for a wall."""
LOOSE = 1.6
"""Margins within which a pixel is on a plane whatever its normal says: normals bend next to what stands there."""
CLOSE = 2.5
"""Margins from a plane within which noise and soft carpets still belong to it."""
HEADINGS = 36
"""Directions a wall may face, ten degrees each."""
BIN = 0.02
"""Metres of a histogram bin: about the noise of a depth camera at two metres."""
MOST = 6
"""Planes of one orientation looked for: a room seldom shows more."""


@dataclass(slots=True)
class Planes:
    """Which pixels lie on a large plane, and which lie close enough to one to be its unevenness."""

    on: Bools
    close: Bools
    margin: Floats
    areas: Floats
    min_pixels: float

    def claim(self, height: Floats, seeds: Bools, *, min_area: float) -> None:
        """Take the pixels at every peak in the heights of the seeds that is large enough in square metres."""
        free = seeds & ~self.on
        for _ in range(MOST):
            heights = height[free]
            if len(heights) < self.min_pixels:
                return
            low = float(heights.min())
            counts = np.bincount(((heights - low) / BIN).astype(np.int64))
            smooth = np.convolve(counts, np.ones(3, dtype=np.int64), mode="same")
            peak = int(smooth.argmax())
            if smooth[peak] < self.min_pixels:
                return
            near = heights[np.abs(heights - (low + (peak + 0.5) * BIN)) < 1.5 * BIN]
            distance = np.abs(height - np.float32(np.median(near))) / self.margin
            if float(self.areas[(distance < 1.0) & seeds].sum()) >= min_area:
                around = distance < CLOSE
                self.on |= (distance < LOOSE) | (around & seeds)
                self.close |= around
            # what is just above or below belongs to the same surface, not to a second one
            free &= distance > 2.0


def find_planes(points: Floats, normals: Floats, depth: Floats, *, areas: Floats, config: Segment) -> Planes:
    """The large planes of an image; ``points`` and ``normals`` are in world axes.

    ``areas`` are the square metres behind each pixel: a plane counts when it is as large as furniture hardly is.
    """
    planes = Planes(
        on=np.zeros(depth.shape, dtype=np.bool_),
        close=np.zeros(depth.shape, dtype=np.bool_),
        margin=config.plane_margin + config.plane_noise * depth**2,
        areas=areas,
        min_pixels=PLANE_SHARE * depth.size,
    )
    planes.claim(points[..., 2], normals[..., 2] > LEVEL, min_area=LEVEL_AREA)
    upright = np.abs(normals[..., 2]) < UPRIGHT
    heading = np.arctan2(normals[..., 1], normals[..., 0])
    sectors = np.floor((heading / (2.0 * np.pi)) % 1.0 * HEADINGS).astype(np.int32) % HEADINGS
    counts = np.bincount(sectors[upright], minlength=HEADINGS)
    # neighbours together, so that a wall on the border of two sectors counts whole
    wide = counts + np.roll(counts, 1) + np.roll(counts, -1)
    for sector in np.argsort(-wide, kind="stable")[:MOST]:
        if wide[sector] < planes.min_pixels:
            break
        aside = np.abs((sectors - sector + HEADINGS // 2) % HEADINGS - HEADINGS // 2)
        facing = upright & (aside <= 1) & ~planes.on
        if facing.sum() < planes.min_pixels:
            continue
        mean = normals[facing].mean(axis=0)
        mean[2] = 0.0
        direction = (mean / max(float(np.linalg.norm(mean)), 1e-6)).astype(np.float32)
        planes.claim(points @ direction, facing, min_area=WALL_AREA)
    return planes
