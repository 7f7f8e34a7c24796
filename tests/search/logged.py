"""Lines of a log for walks without a robot: what the loop would have written of a spatial memory's step."""

from __future__ import annotations

from typing import Any

from lastseen.action import Action
from lastseen.belief import new_belief
from lastseen.config import Settings, describe, settings_from_mapping
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import Pose2D
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


def settings_of(run: Run) -> Settings:
    """The settings the run was made with; a name that is no setting any more is a constant of this version."""
    tree: dict[str, Any] = {}
    known = {row.name for row in describe(Settings())}
    for name, value in run.header["settings"].items():
        if name not in known:
            continue
        *sections, leaf = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[leaf] = value
    return settings_from_mapping(tree)


def replay(run: Run) -> SpatialMemory:
    """Build the places and anchors of a run again from its log alone."""
    memory = SpatialMemory(settings_of(run))
    for step in run.steps:
        world_pose = None if step["world_pose"] is None else Pose2D(*step["world_pose"])
        if step["action"] is not None:
            memory.step(
                Action(step["action"]),
                collided=step["collided"],
                branch=step["branch"],
                panorama=step["panorama"],
                world_pose=world_pose,
            )
        memory.saw(step["seen"])
        if step["scene_analyzed"]:
            scene = step["scene"] or {"scene_type": None, "objects": [], "description": ""}
            memory.scene_analyzed(scene["scene_type"], scene["objects"], scene["description"], world_pose=world_pose)
    return memory
