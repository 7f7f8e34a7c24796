"""Place lookup: which place a point lies in, which is that of the nearest anchor whose world pose is known.

A viewer asks for thousands of points at once, so the anchors are kept as a tree until the memory changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lastseen.memory.places.graph import PlaceGraph


class PlaceLookup:
    """The anchors of a graph as they are now; ``reach`` is how far from an anchor its place extends, in metres."""

    def __init__(self, graph: PlaceGraph, *, reach: float) -> None:
        known = [(anchor.world_pose, anchor.place_id) for anchor in graph.anchors.values()]
        found = [(pose.x, pose.y, place_id) for pose, place_id in known if pose is not None]
        self._reach = reach
        self._places = [place_id for _, _, place_id in found]
        self._tree = cKDTree(np.array([(x, y) for x, y, _ in found])) if found else None

    def places_of(self, points: Sequence[Any] | NDArray[np.float64]) -> list[int | None]:
        """The place of each point (x, y, z); None where no anchor is within reach."""
        if self._tree is None or not len(points):
            return [None] * len(points)
        xy = np.asarray(points, dtype=np.float64)[:, :2]
        # beyond the bound the tree answers with a number past the last anchor
        _, nearest = self._tree.query(xy, distance_upper_bound=self._reach)
        return [self._places[at] if at < len(self._places) else None for at in nearest.tolist()]
