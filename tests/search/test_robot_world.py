"""The world of a robot that moves, in a room of boxes seen by exact ray casting."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import lastseen.runtime
import lastseen.search
from lastseen.action import Action
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.pose2d import Pose2D
from lastseen.protocols import StepResult
from lastseen.search.log import RunLog, read_log
from lastseen.search.loop import SearchLoop, SearchResult
from lastseen.search.planning.decision import Decision
from lastseen.search.robot_world import RobotWorld
from lastseen.search.search import Search
from lastseen.vlm.protocol import EncodedImage
from tests.search.logged import replay
from tests.search.policy.box_world import Box, BoxWorld

MUG: Box = ((1.6, -0.4, 0.0), (2.0, 0.4, 1.0))
BEHIND: Box = ((-2.0, -0.4, 0.0), (-1.6, 0.4, 1.0))


class BoxEnvironment:
    """A room of boxes as an ``Environment``; stamps and ids count up."""

    def __init__(self, boxes: Sequence[Box] = ()) -> None:
        self.room = BoxWorld(boxes=list(boxes))
        self.actions: list[Action] = []

    def reset(self) -> Frame:
        self.room.pose = Pose2D(0.0, 0.0, 0.0)
        return self._frame()

    def step(self, action: Action) -> StepResult:
        self.actions.append(action)
        collided = self.room.step(action)
        return StepResult(self._frame(), collided)

    def _frame(self) -> Frame:
        count = len(self.actions)
        return dataclasses.replace(self.room.look(), id=count, stamp=0.5 * count)


class BoxDetector:
    """Sees the target box perfectly, or never, or as often as told."""

    def __init__(self, environment: BoxEnvironment, *, blind: bool = False, most: int | None = None) -> None:
        self.environment, self.blind, self.left = environment, blind, most

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        del frame
        if self.blind or self.left == 0:
            return []
        found = self.environment.room.detect(targets[0])
        if found and self.left is not None:
            self.left -= 1
        return found


class Scripted:
    """Plans the angles it was given, over and over, and keeps the prompts."""

    name = "scripted"

    def __init__(self, *angles: float, goal_flag: bool = False) -> None:
        self.angles, self.goal_flag = angles, goal_flag
        self.prompts: list[str] = []

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        del images, schema
        self.prompts.append(prompt)
        angle = self.angles[(len(self.prompts) - 1) % len(self.angles)]
        context = {"goal_scene_type": "kitchen", "why": "told to"}
        return json.dumps({"goal_flag": self.goal_flag, "angle": angle, "discovered_context": context})


@dataclasses.dataclass
class Setup:
    environment: BoxEnvironment
    backend: Scripted
    search: Search
    log: RunLog

    @property
    def world(self) -> RobotWorld:
        return self.search.world

    @property
    def loop(self) -> SearchLoop:
        return self.search.loop

    def run(self, steps: int) -> SearchResult:
        while self.search.result is None and self.loop.steps < steps:
            self.search.step()
        return self.search.result or self.loop.run(steps)


def setup(
    *angles: float,
    boxes: Sequence[Box] = (),
    goal_flag: bool = False,
    blind: bool = False,
    most: int | None = None,
    log_file: Path | None = None,
    settings: Settings | None = None,
    memory: Memory | None = None,
    use_context: bool = True,
) -> Setup:
    environment = BoxEnvironment(boxes)
    backend, log = Scripted(*(angles or (0.0,)), goal_flag=goal_flag), RunLog(log_file)
    search = Search(
        "mug",
        environment,
        memory,
        detector=BoxDetector(environment, blind=blind, most=most),
        planner=backend,
        settings=settings,
        log=log,
        use_context=use_context,
        with_images=False,
    )
    return Setup(environment, backend, search, log)


def test_a_panorama_is_eleven_real_turns_and_the_planner_is_asked_after_them() -> None:
    ready = setup(blind=True)
    ready.run(11)
    assert ready.environment.actions == [Action.TURN_LEFT] * 11
    assert not ready.backend.prompts
    ready.run(12)
    assert len(ready.backend.prompts) == 1


def test_where_memory_knows_the_path_the_robot_sets_out_before_any_turn() -> None:
    mug: Box = ((3.2, -0.3, 0.0), (3.6, 0.3, 1.0))
    memory, room = Memory.open(wall_clock=None), BoxEnvironment([mug])
    for number in range(30):
        # around the start, always facing the mug
        here = Pose2D(1.5 * math.sin(number), 2.0 * math.cos(number), 0.0)
        room.room.pose = Pose2D(here.x, here.y, here.bearing_to(Pose2D(3.4, 0.0, 0.0)))
        frame = dataclasses.replace(room.room.look(), id=number, stamp=0.5 * number)
        memory.observe(frame, detections=room.room.detect("mug"))
    memory.new_session()
    ready = setup(blind=True, boxes=[mug], memory=memory)
    ready.run(2)
    assert ready.environment.actions == [Action.FORWARD] * 2
    assert not ready.backend.prompts


def test_the_turns_to_the_chosen_view_are_steps_too() -> None:
    ready = setup(-60.0, blind=True)
    ready.run(14)
    assert ready.environment.actions[11:13] == [Action.TURN_RIGHT] * 2
    assert ready.environment.actions[13] is Action.FORWARD


def test_angles_are_told_from_where_the_robot_faces_now() -> None:
    """After eleven turns left the first view, straight ahead at the start, lies 30 degrees to the left."""
    ready = setup(boxes=[MUG])
    # the target is seen from the start: keep the loop from approaching it, and look around only
    for _ in range(11):
        ready.world.confirm()
    views = ready.world.look("mug").around.views
    seen = sorted(view.angle for view in views if view.labels)
    assert ready.environment.room.pose.yaw == pytest.approx(math.radians(-30.0))
    assert sum(seen) / len(seen) == pytest.approx(30.0)


def test_a_target_in_view_is_walked_up_to_and_stopped_at() -> None:
    ready = setup(boxes=[MUG])
    result = ready.run(100)
    assert result.status == "found"
    assert not ready.backend.prompts
    assert 1.6 - ready.environment.room.pose.x <= 1.0


def test_a_target_behind_is_found_by_looking_around() -> None:
    result = setup(boxes=[BEHIND]).run(100)
    assert result.status == "found"


def test_a_stop_after_a_walk_is_no_step_of_its_own() -> None:
    ready = setup(0.0, 180.0, blind=True)
    stops = sum(ready.loop.step()["next"] == "stop" for _ in range(60))
    assert len(ready.backend.prompts) >= 2
    assert stops == 0
    assert ready.loop.steps == len(ready.environment.actions)


def test_a_stop_without_a_move_since_the_last_call_costs_one_step() -> None:
    wall: Box = ((0.3, -4.0, 0.0), (0.5, 4.0, 2.0))
    # after eleven turns left, straight ahead at the start lies 30 degrees to the left
    ready = setup(30.0, blind=True, boxes=[wall])
    stops = sum(ready.loop.step()["next"] == "stop" for _ in range(14))
    assert stops == 1
    assert ready.loop.steps == len(ready.environment.actions) + stops


def test_a_rejected_stop_leads_to_a_new_look_around_and_one_planner_call() -> None:
    """The target is claimed and never seen again: no stop is believed, and the search goes on."""
    ready = setup(30.0, boxes=[MUG], goal_flag=True, most=2)
    result = ready.run(120)
    assert result.status == "not_found"
    actions = ready.environment.actions
    assert len(ready.backend.prompts) >= 2
    # between two calls there is a whole look around
    longest = max(len(run) for run in "".join("L" if a is Action.TURN_LEFT else " " for a in actions).split())
    assert longest >= 11


def test_a_target_seen_once_at_arm_s_length_gets_another_look_and_no_endless_wait() -> None:
    ready = setup(0.0, boxes=[((0.5, -0.3, 0.0), (0.9, 0.3, 1.0))])
    result = ready.run(40)
    assert result.status == "found"
    assert result.steps < 10


def test_a_goal_in_view_is_come_at_from_elsewhere_after_bumps_at_one_spot() -> None:
    ready = setup(boxes=[MUG])
    ready.run(3)
    world, there = ready.world, Pose2D(1.8, 0.0, 0.0)
    while not (world.pose.yaw == 0.0 and world.check.streak > 0):
        world.confirm()
    for bumps in (3, 4):
        world._bumped = [world.pose] * bumps
        route = world._begin(Decision(heading=0.0, why="in view", source="panorama", goal_flag=True), None)
        assert bool(route.waypoints) == (bumps == 4)
    assert route.waypoints[-1].distance_to(there) <= 1.1


def test_what_was_seen_is_told_to_the_planner_as_edges_and_views() -> None:
    ready = setup(blind=True)
    ready.run(12)
    assert "VIEWS\nview +180 deg" in ready.backend.prompts[0] or "view +150 deg" in ready.backend.prompts[0]
    assert "NAVIGATION CONTEXT" in ready.backend.prompts[0]


def test_the_log_replays_to_the_same_graph(tmp_path: Path) -> None:
    ready = setup(0.0, 90.0, -60.0, blind=True, log_file=tmp_path / "run.jsonl")
    ready.run(150)
    # as a search does when it ends: the last action led to a view that no step has logged
    ready.loop.log_last_view()
    ready.log.close()
    again = replay(read_log(tmp_path / "run.jsonl"))
    # which frame an anchor was made at is for corrected poses, and no part of a log
    ready.search.spatial.retire_frames()
    assert again.graph.to_dict() == ready.search.spatial.graph.to_dict()


def test_equal_searches_write_equal_logs() -> None:
    first, second = setup(0.0, 90.0, blind=True), setup(0.0, 90.0, blind=True)
    first.run(80)
    second.run(80)
    assert first.log.records == second.log.records


def test_a_decision_for_a_heading_needs_no_path() -> None:
    ready = setup(blind=True)
    moved = ready.world.follow(Decision(heading=math.pi / 2, why="told", source="panorama"), None)
    assert moved.action == "turn_left"


def test_a_known_way_is_followed_round_its_corner_without_another_look_around() -> None:
    ready = setup(blind=True)
    path = ((1.0, 0.0), (1.5, math.pi / 2))
    decision = Decision(heading=0.0, why="told", source="panorama", segments=path)
    moves: list[str] = []
    while not ready.world.look("mug").idle or not moves:
        moves.append(ready.world.follow(decision, None).action)
    # three turns at the corner, and the first of the look around at the end
    assert moves.count("turn_left") == 4
    pose = ready.environment.room.pose
    assert (pose.x, pose.y) == pytest.approx((1.0, 1.5), abs=0.45)


def test_without_a_way_the_robot_walks_as_far_as_it_sees() -> None:
    ready = setup(blind=True)
    for _ in range(10):
        ready.world.follow(Decision(heading=0.0, why="told", source="panorama"), None)
        if ready.world.look("mug").idle:
            break
    assert ready.environment.room.pose.x > 2.0


@pytest.mark.parametrize("use_context", [True, False])
def test_a_planner_without_context_is_given_no_path(use_context: bool) -> None:
    ready = setup(blind=True, use_context=use_context)
    ready.run(11)
    edges = ready.world.look("mug").around.unexplored
    ready.backend.angles = (round(edges[0].angle),)
    ready.loop.step()
    followed = ready.world._route
    assert followed is not None
    assert bool(followed.decision.segments) is use_context


def test_only_the_address_of_a_robot_knows_the_simulator() -> None:
    folders = [Path(str(package.__file__)).parent for package in (lastseen.runtime, lastseen.search)]
    for file in sorted(file for folder in folders for file in folder.rglob("*.py") if file.name != "robot.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("lastseen.sim") for name in names), file.name


def with_pattern_recall(*, recall: bool) -> Settings:
    """Settings under which two steps in one place count as stuck."""
    return dataclasses.replace(
        Settings(),
        planner=dataclasses.replace(Settings().planner, recall_on_pattern=recall),
        patterns=dataclasses.replace(Settings().patterns, stuck_window=14),
    )


@pytest.mark.parametrize("recall", [False, True])
def test_a_pattern_calls_the_planner_only_where_the_settings_say_so(recall: bool) -> None:
    """STUCK sets in two steps after the look around: with the extension on, the walk ends in another one."""
    ready = setup(0.0, blind=True, settings=with_pattern_recall(recall=recall))
    ready.run(16)
    turned = ready.environment.actions[-1] is Action.TURN_LEFT
    assert turned is recall


def test_the_first_call_is_at_the_start_and_the_next_when_the_policy_stops() -> None:
    ready = setup(0.0, blind=True)
    ready.run(60)
    stops = [step for step in ready.log.records if step["type"] == "step" and step["planner_called"]]
    assert ready.world.looks_around in (len(stops), len(stops) + 1)


def test_the_anchor_remembers_the_labels_seen_from_it() -> None:
    ready = setup(boxes=[MUG])
    ready.run(2)
    assert "mug" in ready.search.spatial.graph.anchor(0).labels


def test_a_branch_makes_an_anchor_where_it_is_switched_on() -> None:
    doorway: list[Box] = [((1.5, 0.45, 0.0), (1.6, 4.0, 2.4)), ((1.5, -4.0, 0.0), (1.6, -0.45, 2.4))]
    switched = dataclasses.replace(Settings(), places=dataclasses.replace(Settings().places, detect_branches=True))

    def branches(settings: Settings) -> int:
        # a whole turn, so that the doorway ahead of the start is faced again
        ready = setup(30.0, boxes=doorway, blind=True, settings=settings)
        ready.run(14)
        return sum(step["branch"] for step in ready.log.records if step["type"] == "step")

    assert branches(Settings()) == 0
    assert branches(switched) > 0
