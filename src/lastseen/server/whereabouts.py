"""The places and anchors of a memory as the outside reads them: ``/places``, the live page and agents alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from lastseen.memory.memory import Memory


def whereabouts(memory: Memory) -> dict[str, Any]:
    """Every place and anchor; the objects that stand there are left to the caller."""
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


def _mean(points: list[list[float]] | None) -> list[float] | None:
    if not points:
        return None
    return [round(float(value), 4) for value in np.mean(points, axis=0)]
