"""Place lookup: which place a point lies in, which is that of the nearest anchor whose world pose is known.

A viewer asks for thousands of points at once, so the anchors are kept as one array until the memory changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.places.graph import PlaceGraph

_BLOCK = 4096
"""Points that are compared with all anchors at once: some ten megabytes in a home of a few hundred anchors."""


class PlaceLookup:
    """The anchors of a graph as they are now; ``reach`` is how far from an anchor its place extends, in metres."""

    def __init__(self, graph: PlaceGraph, *, reach: float) -> None:
        known = [(anchor.world_pose, anchor.place_id) for anchor in graph.anchors.values()]
        found = [(pose.x, pose.y, place_id) for pose, place_id in known if pose is not None]
        self._reach = reach
        self._places = [place_id for _, _, place_id in found]
        self._spots = np.array([(x, y) for x, y, _ in found]).reshape(-1, 2)

    def places_of(self, points: Sequence[Any] | NDArray[np.float64]) -> list[int | None]:
        """The place of each point (x, y, z); None where no anchor is within reach."""
        if not self._places or not len(points):
            return [None] * len(points)
        xy = np.asarray(points, dtype=np.float64)[:, :2]
        found: list[int | None] = []
        for start in range(0, len(xy), _BLOCK):
            some = xy[start : start + _BLOCK, None] - self._spots[None]
            squared = (some**2).sum(axis=2)
            nearest = squared.argmin(axis=1)
            near = squared[np.arange(len(nearest)), nearest] <= self._reach**2
            found += [
                self._places[at] if ok else None for at, ok in zip(nearest.tolist(), near.tolist(), strict=True)
            ]
        return found
