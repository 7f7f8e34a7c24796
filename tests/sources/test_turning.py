from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.geometry import Intrinsics
from lastseen.sources.turning import turn_box, turn_image, turn_intrinsics, turn_pose
from tests.geometry.strategies import poses
from tests.sources.room import looking, render

CAMERA = Intrinsics(50.0, 55.0, 30.0, 20.0, 64, 48)


@given(poses, st.integers(0, 3), st.floats(-1, 1), st.floats(-1, 1), st.floats(0.5, 4))
def test_a_turned_camera_sees_the_same_point_at_the_turned_pixel(
    pose: object, turns: int, x: float, y: float, z: float
) -> None:
    from lastseen.geometry import Pose3D

    assert isinstance(pose, Pose3D)
    world = pose.transform([x, y, z])
    u, v = CAMERA.project([x, y, z])
    for _ in range(turns):
        u, v = (CAMERA.height if _ % 2 == 0 else CAMERA.width) - 1 - v, u
    seen = turn_intrinsics(CAMERA, turns).project(turn_pose(pose, turns).inverse().transform(world))
    assert np.allclose(seen, [u, v], atol=1e-5 * max(1.0, float(np.abs(pose.translation).max())))


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_turning_a_picture_is_rendering_with_the_turned_camera(turns: int) -> None:
    pose = looking(-1.0, 0.0, yaw=0.3)
    depth = render(pose, CAMERA)[1]
    again = render(turn_pose(pose, turns), turn_intrinsics(CAMERA, turns))[1]
    assert np.allclose(turn_image(depth, turns), again, atol=1e-4)


def test_a_box_turns_with_its_image() -> None:
    image = np.zeros((48, 64), dtype=bool)
    image[5:9, 10:30] = True
    for turns in range(4):
        left, top, right, bottom = turn_box((10, 5, 30, 9), turns, width=64, height=48)
        turned = turn_image(image, turns)
        assert turned[int(top) : int(bottom), int(left) : int(right)].all()
        assert turned.sum() == (right - left) * (bottom - top)
