from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D
from tests.geometry.strategies import points, poses

Point = NDArray[np.float64]


def close(a: Pose3D, b: Pose3D, *, tolerance: float = 1e-7) -> bool:
    return a.distance_to(b) < tolerance and a.angle_to(b) < tolerance


@given(poses, points)
def test_the_inverse_brings_points_back(pose: Pose3D, point: Point) -> None:
    assert np.allclose(pose.inverse().transform(pose.transform(point)), point, atol=1e-9)


@given(poses, poses, points)
def test_composition_is_one_motion_after_the_other(a: Pose3D, b: Pose3D, point: Point) -> None:
    assert np.allclose((a @ b).transform(point), a.transform(b.transform(point)), atol=1e-8)


@given(poses)
def test_the_matrix_holds_the_whole_pose(pose: Pose3D) -> None:
    assert close(Pose3D.from_matrix(pose.matrix), pose)


@given(poses)
def test_a_quaternion_and_its_negative_are_one_pose(pose: Pose3D) -> None:
    assert Pose3D.from_quaternion(pose.translation, -pose.quaternion) == Pose3D.from_quaternion(
        pose.translation, pose.quaternion
    )


@given(poses, poses)
def test_interpolation_starts_and_ends_at_its_ends(a: Pose3D, b: Pose3D) -> None:
    assert close(a.interpolate(b, 0.0), a)
    assert close(a.interpolate(b, 1.0), b)


@given(poses, poses, st.floats(0, 1))
def test_interpolation_turns_in_proportion(a: Pose3D, b: Pose3D, share: float) -> None:
    assert a.interpolate(b, share).angle_to(a) == pytest.approx(share * a.angle_to(b), abs=1e-6)


def test_interpolation_does_not_extrapolate() -> None:
    with pytest.raises(InvalidValue, match="poses are not extrapolated"):
        Pose3D.identity().interpolate(Pose3D.identity(), 1.5)


@given(st.floats(-3.1, 3.1), st.floats(-9, 9), st.floats(-9, 9))
def test_a_floor_pose_lifts_to_the_same_heading(yaw: float, x: float, y: float) -> None:
    ahead = Pose3D.from_pose2d(Pose2D(x, y, yaw), height=0.9).transform([1.0, 0.0, 0.0])
    assert np.allclose(ahead, [x + math.cos(yaw), y + math.sin(yaw), 0.9])


def test_the_quaternion_order_is_x_y_z_w() -> None:
    quarter_left = Pose3D.from_quaternion([0, 0, 0], [0, 0, math.sqrt(0.5), math.sqrt(0.5)])
    assert np.allclose(quarter_left.transform([1, 0, 0]), [0, 1, 0])


@pytest.mark.parametrize(
    ("translation", "quaternion", "message"),
    [
        ([0, 0, np.nan], [0, 0, 0, 1], r"pose\.translation = .*NaN or infinity; drop frames"),
        ("abc", [0, 0, 0, 1], r"pose\.translation = 'abc': is not numbers"),
        ([0, 0], [0, 0, 0, 1], r"pose\.translation = \[0, 0\]: must hold 3 numbers"),
        ([0, 0, 0], [0, 0, 0, 2], r"pose\.quaternion = .*has length 2, not 1; .*x, y, z, w"),
        ([0, 0, 0], [0, 0, 0, 0], r"has length 0, not 1"),
        ([0, 0, 0], [0, 0, 1], r"pose\.quaternion = .*must hold 4 numbers"),
        ([0, 0, 0], [0, np.inf, 0, 0], r"pose\.quaternion = .*NaN or infinity"),
    ],
)
def test_a_bad_quaternion_pose_is_named(translation: object, quaternion: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Pose3D.from_quaternion(translation, quaternion)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(3), r"must be 4 x 4 and finite"),
        ([["x"]], r"pose\.matrix = .*is not numbers"),
        (np.full((4, 4), np.nan), r"must be 4 x 4 and finite"),
        (np.diag([2.0, 2.0, 2.0, 1.0]), r"is not a rigid motion; check for scale"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), r"is not a rigid motion; .*mirroring"),
        (np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 2, 3, 1]]), r"transposed"),
    ],
)
def test_a_bad_matrix_is_named(matrix: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Pose3D.from_matrix(matrix)  # type: ignore[arg-type]


def test_poses_are_immutable_and_do_not_share_memory() -> None:
    translation = np.zeros(3)
    pose = Pose3D(translation, np.array([0.0, 0.0, 0.0, 1.0]))
    translation[0] = 5.0
    assert pose.translation[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        pose.translation[0] = 1.0


def test_equal_poses_hash_alike_and_print_readably() -> None:
    pose = Pose3D.identity()
    assert {pose, Pose3D.identity()} == {pose}
    assert pose != "pose"
    assert repr(pose) == "Pose3D(translation=[0, 0, 0], quaternion_xyzw=[0, 0, 0, 1])"
