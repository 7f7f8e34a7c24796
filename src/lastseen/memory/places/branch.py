"""Doors and junctions in a depth image: an optional reason to make an anchor; see docs/places.md.

A door is a stretch of columns that see much farther than the edges on both of its sides, as wide as a passage and
near enough to matter. Nothing is remembered between images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Intrinsics

_BAND = 0.1
"""Share of the image's height around the horizon that is read: above tables, below lamps."""
_JUMP = 1.0
"""Metres that an opening reaches farther than its two edges."""
_WIDTHS = (0.5, 2.0)
"""Metres: narrower gaps lead nowhere a robot fits, wider ones are the room itself."""
_REACH = 3.0
"""Metres: a door farther off is not a branch yet."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A gap in what surrounds the robot; ``bearing`` is radians, positive to the left, ``width`` metres."""

    bearing: float
    width: float
    distance: float


def openings(depth: NDArray[np.float32], camera: Intrinsics) -> list[Opening]:
    """The doors and side passages in view, from left to right."""
    ranges = _scan(depth, camera)
    slopes = (np.arange(len(ranges)) - camera.cx) / camera.fx
    found: list[Opening] = []
    column = 0
    while column + 1 < len(ranges):
        if not ranges[column + 1] - ranges[column] >= _JUMP:
            column += 1
            continue
        # the far stretch ends at the first column that is no longer a jump beyond the left edge
        left = column
        right = left + 1
        while right < len(ranges) and ranges[right] - ranges[left] >= _JUMP:
            right += 1
        column = right
        if right == len(ranges):
            break
        near, far = ((float(slopes[edge] * ranges[edge]), float(ranges[edge])) for edge in (left, right))
        width = math.dist(near, far)
        distance = math.hypot((near[0] + far[0]) / 2, (near[1] + far[1]) / 2)
        if _WIDTHS[0] <= width <= _WIDTHS[1] and distance <= _REACH:
            bearing = math.atan2(-(near[0] + far[0]), near[1] + far[1])
            found.append(Opening(bearing, width, distance))
    return found


def is_branch(depth: NDArray[np.float32], camera: Intrinsics) -> bool:
    """Whether a door or a junction is in view and near."""
    return bool(openings(depth, camera))


def _scan(depth: NDArray[np.float32], camera: Intrinsics) -> NDArray[np.float64]:
    """One depth per column: the median around the horizon; unseen columns carry the last seen value on."""
    half = max(1, round(camera.height * _BAND / 2))
    middle = min(max(round(camera.cy), half), camera.height - half)
    rows = depth[middle - half : middle + half]
    seen = np.isfinite(rows)
    scan = np.full(rows.shape[1], np.nan)
    columns = seen.any(axis=0)
    scan[columns] = np.nanmedian(rows[:, columns], axis=0)
    known = np.flatnonzero(columns)
    if len(known) == 0:
        return np.zeros(0)
    previous = np.maximum.accumulate(np.where(columns, np.arange(len(scan)), known[0]))
    return scan[previous]
