"""Bars and tubes belong to what they are near: the frame of an armchair, the legs of a stool, the pole of a lamp.

In the image they cross what they hold and hang in front of it, so they meet it at a step of depth or at one end only.
In the world they end at it, and by itself no bar stands in a room.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lastseen.perception.pieces import THIN, shapes_of

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]

BAR_WIDTH = 0.06
"""Metres that a bar is wide at most: the legs of tables have 4 to 6 cm, bottles and cups more."""
BAR_LENGTH = 0.25
"""Metres from which something so narrow is a bar: pens, forks and remote controls are shorter."""
REACH = 0.04
"""Metres between a bar and what it holds: noise of depth, and the pixels at an edge that are lost."""
ENDS = 3
"""Sampled points of a bar within reach of the other: fewer are a flying pixel."""


def with_bars(labels: Labels, groups: Labels, world: Floats, areas: Floats, *, pieces: int) -> Labels:
    """Groups (by label) in which each bar has the group of the largest piece that it reaches.

    ``areas`` are the square metres across the line of sight behind each pixel; labels up to ``pieces`` are pieces,
    those beyond planes, to which nothing is joined here.
    """
    thin = groups[labels[::THIN, ::THIN]]
    count = len(groups)
    sizes = np.bincount(thin.ravel(), minlength=count)
    metres = THIN * THIN * np.bincount(thin.ravel(), weights=areas[::THIN, ::THIN].ravel(), minlength=count)
    length = shapes_of(labels, groups, world).length
    narrow = _narrow(length, metres.astype(np.float64)) & (sizes > 0)
    narrow[0], narrow[pieces + 1 :] = False, False
    bars = np.flatnonzero(narrow)
    if not len(bars):
        return groups
    here = (thin > 0) & (thin <= pieces)
    points, owners = world[::THIN, ::THIN][here], thin[here]
    joined = groups.copy()
    for bar in sorted(bars.tolist(), key=lambda one: (sizes[one], one)):
        mine = joined[owners] == joined[bar]
        if mine.all():
            continue
        gaps, nearest = cKDTree(points[~mine]).query(points[mine], distance_upper_bound=REACH)
        met = np.bincount(joined[owners[~mine][nearest[np.isfinite(gaps)]]], minlength=count)
        within = np.flatnonzero(met >= ENDS)
        if len(within):
            whole = max(within.tolist(), key=lambda one: (sizes[one], -one))
            joined[joined == joined[bar]] = whole
    return joined


def bars_of(labels: Labels, world: Floats, areas: Floats) -> NDArray[np.bool_]:
    """Which labels are bars by themselves."""
    count = int(labels.max()) + 1
    thin = labels[::THIN, ::THIN]
    metres = THIN * THIN * np.bincount(thin.ravel(), weights=areas[::THIN, ::THIN].ravel(), minlength=count)
    length = shapes_of(labels, np.arange(count, dtype=np.int32), world).length
    return _narrow(length, metres.astype(np.float64))


def _narrow(length: NDArray[np.float64], metres: NDArray[np.float64]) -> NDArray[np.bool_]:
    narrow: NDArray[np.bool_] = (length >= BAR_LENGTH) & (metres <= BAR_WIDTH * length)
    return narrow
