"""What one step leaves in the log: the belief before and after, the decision, and how it came about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lastseen.belief import BeliefState, Candidate
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.places.tracker import Step
from lastseen.search.planning.constraints import Verdict
from lastseen.search.planning.decision import Decision, PlannerCall
from lastseen.search.planning.prompt_text import clean
from lastseen.search.world import Moved, Sight

LOGGED_CANDIDATES = 5
"""A log line holds no more, however many the search keeps (docs/interface-contract.md)."""


def retrieval_meta(candidates: list[Candidate], *, ran: bool, threshold: float) -> dict[str, Any]:
    """What retrieval found: ids and scores only, never the nodes themselves."""
    return {
        "retrieval_ran": ran,
        "retrieval_topk": [
            {"node_id": found["node_id"], "score": found["score"]} for found in candidates[:LOGGED_CANDIDATES]
        ],
        "retrieval_best_score": candidates[0]["score"] if candidates else None,
        "retrieval_threshold_pass": bool(candidates) and candidates[0]["score"] >= threshold,
    }


def planner_meta(call: PlannerCall | None, verdict: Verdict | None) -> dict[str, Any]:
    """How the decision came about; all empty in a step without one."""
    return {
        "planner_called": call is not None and call.asked,
        "backend": None if call is None else call.backend,
        "retries": 0 if call is None else call.retries,
        "errors": [] if call is None else list(call.errors),
        "fallback": call is not None and call.fallback,
        "output": None if call is None or call.output is None else dict(call.output),
        "rejected": None if verdict is None else verdict.reason,
        "constraints_unchecked": [] if verdict is None else list(verdict.unchecked),
    }


def step_record(
    seen: Mapping[str, Any],
    *,
    sight: Sight,
    before: BeliefState,
    belief: BeliefState,
    decision: Decision | None,
    call: PlannerCall | None,
    dc_queue: Sequence[Mapping[str, Any]],
    moved: Moved,
    meta: dict[str, Any],
) -> dict[str, Any]:
    """One line of the log, holding copies of everything that will still change; ``seen`` is the world's own part."""
    asked = call is not None and call.asked
    return {
        **seen,
        "planner_called": asked,
        "planner_output": None if call is None or call.hypothesis or not asked else call.output,
        "dc_queue": [dict(record) for record in dc_queue],
        "stamp": sight.stamp,
        "sight": {"visible": sight.visible, "distance": sight.distance},
        "belief_before": before,
        "belief": json.loads(json.dumps(belief)),
        "decision": None
        if decision is None
        else {**asdict(decision), "segments": [list(part) for part in decision.segments]},
        "next": moved.action,
        "move_failed": moved.failed,
        "meta": meta,
    }


def view_record(memory: Memory, frame: Frame, step: Step, detections: Sequence[Detection]) -> dict[str, Any]:
    """The place-anchor part of a step's log record; see docs/interface-contract.md."""
    spatial, world = memory.spatial, frame.floor_pose
    scenes = [event for event in memory.place_events if event["event"] == "scene_analyzed"]
    scene = scenes[-1] if scenes and scenes[-1]["scene_type"] is not None else None
    return {
        "step_id": spatial.step_id,
        "action": None if step.action is None else step.action.value,
        "collided": step.collided,
        "branch": spatial.at_branch,
        "panorama": step.panorama,
        "pose": [spatial.pose.x, spatial.pose.y, spatial.pose.yaw],
        "world_pose": [world.x, world.y, world.yaw],
        "seen": sorted({detection.label for detection in detections if detection.label is not None}),
        "current_place_id": spatial.current_place_id,
        "current_anchor_id": spatial.current_anchor_id,
        "scene_analyzed": bool(scenes),
        "scene": None if scene is None else {key: scene[key] for key in ("scene_type", "objects", "description")},
    }


def one_line(record: Mapping[str, Any]) -> str:
    """A step for people to read."""
    belief = record["belief"]
    aim = record["decision"] or {"why": "look again", "node_id": None}
    target = "" if aim["node_id"] is None else f" -> node {aim['node_id']}"
    return (
        f"step {record['step_id']}: at node {belief['current_node_id']}, {belief['target_status']}, "
        f"{belief['next_action']}{target} ({clean(aim['why'], limit=100)})"
    )
