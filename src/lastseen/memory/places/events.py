"""What happened to the spatial memory in a step, as the event log writes it; see docs/interface-contract.md."""

from __future__ import annotations

from typing import Any, Literal

EventName = Literal[
    "anchor_created",
    "anchor_reached",
    "place_created",
    "place_entered",
    "scene_analyzed",
    "scene_missed",
    "stuck",
    "ababa",
    "no_progress",
]

SpatialEvent = dict[str, Any]
"""A flat JSON object with at least ``event`` and ``step_id``."""


def event(name: EventName, step_id: int, **facts: object) -> SpatialEvent:
    """An event record; facts keep the order they are given in."""
    return {"event": name, "step_id": step_id, **facts}
