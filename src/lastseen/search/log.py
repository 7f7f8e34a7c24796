"""The log of a search: a header, one line a step, one line an event; equal runs give equal bytes.

The header holds every setting. A step holds what the spatial memory was told, so that a log is enough to build the
places and anchors of the walk again, and what the loop believed, retrieved and decided. What a clock measured goes to
timing.jsonl, never here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

from lastseen import schemas
from lastseen.belief import BeliefState, Candidate
from lastseen.closing import Closes
from lastseen.config import Settings, describe
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.places.tracker import Step
from lastseen.search.planning.decision import Decision, PlannerCall
from lastseen.search.planning.node_graph import Verdict
from lastseen.search.planning.prompt import clean
from lastseen.search.world import Moved, Sight


class JsonLines(Closes):
    """Writes records to a file as they come; without a path it writes nothing.

    ``append`` goes on after what the file holds; a new file is begun otherwise.
    """

    def __init__(self, path: str | PathLike[str] | None = None, *, append: bool = False) -> None:
        self._file: TextIO | None = None
        if path is not None:
            try:
                self._file = Path(path).open("a" if append else "w", encoding="utf-8")  # noqa: SIM115 - closed by close()
            except OSError as error:
                raise InvalidValue(
                    "log file", str(path), f"cannot be written ({error.strerror})", remedy="check the path"
                ) from error

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one line."""
        if self._file is not None:
            # ascii, so that text which is no valid Unicode (a broken label) can be written at all
            self._file.write(json.dumps(record, sort_keys=True, allow_nan=False) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None


VERSION = 2


class RunLog(JsonLines):
    """Writes records as they come and keeps them; without a path it only keeps them."""

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        super().__init__(path)
        self.records: list[dict[str, Any]] = []

    def header(
        self,
        *,
        goal: str,
        seed: int,
        settings: Settings,
        backend: str | None = None,
        scene_backend: str | None = None,
    ) -> None:
        """The first line: what is looked for, by whom, and under which settings."""
        self._write(
            {
                "type": "header",
                "version": VERSION,
                "goal": goal,
                "seed": seed,
                "backend": backend,
                "scene_backend": scene_backend,
                "settings": {row.name: row.value for row in describe(settings)},
            }
        )

    def step(self, record: Mapping[str, Any]) -> None:
        """One step: what led to it and was seen, what was believed and decided; see docs/interface-contract.md."""
        self._write({"type": "step", **record})
        if record.get("scene_analyzed") and record.get("scene") is None:
            self.events([{"event": "scene_unknown", "step_id": record["step_id"]}])

    def events(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Events as the spatial memory and the planner report them."""
        for event in events:
            self._write({"type": "event", **event})

    def _write(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        self.append(record)


@dataclass(slots=True)
class Run:
    """A log that was read; ``torn`` tells that the last line was cut off, as a killed process leaves it."""

    header: dict[str, Any]
    steps: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    torn: bool = False


def read_log(path: str | Path) -> Run:
    """Read and check a log; a wrong line is named by its number."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue("log file", str(path), f"cannot be read ({error})", remedy="check the path") from error
    lines = text.split("\n")
    torn = lines.pop() != ""
    records = [_record(path, number, line) for number, line in enumerate(lines, start=1)]
    if not records or records[0]["type"] != "header":
        raise InvalidValue("log file", str(path), "does not start with a header", remedy="give a run's log")
    run = Run(records[0], torn=torn)
    for record in records[1:]:
        (run.events if record["type"] == "event" else run.steps).append(record)
    return run


def _record(path: str | Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InvalidValue(
            "log file", f"{path}:{number}", f"is not JSON ({error})", remedy="give a run's log"
        ) from error
    try:
        schemas.validate("run_log", record)
    except InvalidValue as error:
        raise InvalidValue(
            "log file", f"{path}:{number}", f"breaks the schema of run logs ({error})", remedy="give a run's log"
        ) from error
    return record


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
