"""Floors, tables and walls in one depth image, found from their normals and the direction of gravity.

The world's z is up, so a supporting surface is a peak in the heights of level points and a wall a peak in the
distances of upright points that face one way: two histograms instead of a random search, and the same every time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.config.perception import Segment

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

LEVEL = 0.94
"""Cosine to the vertical of a level surface: 20 degrees, for noisy normals and soft beds."""
UPRIGHT = 0.25
"""The same for a wall."""
CLOSE = 2.5
"""Margins from a plane within which noise and soft carpets still belong to it."""
HEADINGS = 36
"""Directions a wall may face, ten degrees each."""


def find_planes(
    points: Floats, normals: Floats, depth: Floats, *, areas: Floats, config: Segment
) -> tuple[NDArray[np.int32], Bools]:
    """The number of the plane each pixel lies on, -1 for none, and which pixels lie close to any plane.

    ``points`` and ``normals`` are in world axes. ``areas`` are the square metres behind each pixel: a plane counts when it is as large as furniture hardly is.
    """
    margin = config.plane_margin + config.plane_noise * depth**2
    found = np.full(depth.shape, -1, dtype=np.int32)
    near = np.zeros(depth.shape, dtype=np.bool_)
    needed = config.plane_share * depth.size
    level = normals[..., 2] > LEVEL
    number = _claim(found, near, points[..., 2], level, margin, needed, 0, areas, config.level_area)
    upright = np.abs(normals[..., 2]) < UPRIGHT
    heading = np.arctan2(normals[..., 1], normals[..., 0])
    sectors = np.floor((heading / (2.0 * np.pi)) % 1.0 * HEADINGS).astype(np.int32) % HEADINGS
    counts = np.bincount(sectors[upright], minlength=HEADINGS)
    # neighbours together, so that a wall on the border of two sectors counts whole
    wide = counts + np.roll(counts, 1) + np.roll(counts, -1)
    for sector in np.argsort(-wide, kind="stable")[:6]:
        if wide[sector] < needed:
            break
        facing = upright & (np.abs((sectors - sector + HEADINGS // 2) % HEADINGS - HEADINGS // 2) <= 1) & (found < 0)
        if facing.sum() < needed:
            continue
        mean = normals[facing].mean(axis=0)
        mean[2] = 0.0
        distance = points @ (mean / max(float(np.linalg.norm(mean)), 1e-6)).astype(np.float32)
        number = _claim(found, near, distance, facing, margin, needed, number, areas, config.wall_area)
    return found, near


def _claim(
    found: NDArray[np.int32],
    close_to_any: Bools,
    height: Floats,
    seeds: Bools,
    margin: Floats,
    needed: float,
    number: int,
    areas: Floats,
    min_area: float,
) -> int:
    """Mark the pixels within the margin of every peak in the heights of the seeds; returns the next number."""
    width = 0.02
    free = seeds & (found < 0)
    for _ in range(6):
        heights = height[free]
        if len(heights) < needed:
            return number
        low = float(heights.min())
        counts = np.bincount(((heights - low) / width).astype(np.int64))
        smooth = np.convolve(counts, np.ones(3, dtype=np.int64), mode="same")
        peak = int(smooth.argmax())
        if smooth[peak] < needed:
            return number
        near = heights[np.abs(heights - (low + (peak + 0.5) * width)) < 1.5 * width]
        middle = np.float32(np.median(near))
        close = np.abs(height - middle) < margin
        if float(areas[close & seeds].sum()) >= min_area:
            found[close & (found < 0)] = number
            close_to_any |= np.abs(height - middle) < CLOSE * margin
            number += 1
        # what is just above or below belongs to the same surface, not to a second one
        free &= np.abs(height - middle) > 2.0 * margin
    return number
