from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue, SourceError
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_from_opencv, world_from_z_up
from lastseen.sources import RawRecord, SourceOptions
from lastseen.sources.conversion import rotate_box, rotate_image, rotate_intrinsics, rotate_pose, to_frame
from tests.geometry.strategies import poses
from tests.sources.room import CAMERA, looking, render

POSE = looking(-0.5, 0.4, yaw=0.7)
SMALL = Intrinsics(50.0, 55.0, 30.0, 20.0, 64, 48)


def record(pose: Pose3D = POSE) -> RawRecord:
    rgb, depth = render(POSE)
    return RawRecord(
        stamp=1.0,
        rgb=rgb,
        depth=np.round(depth * 1000).astype(np.uint16),
        raw_per_metre=1000.0,
        translation=pose.translation,
        quaternion=pose.quaternion,
        intrinsics=CAMERA,
    )


def same(first: Pose3D, second: Pose3D) -> bool:
    return first.distance_to(second) < 1e-9 and first.angle_to(second) < 1e-7


@pytest.mark.parametrize("up", list(WorldUp))
@pytest.mark.parametrize("axes", list(CameraAxes))
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
def test_every_way_to_write_a_pose_comes_out_the_same(
    up: WorldUp, axes: CameraAxes, inverted: bool, order: str
) -> None:
    written = world_from_z_up(camera_from_opencv(POSE, axes), up)
    written = written.inverse() if inverted else written
    numbers = np.roll(written.quaternion, 1) if order == "wxyz" else written.quaternion
    given = dataclasses.replace(record(written), quaternion=numbers)
    options = SourceOptions(world_up=up, camera_axes=axes, pose_inverted=inverted, quaternion_order=order)
    assert same(to_frame(given, options, frame_id=0).T_world_camera, POSE)


def test_depth_becomes_metres_and_nothing_becomes_nan() -> None:
    given = record()
    holed = given.depth.copy()
    holed[0, 0] = 0
    frame = to_frame(dataclasses.replace(given, depth=holed), SourceOptions(), frame_id=3)
    assert frame.id == 3
    assert np.isnan(frame.depth[0, 0])
    assert np.nanmax(np.abs(frame.depth - render(POSE)[1])) < 1e-3


@pytest.mark.parametrize("turned", ["90", "180", "270"])
def test_images_turned_after_capture_are_turned_back(turned: str) -> None:
    given = record()
    turns = int(turned) // 90
    stored = dataclasses.replace(given, rgb=rotate_image(given.rgb, turns), depth=rotate_image(given.depth, turns))
    frame = to_frame(stored, SourceOptions(images_turned=turned), frame_id=0)
    assert (frame.rgb == given.rgb).all()


def test_mirrored_images_are_flipped_back() -> None:
    given = record()
    stored = dataclasses.replace(given, rgb=given.rgb[:, ::-1], depth=given.depth[:, ::-1])
    assert (to_frame(stored, SourceOptions(mirrored=True), frame_id=0).rgb == given.rgb).all()


@pytest.mark.parametrize("rotation", ["90", "180", "270"])
def test_making_an_image_upright_keeps_every_point_where_it_is(rotation: str) -> None:
    plain = to_frame(record(), SourceOptions(), frame_id=0)
    turned = to_frame(record(), SourceOptions(image_rotation=rotation), frame_id=0)
    points = rotate_image(plain.T_world_camera.transform(plain.points()), int(rotation) // 90)
    assert np.allclose(turned.T_world_camera.transform(turned.points()), points, atol=1e-5)


def test_depth_of_another_size_gets_the_same_view() -> None:
    small = render(POSE, CAMERA.resized(80, 60))[1]
    given = dataclasses.replace(record(), depth=np.round(small * 1000).astype(np.uint16))
    frame = to_frame(given, SourceOptions(), frame_id=0)
    assert frame.camera_of_depth == CAMERA.resized(80, 60)


def test_low_confidence_depth_is_dropped() -> None:
    confidence = np.full((120, 160), 2, dtype=np.uint8)
    confidence[:10] = 0
    frame = to_frame(dataclasses.replace(record(), confidence=confidence), SourceOptions(), frame_id=0)
    assert np.isnan(frame.depth[:10]).all()
    assert not np.isnan(frame.depth[10:]).any()


def test_intrinsics_of_another_size_are_refused_with_the_remedy() -> None:
    given = dataclasses.replace(record(), intrinsics=CAMERA.resized(320, 240))
    with pytest.raises(SourceError, match="rescale_intrinsics = true"):
        to_frame(given, SourceOptions(), frame_id=0)
    frame = to_frame(given, SourceOptions(rescale_intrinsics=True), frame_id=0)
    assert frame.intrinsics.fx == pytest.approx(CAMERA.fx)


def test_a_nan_pose_is_refused() -> None:
    with pytest.raises(InvalidValue, match="NaN"):
        to_frame(dataclasses.replace(record(), translation=np.full(3, np.nan)), SourceOptions(), frame_id=0)


@given(poses, st.integers(0, 3), st.floats(-1, 1), st.floats(-1, 1), st.floats(0.5, 4))
def test_a_turned_camera_sees_the_same_point_at_the_turned_pixel(
    pose: object, turns: int, x: float, y: float, z: float
) -> None:
    assert isinstance(pose, Pose3D)
    world = pose.transform([x, y, z])
    u, v = SMALL.project([x, y, z])
    for _ in range(turns):
        u, v = (SMALL.height if _ % 2 == 0 else SMALL.width) - 1 - v, u
    seen = rotate_intrinsics(SMALL, turns).project(rotate_pose(pose, turns).inverse().transform(world))
    assert np.allclose(seen, [u, v], atol=1e-5 * max(1.0, float(np.abs(pose.translation).max())))


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_turning_a_picture_is_rendering_with_the_turned_camera(turns: int) -> None:
    pose = looking(-1.0, 0.0, yaw=0.3)
    depth = render(pose, SMALL)[1]
    again = render(rotate_pose(pose, turns), rotate_intrinsics(SMALL, turns))[1]
    assert np.allclose(rotate_image(depth, turns), again, atol=1e-4)


def test_a_box_turns_with_its_image() -> None:
    image = np.zeros((48, 64), dtype=bool)
    image[5:9, 10:30] = True
    for turns in range(4):
        left, top, right, bottom = rotate_box((10, 5, 30, 9), turns, width=64, height=48)
        turned = rotate_image(image, turns)
        assert turned[int(top) : int(bottom), int(left) : int(right)].all()
        assert turned.sum() == (right - left) * (bottom - top)
