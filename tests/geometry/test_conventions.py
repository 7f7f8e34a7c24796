from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.geometry import (
    CameraAxes,
    Pose3D,
    WorldUp,
    camera_from_opencv,
    camera_to_opencv,
    world_from_z_up,
    world_to_z_up,
)
from tests.geometry.strategies import poses

FORWARD = {CameraAxes.OPENCV: [0, 0, 1], CameraAxes.OPENGL: [0, 0, -1], CameraAxes.ROS_BODY: [1, 0, 0]}
RIGHT = {CameraAxes.OPENCV: [1, 0, 0], CameraAxes.OPENGL: [1, 0, 0], CameraAxes.ROS_BODY: [0, -1, 0]}
UP = {WorldUp.Z: [0, 0, 1], WorldUp.Y: [0, 1, 0], WorldUp.MINUS_Y: [0, -1, 0]}
UP |= {WorldUp.MINUS_Z: [0, 0, -1], WorldUp.X: [1, 0, 0], WorldUp.MINUS_X: [-1, 0, 0]}


@pytest.mark.parametrize("axes", list(CameraAxes))
@given(poses)
def test_the_camera_looks_the_same_way_after_conversion(axes: CameraAxes, pose: Pose3D) -> None:
    converted = camera_to_opencv(pose, axes)
    assert np.allclose(converted.rotation @ [0, 0, 1], pose.rotation @ FORWARD[axes])
    assert np.allclose(converted.rotation @ [1, 0, 0], pose.rotation @ RIGHT[axes])
    assert np.allclose(converted.translation, pose.translation)


@pytest.mark.parametrize("up", list(WorldUp))
def test_up_becomes_z(up: WorldUp) -> None:
    assert np.allclose(world_to_z_up(Pose3D.identity(), up).rotation @ UP[up], [0, 0, 1])


@given(poses, st.sampled_from(list(CameraAxes)), st.sampled_from(list(WorldUp)))
def test_conversions_have_an_inverse(pose: Pose3D, axes: CameraAxes, up: WorldUp) -> None:
    there = world_to_z_up(camera_to_opencv(pose, axes), up)
    back = camera_from_opencv(world_from_z_up(there, up), axes)
    assert back.distance_to(pose) < 1e-9
    assert back.angle_to(pose) < 1e-7


def test_an_arkit_camera_held_level_sees_the_horizon() -> None:
    level = world_to_z_up(camera_to_opencv(Pose3D.identity(), CameraAxes.OPENGL), WorldUp.Y)
    assert np.allclose(level.rotation @ [0, 0, 1], [0, 1, 0])
    assert np.allclose(level.rotation @ [0, 1, 0], [0, 0, -1])
