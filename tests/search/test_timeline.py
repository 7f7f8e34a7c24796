from __future__ import annotations

from typing import Any

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.memory.places import SpatialMemory
from lastseen.search.log import Run, RunLog
from lastseen.search.planning.plan import FALLBACK_PLAN
from lastseen.search.timeline import timeline
from tests.search.logged import line, run_of

F, L = Action.FORWARD, Action.TURN_LEFT


def walked(*actions: Action) -> Run:
    log, memory = RunLog(), SpatialMemory()
    log.header(goal="red mug", seed=3, settings=Settings(), backend="offline")
    events = memory.scene_analyzed("kitchen")
    output: dict[str, Any] = FALLBACK_PLAN.to_dict()
    scene = {"scene_type": "kitchen", "objects": [], "description": ""}
    log.step(line(memory, None, scene_analyzed=True, scene=scene, planner_called=True, planner_output=output))
    log.events(events)
    for action in actions:
        events = memory.step(action)
        log.step(line(memory, action, collided=action is F))
        log.events(events)
    return run_of(log)


def test_a_timeline_tells_plans_events_and_folds_the_steps_between() -> None:
    lines = list(timeline(walked(*[L] * 10, F, F)))
    assert lines == [
        "looking for 'red mug', seed 3, planner offline, 13 steps",
        "    0  PLAN  0 deg toward 'corridor': fallback",
        "    0  PLACE CREATED  place_id 0, place_type kitchen, from_place_id None",
        "   10        turn_left x10; at (0.00, 0.00) facing -60 deg, place 0, anchor 0",
        "   10  STUCK  place_id 0",
        "   12        forward x2, 2 bumps; at (0.25, -0.43) facing -60 deg, place 0, anchor 1",
    ]


def test_anchors_are_shown_on_demand() -> None:
    lines = list(timeline(walked(F, F), anchors=True))
    assert [line for line in lines if "ANCHOR CREATED" in line][-1].endswith("reasons (distance)")


def test_a_killed_run_is_told() -> None:
    run = walked(F)
    run.torn = True
    assert list(timeline(run))[-1].endswith("the run was killed")
