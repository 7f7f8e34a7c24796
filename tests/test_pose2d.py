from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle

metres = st.floats(-1e3, 1e3)
poses = st.builds(Pose2D, metres, metres, st.floats(-math.pi, math.pi))


def close(a: Pose2D, b: Pose2D) -> bool:
    return a.distance_to(b) < 1e-6 and abs(wrap_angle(a.yaw - b.yaw)) < 1e-9


@given(st.floats(-1e6, 1e6))
def test_wrapped_angles_lie_in_one_turn_and_keep_their_direction(angle: float) -> None:
    wrapped = wrap_angle(angle)
    assert -math.pi < wrapped <= math.pi
    assert math.isclose(math.cos(wrapped), math.cos(angle), abs_tol=1e-6)
    assert math.isclose(math.sin(wrapped), math.sin(angle), abs_tol=1e-6)


def test_half_a_turn_has_one_sign() -> None:
    assert wrap_angle(-math.pi) == math.pi


@given(poses)
def test_a_pose_and_its_inverse_cancel(pose: Pose2D) -> None:
    assert close(pose.compose(pose.inverse()), ORIGIN)
    assert close(pose.inverse().compose(pose), ORIGIN)


@given(poses, poses, poses)
def test_composition_is_associative(a: Pose2D, b: Pose2D, c: Pose2D) -> None:
    assert close(a.compose(b).compose(c), a.compose(b.compose(c)))


@given(poses, poses)
def test_relative_to_undoes_compose(origin: Pose2D, pose: Pose2D) -> None:
    assert close(origin.compose(pose.relative_to(origin)), pose)


def test_bearing_is_positive_to_the_left() -> None:
    assert ORIGIN.bearing_to(Pose2D(0, 1, 0)) == pytest.approx(math.pi / 2)
    assert ORIGIN.bearing_to(Pose2D(0, -1, 0)) == pytest.approx(-math.pi / 2)
    assert Pose2D(0, 0, math.pi / 2).bearing_to(Pose2D(0, 1, 0)) == pytest.approx(0)
    assert ORIGIN.bearing_to(Pose2D(0, 0, 1)) == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, "1", None, True])
def test_a_bad_value_is_named(bad: object) -> None:
    with pytest.raises(InvalidValue, match=r"pose2d\.yaw = .*finite number; give metres and radians"):
        Pose2D(0.0, 0.0, bad)  # type: ignore[arg-type]


def test_numpy_numbers_become_plain_floats() -> None:
    pose = Pose2D(np.float32(1.5), np.int64(2), np.float64(0))  # type: ignore[arg-type]
    assert [type(value) for value in (pose.x, pose.y, pose.yaw)] == [float] * 3
