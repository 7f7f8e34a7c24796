"""The visit before the search: the file it leaves, and the pose at which a search starts in its map."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

import lastseen.evaluation
from lastseen.action import Action
from lastseen.config import Settings
from lastseen.evaluation import cases
from lastseen.evaluation.arms import ARMS
from lastseen.evaluation.runner import Plan, run_one
from lastseen.evaluation.visits import Odometry, Visit, given_start, memory_settings, visit_of
from lastseen.memory.memory import Memory
from lastseen.pose2d import Pose2D
from tests.evaluation.tiny_homes import TINY, forget
from tests.search.test_robot_world import BoxEnvironment
from tests.sim.tiny import tiny_home

START = Pose2D(0.0, 0.0, 0.0)


@pytest.fixture
def visit() -> Visit:
    return Visit(Path("none"), frozenset(), tuple(Pose2D(float(x), 0.0, 0.0) for x in range(8)))


@pytest.fixture(scope="module")
def _tiny_homes() -> Iterator[None]:
    with mock.patch.object(cases, "generate_home", return_value=tiny_home()):
        forget()
        yield
        forget()


def test_the_start_pose_is_told_with_the_error_of_localization(visit: Visit) -> None:
    given = given_start(visit, START, seed=3, settings=Settings())
    assert 0.0 < given.distance_to(START) < 0.2
    assert abs(given.yaw) < math.radians(5.0)


def test_a_lost_robot_is_told_another_spot_of_the_map(visit: Visit) -> None:
    given = given_start(visit, START, seed=3, settings=Settings(), lost=True)
    assert given.distance_to(START) >= Settings().evaluation.lost_distance
    assert abs(given.yaw) == pytest.approx(math.pi / 2)
    assert given == given_start(visit, START, seed=3, settings=Settings(), lost=True)


def test_only_the_lost_arm_is_lost_and_only_in_the_moved_arm_was_the_goal_moved() -> None:
    assert [arm.name for arm in ARMS.values() if arm.lost] == ["lifelong_lost"]
    assert [arm.name for arm in ARMS.values() if arm.moved] == ["lifelong_moved"]


def test_the_frames_of_a_robot_without_a_localizer_carry_the_sum_of_its_actions() -> None:
    room, start = BoxEnvironment(), Pose2D(5.0, 1.0, math.pi / 2)
    robot = Odometry(room, start, settings=Settings())
    assert robot.reset().floor_pose.distance_to(start) < 1e-9
    robot.step(Action.FORWARD)
    frame = robot.step(Action.TURN_LEFT).frame
    assert (frame.floor_pose.x, frame.floor_pose.y) == pytest.approx((5.0, 1.25))
    assert frame.floor_pose.yaw == pytest.approx(math.radians(120.0))
    assert frame.T_world_camera.translation[2] == pytest.approx(0.88)


def test_a_bump_is_felt_and_adds_nothing() -> None:
    room = BoxEnvironment([((0.2, -1.0, 0.0), (0.6, 1.0, 2.0))])
    robot = Odometry(room, settings=Settings())
    robot.reset()
    result = robot.step(Action.FORWARD)
    assert result.collided
    assert result.frame.floor_pose.distance_to(START) < 1e-9


@pytest.mark.usefixtures("_tiny_homes")
def test_a_visit_leaves_a_memory_file_that_opens_with_what_was_seen(tmp_path: Path) -> None:
    visit = visit_of(4, TINY)
    copy = visit.copy_to(tmp_path)
    assert copy.read_bytes() == visit.file.read_bytes()
    with Memory.open(copy, read_only=True, settings=memory_settings(TINY)) as memory:
        labels = {each.label for each in memory.objects()}
        assert labels
        assert labels <= visit.detected
        assert len(memory.spatial.graph.anchors) == len(visit.anchors) > 3
        assert memory.floor.free.sum() > 50
        assert not memory.store.journal.crops(memory.objects()[0].id)


PILLOW = replace(TINY, evaluation=replace(TINY.evaluation, goals="pillow", level="perfect"))


@pytest.mark.usefixtures("_tiny_homes")
def test_the_goal_of_a_moved_visit_stood_elsewhere() -> None:
    visit = visit_of(4, PILLOW, moved_goal=True)
    with Memory.open(visit.file, read_only=True, settings=PILLOW) as memory:
        remembered = [each.position for each in memory.objects("pillow")]
    now = tiny_home().thing(5).pose.translation
    assert visit.goal_moved
    assert remembered
    assert min(math.dist(spot[:2], now[:2]) for spot in remembered) > 0.9


@pytest.mark.usefixtures("_tiny_homes")
def test_the_moved_arm_records_how_long_memory_led_it_and_what_it_noticed() -> None:
    record, _ = run_one(Plan(seed=8, episodes=1, arms=("lifelong_moved",), settings=PILLOW), 8, "lifelong_moved")
    assert record["goal_moved"] is True
    assert 0 < record["steps_from_memory"] <= record["steps"]
    assert record["moves_noticed"] is not None
    assert 0.0 <= record["moves_noticed"] <= 1.0


@pytest.mark.usefixtures("_tiny_homes")
def test_a_goal_that_no_hand_can_carry_stays_and_the_visit_says_so() -> None:
    bed = replace(TINY, evaluation=replace(TINY.evaluation, goals="bed"))
    assert not visit_of(4, bed, moved_goal=True).goal_moved


def test_nothing_in_the_evaluation_builds_a_memory_of_its_own() -> None:
    """Every memory is ``Memory``, as users open it; its parts are nobody's to put together here."""
    parts = {"ObjectMemory", "SpatialMemory", "FloorGrid", "Viewpoints", "PlaceTracker", "SemanticMemoryStore"}
    for file in sorted(Path(lastseen.evaluation.__file__).parent.rglob("*.py")):
        names = {
            node.id if isinstance(node, ast.Name) else alias
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            for alias in ([name.name for name in node.names] if isinstance(node, ast.ImportFrom) else [""])
            if isinstance(node, ast.Name | ast.ImportFrom)
        }
        assert names.isdisjoint(parts), (file.name, names & parts)
