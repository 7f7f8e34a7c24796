from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.config.memory import DeadReckoning
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle

F, L, R = Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT


def walk(*actions: Action, collided: bool = False, motion: DeadReckoning | None = None) -> Pose2D:
    memory = SpatialMemory(Settings(dead_reckoning=motion or DeadReckoning()))
    for action in actions:
        memory.step(action, collided=collided)
    return memory.pose


def test_starts_at_the_origin() -> None:
    assert walk() == Pose2D(0.0, 0.0, 0.0)


def test_forward_moves_quarter_metre_along_yaw() -> None:
    assert walk(F) == Pose2D(0.25, 0.0, 0.0)
    north = walk(L, L, L, F)
    assert (north.x, north.y) == pytest.approx((0.0, 0.25))


def test_turn_left_is_plus_thirty_degrees() -> None:
    assert math.degrees(walk(L).yaw) == pytest.approx(30.0)


def test_turn_right_is_minus_thirty_degrees() -> None:
    assert math.degrees(walk(R).yaw) == pytest.approx(-30.0)


def test_stop_changes_nothing() -> None:
    assert walk(F, L, Action.STOP) == walk(F, L)


@pytest.mark.parametrize("look", [Action.LOOK_UP, Action.LOOK_DOWN])
def test_looks_change_nothing(look: Action) -> None:
    assert walk(F, L, look) == walk(F, L)


def test_a_collision_still_advances_as_the_document_says() -> None:
    assert walk(F, collided=True).x == 0.25


def test_trusted_collisions_hold_the_pose_and_never_stop_a_turn() -> None:
    trusting = DeadReckoning(trust_collisions=True)
    assert walk(F, collided=True, motion=trusting) == ORIGIN
    assert walk(F, motion=trusting).x == 0.25
    assert walk(L, collided=True, motion=trusting) == walk(L)


@given(st.integers(1, 40), st.sampled_from([L, R]))
def test_a_closed_square_walk_returns_to_the_start(side: int, turn: Action) -> None:
    end = walk(*([F] * side + [turn] * 3) * 4)
    assert end.distance_to(ORIGIN) < 1e-9
    assert abs(wrap_angle(end.yaw)) < 1e-9


@given(st.lists(st.sampled_from([F, L, R]), max_size=40))
def test_walking_back_the_same_way_returns_to_the_start(actions: list[Action]) -> None:
    undo = {F: F, L: R, R: L}
    end = walk(*actions, *[L] * 6, *(undo[action] for action in reversed(actions)))
    assert end.distance_to(ORIGIN) < 1e-9


def test_step_and_turn() -> None:
    assert (DeadReckoning().forward_step, DeadReckoning().turn_angle) == (0.25, 30.0)
