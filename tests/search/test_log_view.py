"""A run's log for people: the timeline and the map."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.memory.memory import Memory
from lastseen.memory.places import SpatialMemory
from lastseen.memory.plan_image import WALL
from lastseen.memory.rooms import FloorPlan, Wall
from lastseen.search.log import Run, RunLog, read_log
from lastseen.search.log_view import KnownHome, draw_map, known_home, place_colour, timeline
from lastseen.search.planning.plan import FALLBACK_PLAN
from tests.memory.objects.scenes import Room
from tests.search.logged import line, run_of

F, L = Action.FORWARD, Action.TURN_LEFT


def walked(*actions: Action) -> Run:
    log, memory = RunLog(), SpatialMemory()
    log.header(goal="red mug", seed=3, settings=Settings(), backend="offline")
    events = memory.scene_analyzed("kitchen")
    output: dict[str, Any] = asdict(FALLBACK_PLAN)
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
        "looking for 'red mug', seed 3, planner offline, scene analyzer none, 13 steps",
        "    0  PLAN  0 deg toward 'corridor': fallback",
        "    0  PLACE CREATED  place 0, place type kitchen",
        "   10        turn_left x10; at (0.00, 0.00) facing -60 deg, place 0, anchor 0",
        "   10  STUCK  place 0",
        "   12        forward x2, 2 bumps; at (0.25, -0.43) facing -60 deg, place 0, anchor 1",
    ]


def test_anchors_are_shown_on_demand() -> None:
    lines = list(timeline(walked(F, F), anchors=True))
    assert [line for line in lines if "ANCHOR CREATED" in line][-1].endswith("reasons (distance)")


def test_a_killed_run_is_told() -> None:
    run = walked(F)
    run.torn = True
    assert list(timeline(run))[-1].endswith("the run was killed")


F, L = Action.FORWARD, Action.TURN_LEFT


def walk(path: Path, *actions: Action) -> None:
    memory = SpatialMemory()
    with RunLog(path) as log:
        log.header(goal="red mug", seed=0, settings=Settings())
        events = memory.scene_analyzed("kitchen")
        log.step(line(memory, None, scene_analyzed=True, planner_called=True, planner_output=asdict(FALLBACK_PLAN)))
        log.events(events)
        for index, action in enumerate(actions):
            events = memory.step(action)
            if memory.needs_scene_analysis:
                events += memory.scene_analyzed("bedroom")
            log.step(line(memory, action, planner_called=index == 30))
            log.events(events)


def has_colour(image: Image.Image, colour: tuple[int, int, int]) -> bool:
    """Whether the map shows a colour, give or take what smoothing does to thin lines."""
    pixels = np.asarray(image.crop((0, 0, 900, 900))).astype(int)
    return bool((np.abs(pixels - colour).max(axis=2) <= 12).any())


def test_path_and_anchors_are_in_the_colours_of_their_places(tmp_path: Path) -> None:
    walk(tmp_path / "run.jsonl", *[F] * 40)
    image = draw_map(read_log(tmp_path / "run.jsonl"))
    assert image.size == (1200, 900)
    assert has_colour(image, place_colour(0))
    assert has_colour(image, place_colour(1))
    assert not has_colour(image, place_colour(2))


def test_the_legend_names_a_place_of_an_earlier_run_that_was_entered(tmp_path: Path) -> None:
    memory = SpatialMemory()
    events = [{**one, "event": "place_entered"} for one in memory.scene_analyzed("kitchen")[:1]]
    log = RunLog()
    log.header(goal="red mug", seed=0, settings=Settings())
    log.step(line(memory, None))
    log.events(events)
    legend = draw_map(run_of(log)).crop((900, 120, 1200, 900))
    assert (np.asarray(legend) == place_colour(0)).all(axis=2).any()


def test_only_what_fits_the_goal_is_marked_as_it() -> None:
    room = Room()
    room.put("coffee maker", (2.0, -0.6, 0.8))
    room.put("kettle", (2.0, 0.9, 0.8))
    with Memory.open(settings=Settings(), wall_clock=None) as memory:
        for number in range(20):
            side = 1.2 * ((number % 5) - 2) / 2
            memory.observe(*room.see(number, eye=(0.0, side, 1.4), target=(2.0, 0.1, 0.8), stamp=0.5 * number))
        assert len(memory.find("coffee maker").hits) > 1
        assert len(known_home(memory, "coffee maker").goals) == 1


def test_planner_calls_and_patterns_are_marked(tmp_path: Path) -> None:
    walk(tmp_path / "run.jsonl", *[L] * 12, *[F] * 3)
    image = draw_map(read_log(tmp_path / "run.jsonl"))
    assert has_colour(image, (20, 60, 200))
    assert has_colour(image, (200, 30, 30))


def test_the_first_places_have_colours_of_their_own() -> None:
    assert len({place_colour(place_id) for place_id in range(40)}) == 40


def test_a_run_that_never_moved_still_has_a_map(tmp_path: Path) -> None:
    walk(tmp_path / "run.jsonl")
    assert draw_map(read_log(tmp_path / "run.jsonl")).size == (1200, 900)


def test_walls_are_drawn_in_the_frame_of_the_robots_poses() -> None:
    wall = Wall((2.0, -0.5), (2.0, 0.5), 0.15)
    home = KnownHome([FloorPlan(0, (wall,), ())], goals=[(1.5, 0.0)])
    run = walked(F, F)
    for step in run.steps:
        step["world_pose"] = [1.0, 0.0, 0.0]
    plain, drawn = (np.asarray(draw_map(run, **given)) for given in ({}, {"home": home}))
    assert not (plain == WALL).all(axis=2).any()
    rows, columns = np.nonzero((drawn == WALL).all(axis=2))
    # the robot stands in the upper left quarter of a map that spans from its pose to the wall ahead
    assert columns.min() > drawn.shape[1] // 4
    assert len(rows)
