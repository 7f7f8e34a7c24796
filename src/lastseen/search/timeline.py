"""A run's log as people read it: what happened when, with the steps in between folded into one line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from lastseen.search.log import Run
from lastseen.search.planning.directions import say_angle

_SHOWN_QUIETLY = {"anchor_created", "anchor_reached"}


def timeline(run: Run, *, anchors: bool = False) -> Iterator[str]:
    """The lines of the timeline; ``anchors`` shows every anchor too, which are many."""
    header = run.header
    asked = header["backend"] or "no planner"
    yield f"looking for {header['goal']!r}, seed {header['seed']}, planner {asked}, {len(run.steps)} steps"
    hidden = set() if anchors else _SHOWN_QUIETLY
    events = {
        step_id: [event for event in group if event["event"] not in hidden]
        for step_id, group in itertools.groupby(run.events, key=lambda event: event["step_id"])
    }
    walked: list[dict[str, Any]] = []
    for step in run.steps:
        walked.append(step)
        noted = events.get(step["step_id"], [])
        if noted or step["planner_called"]:
            yield from _folded(walked)
            walked = []
        if step["planner_called"] and step["planner_output"] is not None:
            yield _line(step["step_id"], f"PLAN  {_plan(step['planner_output'])}")
        for event in noted:
            yield _line(step["step_id"], _event(event))
    yield from _folded(walked)
    if run.torn:
        yield "the log ends in the middle of a line: the run was killed"


def _folded(steps: list[dict[str, Any]]) -> Iterator[str]:
    if not steps or (len(steps) == 1 and steps[0]["action"] is None):
        return
    words = [
        f"{action} x{count}" if count > 1 else action
        for action, count in (
            (action, len(list(group)))
            for action, group in itertools.groupby(step["action"] for step in steps if step["action"])
        )
    ]
    shown = ", ".join(words) if len(words) <= 6 else f"{', '.join(words[:5])}, … {words[-1]}"
    bumps = sum(step["collided"] for step in steps)
    last = steps[-1]
    x, y, yaw = last["pose"]
    spot = f"at ({x:.2f}, {y:.2f}) facing {say_angle(math.degrees(yaw))}"
    where = f"place {last['current_place_id']}, anchor {last['current_anchor_id']}"
    bumped = f", {bumps} bumps" if bumps else ""
    yield _line(last["step_id"], f"      {shown}{bumped}; {spot}, {where}")


def _plan(plan: dict[str, Any]) -> str:
    context = plan["discovered_context"]
    seen = "goal in view, " if plan["goal_flag"] else ""
    return f"{seen}{say_angle(plan['angle'])} toward {context['goal_scene_type']!r}: {context['why']}"


def _event(event: dict[str, Any]) -> str:
    name = event["event"].upper().replace("_", " ")
    facts = {key: value for key, value in event.items() if key not in ("type", "event", "step_id")}
    return f"{name}  {', '.join(f'{key} {_value(value)}' for key, value in facts.items())}".rstrip()


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return "(" + ", ".join(_value(item) for item in value) + ")"
    return str(value)


def _line(step_id: int, text: str) -> str:
    return f"{step_id:5d}  {text}"
