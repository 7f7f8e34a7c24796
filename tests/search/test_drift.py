"""Poses that drift are held in the map by the walls that memory knows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from lastseen.action import Action
from lastseen.body import body_points
from lastseen.config.search import Policy
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.space.floor import FloorGrid, wall_grid
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.drift import DriftCorrection
from tests.search.policy.box_world import BoxWorld

CUPBOARD = ((1.0, -3.0, 0.0), (2.0, -2.0, 2.0))
WALK = [Action.TURN_LEFT] * 13 + [Action.FORWARD] * 6 + [Action.TURN_LEFT] * 11 + [Action.FORWARD] * 2
WRONG = Pose2D(0.0, 0.015, math.radians(0.25))
"""What every action adds to the error of the pose: some eight degrees over the walk, and centimetres."""


@pytest.fixture(scope="module")
def walls() -> FloorGrid:
    """The walls of the room as they were seen from its middle and two corners."""
    room, grid = BoxWorld(size=3.0, boxes=[CUPBOARD]), wall_grid(Policy())
    for x, y in ((0.0, 0.0), (1.5, 1.5), (-1.5, -1.5)):
        room.pose = Pose2D(x, y, 0.0)
        for _ in range(12):
            grid.add(body_points(room.look()), room.pose)
            room.step(Action.TURN_LEFT)
    return grid


def told(frame: Frame, truth: Pose2D, pose: Pose2D) -> Frame:
    """The frame with the pose that a robot takes for its own."""
    error = Pose3D.from_pose2d(pose.compose(truth.inverse()))
    return replace(frame, T_world_camera=error @ frame.T_world_camera)


def walk(room: BoxWorld, correction: DriftCorrection, *, update: bool = True) -> tuple[Pose2D, Pose2D]:
    """Walk with poses that drift; where the robot was at last, and where the corrected frame says it was."""
    pose = room.pose
    for action in WALK:
        before = room.pose
        room.step(action)
        pose = pose.compose(room.pose.relative_to(before)).compose(WRONG)
        frame = correction.corrected(told(room.look(), room.pose, pose), update=update)
    return room.pose, frame.floor_pose


def test_drift_is_taken_out_where_the_walls_are_known(walls: FloorGrid) -> None:
    truth, corrected = walk(BoxWorld(size=3.0, boxes=[CUPBOARD]), DriftCorrection(walls))
    assert corrected.distance_to(truth) < 0.1
    assert abs(math.degrees(corrected.relative_to(truth).yaw)) < 3.0


def test_without_known_walls_poses_stay_as_they_are_told() -> None:
    correction = DriftCorrection(wall_grid(Policy()))
    truth, corrected = walk(BoxWorld(size=3.0), correction)
    assert corrected.distance_to(truth) > 0.2
    assert not correction.knows
    assert correction.offset == ORIGIN


def test_nothing_is_corrected_by_walls_that_are_not_those_around(walls: FloorGrid) -> None:
    correction = DriftCorrection(walls)
    walk(BoxWorld(size=2.2), correction)
    assert correction.offset.distance_to(ORIGIN) < 0.3


def test_a_correction_that_is_held_stays_as_it_was_found(walls: FloorGrid) -> None:
    correction = DriftCorrection(walls)
    room = BoxWorld(size=3.0, boxes=[CUPBOARD])
    walk(room, correction)
    found = correction.offset
    assert found != ORIGIN
    walk(room, correction, update=False)
    assert correction.offset == found
