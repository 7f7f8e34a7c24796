"""A robot that is driven by goal poses and looked through by a source."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

import pytest

from lastseen.action import Action
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.pose2d import Pose2D
from lastseen.protocols import Environment
from lastseen.search.robot import Driven, Robot, open_robot
from tests.search.policy.box_world import BoxWorld


class Wheels:
    """A source and a drive in one: it goes where it is told, unless it is held."""

    def __init__(self, frames: int = 1000) -> None:
        self.room, self.left = BoxWorld(), frames
        self.goals: list[Pose2D] = []
        self.held = False

    def frames(self) -> Iterator[Frame]:
        for count in range(self.left):
            yield dataclasses.replace(self.room.look(), id=count, stamp=0.1 * count)

    def close(self) -> None:
        pass

    def drive(self, goal: Pose2D) -> Driven:
        self.goals.append(goal)
        if self.held:
            return "failed"
        self.room.pose = goal
        return "reached"


def test_it_is_an_environment() -> None:
    robot = Wheels()
    assert isinstance(Robot(robot, robot.drive), Environment)


def test_actions_become_goal_poses_from_where_the_robot_is() -> None:
    robot = Wheels()
    environment = Robot(robot, robot.drive)
    environment.reset()
    environment.step(Action.TURN_LEFT)
    result = environment.step(Action.FORWARD)
    assert robot.goals[0].yaw == pytest.approx(0.5236, abs=1e-3)
    assert robot.goals[1].x == pytest.approx(0.2165, abs=1e-3)
    assert not result.collided


def test_a_drive_that_failed_is_a_collision() -> None:
    robot = Wheels()
    environment = Robot(robot, robot.drive)
    environment.reset()
    robot.held = True
    assert environment.step(Action.FORWARD).collided


def test_stop_drives_nowhere() -> None:
    robot = Wheels()
    environment = Robot(robot, robot.drive)
    first = environment.reset()
    assert environment.step(Action.STOP).frame is first
    assert not robot.goals


def test_frames_from_before_the_robot_stood_still_are_dropped() -> None:
    robot = Wheels()
    environment = Robot(robot, robot.drive, buffered=2)
    assert environment.reset().id == 0
    assert environment.step(Action.TURN_LEFT).frame.id == 3


def test_misuse_is_named() -> None:
    robot = Wheels(frames=1)
    environment = Robot(robot, robot.drive)
    with pytest.raises(InvalidValue, match="before reset"):
        environment.step(Action.FORWARD)
    environment.reset()
    with pytest.raises(InvalidValue, match="tilts"):
        environment.step(Action.LOOK_UP)
    with pytest.raises(InvalidValue, match="have come to an end; use a live source"):
        environment.step(Action.FORWARD)


def test_any_iterable_of_frames_will_do() -> None:
    robot = Wheels()
    environment = Robot(list(Wheels(frames=2).frames()), robot.drive)
    assert environment.reset().id == 0
    assert environment.step(Action.TURN_LEFT).frame.id == 1


@pytest.mark.parametrize("told", [None, True, "arrived", 3.0])
def test_an_answer_of_drive_that_is_none_is_named(told: object) -> None:
    environment = Robot(Wheels(), lambda goal: told)  # type: ignore[arg-type, return-value]
    environment.reset()
    with pytest.raises(InvalidValue, match=r'^drive = .*: is no answer; return "reached" or "failed"$'):
        environment.step(Action.FORWARD)


def test_what_drive_raises_comes_through_as_it_is() -> None:
    def broken(goal: Pose2D) -> Driven:
        raise ConnectionError("the base does not answer")

    environment = Robot(Wheels(), broken)
    environment.reset()
    with pytest.raises(ConnectionError, match="the base does not answer"):
        environment.step(Action.FORWARD)


@pytest.mark.parametrize(("wrong", "field"), [({"drive": "nav2"}, "drive"), ({"buffered": -1}, "buffered")])
def test_a_robot_that_cannot_be_driven_is_refused(wrong: dict[str, object], field: str) -> None:
    given = {"drive": Wheels().drive, **wrong}
    with pytest.raises(InvalidValue, match=f"^{field} = "):
        Robot(Wheels(), **given)  # type: ignore[arg-type]


class Blind:
    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        return []


def make() -> Robot:
    """What an address of this module names."""
    wheels = Wheels()
    return Robot(wheels, wheels.drive, detector=Blind())


def make_without_detector() -> Robot:
    wheels = Wheels()
    return Robot(wheels, wheels.drive)


def test_a_function_makes_the_robot_of_an_address() -> None:
    assert isinstance(open_robot(f"{__name__}:make"), Robot)


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("", "is no address of a robot; give sim://7, or package.module:function"),
        ("robot", "is no address of a robot"),
        ("http://robot.local/", "is no address of a robot"),
        ("no.such.module:make", "cannot be imported"),
        (f"{__name__}:no_such_function", "cannot be imported"),
        (
            f"{__name__}:make_without_detector",
            "gave a robot without a detector; give it one",
        ),
        ("builtins:dict", "gave something of type dict"),
        ("sim://kitchen", "names no home; for example sim://7"),
        ("sim://7?colour=red", "robot colour = 'red': is not known; choose of level, rooms, changes, start"),
        ("sim://7?rooms=many", "robot rooms = 'many': is no number"),
        ("sim://7?level=superb", "level"),
    ],
)
def test_an_address_that_names_no_robot_is_one_clear_line(address: str, problem: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(problem)) as error:
        open_robot(address)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_simulated_robot_is_the_same_every_time() -> None:
    pytest.importorskip("embreex")
    first, second = (open_robot("sim://3?rooms=4&level=perfect&start=5") for _ in range(2))
    assert first.reset().T_world_camera.distance_to(second.reset().T_world_camera) == 0.0
    other = open_robot("sim://3?rooms=4&level=perfect&start=6")
    assert first.reset().T_world_camera.distance_to(other.reset().T_world_camera) > 0.0
