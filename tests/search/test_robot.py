"""A robot that is driven by goal poses and looked through by a source."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from lastseen.search.robot_environment import Driven, RobotEnvironment

from lastseen.action import Action
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.pose2d import Pose2D
from lastseen.protocols import Environment
from tests.search.policy.box_world import BoxWorld


class Robot:
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
    robot = Robot()
    assert isinstance(RobotEnvironment(robot, robot.drive), Environment)


def test_actions_become_goal_poses_from_where_the_robot_is() -> None:
    robot = Robot()
    environment = RobotEnvironment(robot, robot.drive)
    environment.reset()
    environment.step(Action.TURN_LEFT)
    result = environment.step(Action.FORWARD)
    assert robot.goals[0].yaw == pytest.approx(0.5236, abs=1e-3)
    assert robot.goals[1].x == pytest.approx(0.2165, abs=1e-3)
    assert not result.collided


def test_a_drive_that_failed_is_a_collision() -> None:
    robot = Robot()
    environment = RobotEnvironment(robot, robot.drive)
    environment.reset()
    robot.held = True
    assert environment.step(Action.FORWARD).collided


def test_stop_drives_nowhere() -> None:
    robot = Robot()
    environment = RobotEnvironment(robot, robot.drive)
    first = environment.reset()
    assert environment.step(Action.STOP).frame is first
    assert not robot.goals


def test_frames_from_before_the_robot_stood_still_are_dropped() -> None:
    robot = Robot()
    environment = RobotEnvironment(robot, robot.drive, buffered=2)
    assert environment.reset().id == 0
    assert environment.step(Action.TURN_LEFT).frame.id == 3


def test_misuse_is_named() -> None:
    robot = Robot(frames=1)
    environment = RobotEnvironment(robot, robot.drive)
    with pytest.raises(InvalidValue, match="before reset"):
        environment.step(Action.FORWARD)
    environment.reset()
    with pytest.raises(InvalidValue, match="tilts"):
        environment.step(Action.LOOK_UP)
    with pytest.raises(InvalidValue, match="no more frames"):
        environment.step(Action.FORWARD)
