from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.action import Action, apply
from lastseen.config.memory import DeadReckoning
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle


def walk(*actions: Action, start: Pose2D = ORIGIN) -> Pose2D:
    for action in actions:
        start = apply(start, action)
    return start


def test_the_six_actions_are_the_words_of_the_document_and_pixelnav() -> None:
    assert [action.value for action in Action] == [
        "forward",
        "turn_left",
        "turn_right",
        "look_up",
        "look_down",
        "stop",
    ]


def test_forward_moves_a_quarter_metre_along_yaw() -> None:
    assert walk(Action.FORWARD) == Pose2D(0.25, 0.0, 0.0)
    north = apply(Pose2D(1, 2, math.pi / 2), Action.FORWARD)
    assert (north.x, north.y) == pytest.approx((1.0, 2.25))


def test_left_is_plus_thirty_degrees_and_right_minus() -> None:
    assert math.degrees(walk(Action.TURN_LEFT).yaw) == pytest.approx(30)
    assert math.degrees(walk(Action.TURN_RIGHT).yaw) == pytest.approx(-30)


@pytest.mark.parametrize("action", [Action.LOOK_UP, Action.LOOK_DOWN, Action.STOP])
def test_look_and_stop_change_nothing(action: Action) -> None:
    assert apply(Pose2D(1, 2, 3), action) == Pose2D(1, 2, 3)


def test_step_and_turn_are_settings() -> None:
    motion = DeadReckoning(forward_step=1.0, turn_angle=90.0)
    assert apply(ORIGIN, Action.FORWARD, motion=motion).x == 1.0
    assert apply(ORIGIN, Action.TURN_LEFT, motion=motion).yaw == pytest.approx(math.pi / 2)


@given(st.integers(1, 40), st.sampled_from([Action.TURN_LEFT, Action.TURN_RIGHT]))
def test_a_closed_square_walk_returns_to_the_start(side: int, turn: Action) -> None:
    end = walk(*([Action.FORWARD] * side + [turn] * 3) * 4)
    assert end.distance_to(ORIGIN) < 1e-9
    assert abs(wrap_angle(end.yaw)) < 1e-9


@given(st.lists(st.sampled_from(list(Action)), max_size=60))
def test_yaw_stays_within_one_turn(actions: list[Action]) -> None:
    assert -math.pi < walk(*actions).yaw <= math.pi
