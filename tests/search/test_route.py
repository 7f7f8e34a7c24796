"""A decision as turns, waypoints and a goal pixel."""

from __future__ import annotations

import math

import pytest

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.planning.decision import Decision
from lastseen.search.route import Route, waypoints

LEFT, RIGHT = Action.TURN_LEFT, Action.TURN_RIGHT


def route(*points: Pose2D) -> Route:
    return Route(Decision(heading=0.0, why="told to", source="rules"), Settings(), list(points))


@pytest.mark.parametrize(("degrees", "turns", "rest"), [(70.0, 2, 10.0), (-100.0, -3, -10.0), (180.0, 6, 0.0)])
def test_a_heading_is_whole_turns_the_short_way_round_and_a_rest(degrees: float, turns: int, rest: float) -> None:
    followed = route()
    followed.turn_by(math.radians(degrees))
    assert followed.turns == turns
    assert followed.rest == pytest.approx(rest)


def test_turns_are_taken_one_by_one_until_none_is_left() -> None:
    followed = route()
    followed.turn_by(math.radians(-60.0))
    assert [followed.next_turn(), followed.next_turn()] == [RIGHT, RIGHT]
    assert followed.turns == 0


def test_a_path_is_the_ends_of_its_segments() -> None:
    corners = waypoints(Pose2D(1.0, 0.0, math.pi / 2), [(2.0, 0.0), (1.0, -math.pi / 2)])
    assert [(round(each.x, 6), round(each.y, 6)) for each in corners] == [(1.0, 2.0), (2.0, 2.0)]


def test_a_waypoint_that_is_reached_already_is_passed_over() -> None:
    followed = route(ORIGIN, Pose2D(0.05, 0.0, 0.0), Pose2D(0.0, 2.0, 0.0))
    followed.aimed = True
    assert followed.next_segment(ORIGIN)
    assert (followed.waypoints, followed.turns, followed.aimed) == ([Pose2D(0.0, 2.0, 0.0)], 3, False)
    assert not followed.next_segment(Pose2D(0.0, 2.0, 0.0))


def test_at_the_end_of_its_waypoints_it_turns_once_to_what_it_is_to_face() -> None:
    followed = route(ORIGIN)
    followed.face = Pose2D(0.0, 2.0, 0.0)
    assert followed.next_segment(ORIGIN)
    assert (followed.waypoints, followed.turns) == ([], 3)
    assert not followed.next_segment(ORIGIN)
