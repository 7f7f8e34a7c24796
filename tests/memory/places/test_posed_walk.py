"""Poses of a recording as the steps that anchors and places count in."""

from __future__ import annotations

import math

import pytest

from lastseen.action import Action
from lastseen.memory.places.tracker import LONGEST_STEP, PosedWalk
from lastseen.pose2d import Pose2D


@pytest.fixture
def walk() -> PosedWalk:
    walk = PosedWalk()
    assert walk.move_to(Pose2D(5.0, 1.0, math.pi / 2)) is None
    return walk


def test_a_forward_per_step_length(walk: PosedWalk) -> None:
    steps = walk.move_to(Pose2D(5.0, 1.5, math.pi / 2))
    assert steps is not None
    assert [step.action for step in steps] == [Action.FORWARD] * 2
    assert steps[-1].world_pose == Pose2D(5.0, 1.5, math.pi / 2)


def test_small_motions_add_up(walk: PosedWalk) -> None:
    assert walk.move_to(Pose2D(5.0, 1.2, math.pi / 2)) == []
    assert len(walk.move_to(Pose2D(5.0, 1.3, math.pi / 2)) or ()) == 1


@pytest.mark.parametrize(("turned", "action"), [(0.6, Action.TURN_LEFT), (-0.6, Action.TURN_RIGHT)])
def test_a_turn_on_the_spot_is_a_step(walk: PosedWalk, turned: float, action: Action) -> None:
    steps = walk.move_to(Pose2D(5.0, 1.0, math.pi / 2 + turned)) or []
    assert [step.action for step in steps] == [action]
    assert walk.move_to(Pose2D(5.0, 1.0, math.pi / 2 + turned)) == []


def test_where_the_pose_jumps_another_walk_begins(walk: PosedWalk) -> None:
    far = 1.0 + LONGEST_STEP + 0.1
    assert walk.move_to(Pose2D(5.0, far, math.pi / 2)) is None
    steps = walk.move_to(Pose2D(5.0, far + 0.25, math.pi / 2)) or []
    assert [step.world_pose.y for step in steps] == [pytest.approx(far + 0.25)]
