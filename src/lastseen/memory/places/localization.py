"""Which other anchors may be the same spot: near in the dead-reckoned frame and of the same kind.

A hint for the planner and nothing more: no anchor is merged and no edge is added on its account (docs/places.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.moving import Localization
from lastseen.memory.places.graph import PlaceGraph

_DEFAULTS = Localization()


@dataclass(frozen=True, slots=True)
class Nearby:
    """An anchor that may be where the robot is, and how far off dead reckoning puts it."""

    anchor_id: int
    place_id: int
    distance: float


def nearby_anchors(graph: PlaceGraph, anchor_id: int, *, radius: float = _DEFAULTS.radius) -> list[Nearby]:
    """All other anchors of the same episode and normalised scene type within ``radius`` metres, nearest first.

    Episodes start at their own (0, 0, 0), so distances across them would mean nothing.
    """
    here = graph.anchor(anchor_id)
    scene_type = graph.scene_type_of(anchor_id)
    found = [
        Nearby(other.anchor_id, other.place_id, here.pose.distance_to(other.pose))
        for other in graph.anchors.values()
        if other.anchor_id != anchor_id
        and other.episode == here.episode
        and here.pose.distance_to(other.pose) <= radius
        and graph.scene_type_of(other.anchor_id) == scene_type
    ]
    return sorted(found, key=lambda nearby: (nearby.distance, nearby.anchor_id))
