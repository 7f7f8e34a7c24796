"""Which place a thing stands in: that of the nearest anchor whose world pose is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lastseen.memory.facade import Memory
from lastseen.memory.places import SpatialMemory

Places = dict[str, Any]


class Whereabouts:
    """Anchors of the memory of now as arrays, renewed when the spatial memory has changed."""

    def __init__(self, current: Callable[[], Memory], *, reach: float) -> None:
        self.current = current
        self.reach = reach
        self._seen: tuple[SpatialMemory, int] | None = None
        self._known: tuple[cKDTree | None, list[int]] = (None, [])

    def places_of(self, points: Sequence[Any] | NDArray[np.float64]) -> list[int | None]:
        """The place of each point (x, y, z); None where no anchor is near."""
        anchors, places = self._anchors()
        if anchors is None or not len(points):
            return [None] * len(points)
        xy = np.asarray(points, dtype=np.float64)[:, :2]
        # beyond the bound the tree answers with a number past the last anchor
        _, nearest = anchors.query(xy, distance_upper_bound=self.reach)
        return [places[at] if at < len(places) else None for at in nearest.tolist()]

    def all(self) -> Places:
        """Every place and anchor, as ``/places`` answers; ``object_ids`` are left to the caller."""
        memory = self.current()
        spatial = memory.spatial
        with memory.browse.lock:
            graph = spatial.graph
            anchors = [graph.anchors[key].to_dict() for key in sorted(graph.anchors)]
            places = [graph.places[key].to_dict() for key in sorted(graph.places)]
            current = {"current_place": spatial.current_place_id, "current_anchor": spatial.current_anchor_id}
        centers: dict[int, list[list[float]]] = {}
        for anchor in anchors:
            if anchor["world_pose"] is not None:
                centers.setdefault(anchor["place_id"], []).append(anchor["world_pose"][:2])
        return {
            **current,
            "places": [
                {
                    "id": place["place_id"],
                    "type": place["place_type"],
                    "description": place["semantic_description"],
                    "objects": place["objects_list"],
                    "anchors": place["anchors"],
                    "episode": place["episode"],
                    "center": _mean(centers.get(place["place_id"])),
                }
                for place in places
            ],
            "anchors": [
                {
                    "id": anchor["anchor_id"],
                    "place_id": anchor["place_id"],
                    "pose": anchor["pose"],
                    "world_pose": anchor["world_pose"],
                    "neighbors": anchor["neighbors"],
                    "step": anchor["step"],
                    "episode": anchor["episode"],
                    "labels": anchor["labels"],
                }
                for anchor in anchors
            ],
        }

    def _anchors(self) -> tuple[cKDTree | None, list[int]]:
        memory = self.current()
        spatial = memory.spatial
        if self._seen != (spatial, spatial.revision):
            with memory.browse.lock:
                found = [anchor for anchor in spatial.graph.anchors.values() if anchor.world_pose]
                points = [(anchor.world_pose.x, anchor.world_pose.y) for anchor in found if anchor.world_pose]
                tree = cKDTree(np.array(points)) if points else None
                self._known = tree, [anchor.place_id for anchor in found]
                self._seen = spatial, spatial.revision
        return self._known


def _mean(points: list[list[float]] | None) -> list[float] | None:
    if not points:
        return None
    return [round(float(value), 4) for value in np.mean(points, axis=0)]
