from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.config.search import Policy
from lastseen.detection import Detection
from lastseen.search.policy.goal_pixel import (
    VIEW_HALF_ANGLE,
    choose_goal_pixel,
    detection_mask,
    target_detection,
    view_of_angle,
    waypoint_pixel,
)
from tests.search.policy.box_world import BoxWorld

MUG_AHEAD = ((2.0, -0.1, 0.5), (2.2, 0.1, 0.9))


@given(st.floats(-180, 180))
def test_view_and_rest_make_up_the_angle(angle: float) -> None:
    view, rest = view_of_angle(angle)
    assert 0 <= view < 12
    assert abs(rest) <= 15.0 + 1e-9
    assert math.isclose(math.remainder(view * 30 + rest - angle, 360), 0, abs_tol=1e-6)


def test_positive_angles_are_views_to_the_left() -> None:
    assert view_of_angle(30.0) == (1, 0.0)
    assert view_of_angle(-30.0) == (11, 0.0)
    assert view_of_angle(180.0)[0] == 6


def test_a_goal_in_sight_gives_a_pixel_on_the_target() -> None:
    world = BoxWorld(boxes=[MUG_AHEAD])
    pixel = choose_goal_pixel(world.look(), world.detect("mug"), target="mug", goal_flag=True)
    assert pixel.kind == "target"
    assert pixel.point[0] == pytest.approx(2.0, abs=0.05)
    assert abs(pixel.point[1]) <= 0.1


def test_a_flag_without_a_detection_falls_back_to_the_floor() -> None:
    pixel = choose_goal_pixel(BoxWorld().look(), [], target="mug", goal_flag=True)
    assert pixel.kind == "floor"


def test_without_the_flag_a_detection_is_not_followed() -> None:
    world = BoxWorld(boxes=[MUG_AHEAD])
    assert choose_goal_pixel(world.look(), world.detect("mug"), target="mug", goal_flag=False).kind == "floor"


@pytest.mark.parametrize("rest", [-15.0, 0.0, 15.0])
def test_the_floor_pixel_lies_in_the_wanted_direction_on_the_floor(rest: float) -> None:
    settings = Policy()
    pixel = choose_goal_pixel(BoxWorld().look(), [], target="mug", goal_flag=False, rest_deg=rest)
    bearing = math.degrees(math.atan2(pixel.point[1], pixel.point[0]))
    assert abs(bearing - rest) <= math.degrees(VIEW_HALF_ANGLE)
    assert abs(pixel.point[2]) < settings.obstacle_low
    assert math.hypot(*pixel.point[:2]) <= settings.max_waypoint


def test_before_a_wall_the_pixel_is_short_of_it() -> None:
    wall = ((1.2, -4.0, 0.0), (1.3, 4.0, 2.0))
    pixel = choose_goal_pixel(BoxWorld(boxes=[wall]).look(), [], target="mug", goal_flag=False)
    assert pixel.kind == "ahead"
    assert pixel.point[0] == pytest.approx(1.2 - Policy().robot_radius, abs=0.05)


def test_the_surest_detection_of_the_target_wins() -> None:
    weak = Detection((0, 0, 9, 9), 0.3, {"mug": 0.9})
    sure = Detection((0, 0, 5, 5), 0.9, {"mug": 0.8})
    other = Detection((0, 0, 9, 9), 0.99, {"bowl": 0.9, "mug": 0.1})
    assert target_detection([weak, sure, other], "mug") is sure
    assert target_detection([other], "mug") is None
    assert target_detection([weak], "mug", min_score=0.5) is None


def test_a_detection_without_a_mask_is_its_box_in_depth_pixels() -> None:
    frame = BoxWorld().look()
    mask = detection_mask(Detection((10, 20, 14, 22), 0.5), frame)
    assert mask.sum() == 4 * 2
    assert mask[20, 10]


def test_a_mask_of_another_size_is_brought_to_the_depth_image() -> None:
    frame = BoxWorld().look()
    large = np.zeros((120, 160), dtype=np.bool_)
    large[:60, :80] = True
    mask = detection_mask(Detection((0, 0, 80, 60), 0.5, mask=large), frame)
    assert mask.shape == frame.depth.shape
    assert mask[:30, :40].all()
    assert not mask[30:, 40:].any()


def test_a_waypoint_of_the_map_is_the_floor_in_view_nearest_to_it() -> None:
    pixel = waypoint_pixel(BoxWorld().look(), rest_deg=10.0, metres=2.0)
    there = (2.0 * math.cos(math.radians(10.0)), 2.0 * math.sin(math.radians(10.0)))
    assert pixel.point[:2] == pytest.approx(there, abs=0.1)


def test_a_waypoint_below_the_picture_is_walked_to_all_the_same() -> None:
    frame = BoxWorld().look()
    pixel = waypoint_pixel(frame, rest_deg=0.0, metres=0.5)
    assert pixel.point == (0.5, 0.0, 0.0)
    assert pixel.v == frame.depth.shape[0] - 1
    assert abs(pixel.u - frame.depth.shape[1] / 2) < 2


def test_without_depth_the_target_is_aimed_at_in_its_middle_and_else_the_floor() -> None:
    frame = BoxWorld().look()
    blind = replace(frame, depth=np.full_like(frame.depth, np.nan))
    rows, columns = frame.depth.shape
    mug = Detection(box=(10.0, 20.0, 30.0, 40.0), score=0.9, labels={"mug": 0.9})
    floor = Detection(box=(0.0, rows - 10.0, columns, rows), score=0.9, labels={"floor": 0.9})
    target = choose_goal_pixel(blind, [mug, floor], target="mug", goal_flag=True)
    assert (target.kind, target.u, target.v) == ("target", 19, 29)
    assert choose_goal_pixel(blind, [mug, floor], target="mug", goal_flag=False).kind == "floor"
    left = choose_goal_pixel(blind, [], target="mug", goal_flag=True, rest_deg=15.0)
    assert left.kind == "ahead"
    assert left.u < columns / 2
    assert rows / 2 < left.v < rows
