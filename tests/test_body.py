from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.body import body_points, free_ahead, open_until
from lastseen.config.search import Policy
from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D
from tests.search.policy.box_world import BoxWorld
from tests.test_frame import make_frame

SETTINGS = Policy()


@pytest.mark.parametrize("yaw", [0.0, 1.0, -2.5])
def test_points_are_relative_to_the_robot_whatever_its_heading(yaw: float) -> None:
    points = body_points(BoxWorld(pose=Pose2D(0.0, 0.0, yaw)).look())
    assert np.nanmin(points[..., 2]) == pytest.approx(0.0, abs=1e-5)
    middle = points[30, 40]
    assert middle[0] > 3.0
    assert abs(middle[1]) < 0.1


def test_left_in_the_image_is_plus_y() -> None:
    points = body_points(BoxWorld().look())
    assert points[30, 0, 1] > 0 > points[30, -1, 1]


def test_a_camera_that_looks_straight_down_has_its_heading_from_the_top_of_the_image() -> None:
    down = Pose3D.from_matrix(np.array([[0, -1, 0, 0], [-1, 0, 0, 0], [0, 0, -1, 2.5], [0, 0, 0, 1.0]]))
    points = body_points(make_frame(T_world_camera=down))
    assert points[0, 4, 0] > points[-1, 4, 0]
    assert np.allclose(points[..., 2], 0.5)


def ahead(world: BoxWorld) -> float:
    return free_ahead(body_points(world.look()), SETTINGS, half_angle=math.radians(10))


def test_an_open_room_is_free_up_to_the_waypoint_distance() -> None:
    assert ahead(BoxWorld(size=9.0)) == SETTINGS.max_waypoint


def test_a_wall_ends_the_way_one_radius_before_it() -> None:
    assert ahead(BoxWorld(boxes=[((2.0, -4.0, 0.0), (2.2, 4.0, 2.5))])) == pytest.approx(
        2.0 - SETTINGS.robot_radius, abs=0.05
    )


def test_floor_under_a_table_is_no_way() -> None:
    table = BoxWorld(boxes=[((1.8, -1.0, 0.6), (2.8, 1.0, 0.7))])
    assert ahead(table) < 2.0


def test_a_carpet_is_no_obstacle() -> None:
    assert ahead(BoxWorld(size=9.0, boxes=[((1.8, -1.0, 0.0), (2.8, 1.0, 0.03))])) == SETTINGS.max_waypoint


def test_a_gap_narrower_than_the_robot_is_closed() -> None:
    posts = [((2.0, side * 0.12 - 0.05, 0.0), (2.1, side * 0.12 + 0.05, 1.5)) for side in (-1, 1)]
    points = body_points(BoxWorld(size=9.0, boxes=posts).look())
    assert open_until(points, SETTINGS)[40] < 2.1


def test_without_any_depth_something_is_too_close_to_be_measured() -> None:
    """Open floor within range always has depth; a wall at arm's length has none, and is no way."""
    assert (open_until(np.full((4, 6, 3), np.nan, np.float32), SETTINGS) <= 0.0).all()
