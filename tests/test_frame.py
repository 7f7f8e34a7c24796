from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lastseen.errors import InvalidValue, StampError
from lastseen.frame import Frame, StampOrder, metric_depth
from lastseen.geometry import Intrinsics, Pose3D

FAR = Pose3D.from_quaternion([0.0, 1e15, 0.0], [0.0, 0.0, 0.0, 1.0])
CAMERA = Intrinsics(fx=10, fy=10, cx=3.5, cy=2.5, width=8, height=6)


def make_frame(**changes: Any) -> Frame:
    values: dict[str, Any] = {
        "id": 0,
        "stamp": 1.5,
        "rgb": np.zeros((6, 8, 3), np.uint8),
        "depth": np.full((6, 8), 2.0, np.float32),
        "T_world_camera": Pose3D.identity(),
        "intrinsics": CAMERA,
    }
    return Frame(**{**values, **changes})


def test_a_frame_gives_its_points_with_gaps_as_nan() -> None:
    depth = np.full((6, 8), 2.0, np.float32)
    depth[1, 2] = np.nan
    points = make_frame(depth=depth).points()
    assert points.shape == (6, 8, 3)
    assert np.isnan(points[1, 2]).all()
    assert np.isfinite(points[0, 0]).all()


def test_depth_may_have_another_size_with_its_own_camera() -> None:
    small = CAMERA.resized(4, 3)
    frame = make_frame(depth=np.ones((3, 4), np.float32), depth_intrinsics=small)
    assert frame.points().shape == (3, 4, 3)
    assert frame.camera_of_depth is small


def test_frames_are_shared_without_copies_and_therefore_read_only() -> None:
    frame = make_frame()
    with pytest.raises(ValueError, match="read-only"):
        frame.depth[0, 0] = 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": -1}, r"frame\.id = -1: must be a whole number from 0"),
        ({"id": "a"}, r"frame\.id = 'a'"),
        ({"stamp": float("nan")}, r"frame\.stamp = nan: must be finite, within 1e\+11 s; give seconds on one clock"),
        ({"stamp": 1e300}, r"frame\.stamp = 1e\+300: must be finite, within"),
        ({"stamp": 10**400}, r"frame\.stamp = 1000"),
        ({"T_world_camera": FAR}, r"frame\.T_world_camera = .*is beyond 1e\+06 m"),
        ({"intrinsics": replace(CAMERA, cx=2.0**64)}, r"frame\.intrinsics = .*m aside per metre ahead"),
        ({"intrinsics": replace(CAMERA, fy=1e-300)}, r"frame\.intrinsics = .*m aside per metre ahead"),
        ({"depth_intrinsics": replace(CAMERA, fx=0.01)}, r"frame\.depth_intrinsics = "),
        ({"T_world_camera": np.eye(4)}, r"frame\.T_world_camera = .*must be a Pose3D; use Pose3D\.from_matrix"),
        ({"rgb": np.zeros((6, 8, 3), np.float32)}, r"frame\.rgb = float32 array.*must be a uint8 array"),
        ({"rgb": np.zeros((6, 8), np.uint8)}, r"frame\.rgb = .*must have shape \(6, 8, 3\)"),
        ({"rgb": [[0]]}, r"frame\.rgb = .*must be a uint8 array, not list"),
        ({"depth": np.ones((6, 8), np.uint16)}, r"frame\.depth = uint16 array.*must be a float32 array"),
        ({"depth": np.ones((3, 4), np.float32)}, r"must have shape \(6, 8\); give depth_intrinsics"),
        ({"depth": np.zeros((6, 8), np.float32)}, r"not distances .*mark missing depth with NaN"),
        ({"depth": np.full((6, 8), -1, np.float32)}, r"not distances"),
        ({"depth": np.full((6, 8), np.inf, np.float32)}, r"not distances"),
    ],
)
def test_bad_data_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make_frame(**changes)


def test_stamps_may_repeat_but_not_go_backwards() -> None:
    order = StampOrder()
    for stamp in (1.0, 2.0, 2.0):
        order.accept(stamp)
    with pytest.raises(StampError, match=r"frame\.stamp = 1\.5: is 0\.500 s before the last frame.*new session"):
        order.accept(1.5)
    assert order.last == 2.0


def test_sensor_depth_becomes_metres_with_nan_for_nothing() -> None:
    raw = np.array([[0, 1000, 2500]], dtype=np.uint16)
    assert np.array_equal(metric_depth(raw, scale=1000.0), np.array([[np.nan, 1, 2.5]], np.float32), equal_nan=True)
    odd = np.array([[-1.0, np.inf, np.nan, 3.0]], np.float32)
    assert np.isnan(metric_depth(odd, scale=1.0)).tolist() == [[True, True, True, False]]


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_bad_depth_scale_is_named(scale: float) -> None:
    with pytest.raises(InvalidValue, match=r"depth_scale = .*must be positive; 1000 for millimetres"):
        metric_depth(np.ones((1, 1), np.uint16), scale=scale)
