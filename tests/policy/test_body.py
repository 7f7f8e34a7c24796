from __future__ import annotations

import numpy as np
import pytest

from lastseen.geometry import Pose3D
from lastseen.policy.body import body_points
from lastseen.pose2d import Pose2D
from tests.policy.box_world import BoxWorld
from tests.test_frame import make_frame


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
