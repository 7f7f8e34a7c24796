"""The border of a region of cells as a polygon."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def outline(mask: NDArray[np.bool_], *, tolerance: float = 1.5) -> NDArray[np.float64]:
    """The outer border of the largest part of a mask as corners (n, 2), counter-clockwise, in rows and columns.

    Corners lie between cells, so they are halves. ``tolerance`` is how many cells a corner may lie off the straight
    line through its neighbours to be left out: blurred walls have many such.
    """
    from scipy import ndimage

    parts, count = ndimage.label(mask)
    if not count:
        return np.zeros((0, 2))
    largest = int(np.bincount(parts.ravel())[1:].argmax()) + 1
    return _simplified(_border(np.pad(parts == largest, 1)) - 1.0, tolerance)


def _border(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Every corner along the outer border, the region to the left of each edge."""
    i, j = (int(each[0]) for each in np.nonzero(mask))
    # the first cell has none beside it in the row before nor in the column before: this is a corner of the border
    start = corner = (i, j)
    heading = (0, -1)
    found = []
    while True:
        found.append(corner)
        for turn in (1, 0, -1):
            # the sharpest turn to the left first: cells that meet at a corner alone are not joined
            step = heading if turn == 0 else (turn * -heading[1], turn * heading[0])
            if _is_edge(mask, corner, step):
                heading = step
                break
        corner = corner[0] + heading[0], corner[1] + heading[1]
        if corner == start:
            return np.array(found, dtype=np.float64) - 0.5


def _is_edge(mask: NDArray[np.bool_], corner: tuple[int, int], step: tuple[int, int]) -> bool:
    """Whether the step from a corner has a cell of the region on its left and none on its right."""
    (i, j), (di, dj) = corner, step
    left = i + (di - dj - 1) // 2, j + (dj + di - 1) // 2
    right = i + (di + dj - 1) // 2, j + (dj - di - 1) // 2
    return bool(mask[left]) and not bool(mask[right])


def _simplified(corners: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Fewer corners, none of the others farther than ``tolerance`` from the border (Ramer, Douglas and Peucker)."""
    far = int(np.hypot(*(corners - corners[0]).T).argmax())
    kept = np.zeros(len(corners) + 1, dtype=np.bool_)
    kept[[0, far, -1]] = True
    closed = np.concatenate([corners, corners[:1]])
    waiting = [(0, far), (far, len(corners))]
    while waiting:
        a, b = waiting.pop()
        if b - a < 2:
            continue
        line, points = closed[b] - closed[a], closed[a + 1 : b] - closed[a]
        off = np.abs(line[0] * points[:, 1] - line[1] * points[:, 0]) / max(float(np.hypot(*line)), 1e-9)
        k = int(off.argmax())
        if off[k] > tolerance:
            kept[a + 1 + k] = True
            waiting += [(a, a + 1 + k), (a + 1 + k, b)]
    simple: NDArray[np.float64] = closed[:-1][kept[:-1]]
    return simple
