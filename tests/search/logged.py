"""Lines of a log for walks without a robot: what the loop would have written of a spatial memory's step."""

from __future__ import annotations

from typing import Any

from lastseen.action import Action
from lastseen.belief import new_belief
from lastseen.memory.places import SpatialMemory
from lastseen.search.log import Run, RunLog, planner_meta, retrieval_meta


def line(memory: SpatialMemory, action: Action | None, **fields: Any) -> dict[str, Any]:
    """The record of one step, with fields of it replaced."""
    pose, belief = memory.pose, new_belief("red mug")
    return {
        "step_id": memory.step_id,
        "action": None if action is None else action.value,
        "collided": False,
        "branch": False,
        "panorama": False,
        "pose": [pose.x, pose.y, pose.yaw],
        "world_pose": None,
        "seen": [],
        "current_place_id": memory.current_place_id,
        "current_anchor_id": memory.current_anchor_id,
        "scene_analyzed": False,
        "scene": None,
        "planner_called": False,
        "planner_output": None,
        "dc_queue": [],
        "stamp": float(memory.step_id),
        "sight": {"visible": False, "distance": None},
        "belief_before": belief,
        "belief": belief,
        "decision": None,
        "next": "forward",
        "move_failed": None,
        "meta": {**retrieval_meta([], ran=True, threshold=0.3), **planner_meta(None, None)},
        **fields,
    }


def run_of(log: RunLog) -> Run:
    """A log that was kept in memory, as reading its file would give it."""
    header, *records = log.records
    return Run(
        header,
        [record for record in records if record["type"] == "step"],
        [record for record in records if record["type"] == "event"],
    )
