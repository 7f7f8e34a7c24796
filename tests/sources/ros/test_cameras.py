from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, camera_from_opencv
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.lens import Lens
from lastseen.sources.record import BEYOND_LENS
from tests.sources.room import CAMERA, looking, render
from tests.sources.ros.bags import COLOR, DEPTH, DEPTH_INFO, INFO, OPTICAL, START, Bag

POSE = looking(-0.5, 0.1, yaw=0.2)
DISTORTION = (-0.28, 0.09, 0.001, -0.002, -0.01)
# a depth camera 6 cm to the left of colour, with a wider view and turned a little
OWN = Intrinsics(120.0, 122.0, 82.0, 58.0, 160, 120)
T_COLOR_DEPTH = Pose3D.from_quaternion([-0.06, 0.004, 0.002], [0.0, 0.01, 0.0, 1.0])
DEPTH_FRAME = "camera_depth_optical_frame"


def distorted_bag(model: str = "plumb_bob") -> Bag:
    bag = Bag()
    rgb, depth = render(POSE, lens=Lens("plumb_bob", DISTORTION))
    bag.info(INFO, START, distortion=DISTORTION, model=model)
    bag.image(COLOR, START, rgb, "rgb8")
    bag.image(DEPTH, START, depth, "32FC1")
    bag.tf("map", OPTICAL, START, POSE)
    return bag


def apart_bag(*, tf: bool = True, millimetres: bool = False) -> Bag:
    bag = Bag()
    bag.info(INFO, START)
    bag.info(DEPTH_INFO, START, OWN)
    bag.image(COLOR, START, render(POSE)[0], "rgb8")
    depth = render(POSE @ T_COLOR_DEPTH, OWN)[1]
    if millimetres:
        bag.image(DEPTH, START, np.round(depth * 1000).astype(np.uint16), "16UC1", frame=DEPTH_FRAME)
    else:
        bag.image(DEPTH, START, depth, "32FC1", frame=DEPTH_FRAME)
    bag.tf("map", "camera_link", START, POSE)
    mount = Pose3D.identity()
    bag.tf("camera_link", OPTICAL, START, mount, static=True)
    if tf:
        bag.tf("camera_link", DEPTH_FRAME, START, T_COLOR_DEPTH, static=True)
    return bag


def test_a_distorted_image_is_undistorted(tmp_path: Path) -> None:
    with open_source(distorted_bag().write(tmp_path)) as source:
        (frame,) = source.frames()
        assert source.intake.notes == []
    depth = render(POSE)[1]
    off = np.abs(frame.depth - depth)
    assert np.nanmean(off) < 0.25 * np.abs(render(POSE, lens=Lens("plumb_bob", DISTORTION))[1] - depth).mean()
    assert np.isfinite(off).mean() > 0.75


def test_a_lens_nobody_knows_is_said_in_one_line(tmp_path: Path) -> None:
    with open_source(distorted_bag("mei").write(tmp_path)) as source:
        assert len(list(source.frames())) == 1
        notes = source.intake.notes
    assert len(notes) == 2
    assert all("'mei': is not undone here" in note for note in notes)


def test_boxes_of_a_distorted_image_follow_it(tmp_path: Path) -> None:
    bag = distorted_bag()
    bag.boxes("/detections", START, [((4.0, 3.0, 40.0, 30.0), "mug", 0.8)])
    with open_source(bag.write(tmp_path)) as source:
        (frame,) = source.frames()
        detector = source.detector()
        assert detector is not None
        (found,) = detector.detect(frame)
    assert found.box[0] < 3.0


def test_a_box_outside_the_undistorted_image_is_counted(tmp_path: Path) -> None:
    bag = distorted_bag()
    rim, seen = (0.0, 0.0, 1.0, 1.0), (60.0, 40.0, 90.0, 70.0)
    bag.boxes("/detections", START, [(rim, "book", 0.9), (seen, "mug", 0.8)])
    with open_source(bag.write(tmp_path)) as source:
        detector = source.detector()
        assert detector is not None
        (frame,) = source.frames()
        assert [one.label for one in detector.detect(frame)] == ["mug"]
        assert source.intake.skipped == {BEYOND_LENS: 1}


@pytest.mark.parametrize("millimetres", [False, True])
def test_depth_from_a_place_of_its_own_is_registered(millimetres: bool, tmp_path: Path) -> None:
    with open_source(apart_bag(millimetres=millimetres).write(tmp_path)) as source:
        (frame,) = source.frames()
        assert source.intake.notes == []
    camera = frame.camera_of_depth
    truth = render(POSE, camera)[1]
    off = np.abs(frame.depth - truth)
    assert np.isfinite(off).mean() > 0.85
    assert np.nanmedian(off) < 0.01
    assert (off[np.isfinite(off)] > 0.1).mean() < 0.05
    # it shows what colour shows, in as many pixels as depth has
    assert camera.fx / camera.width == pytest.approx(CAMERA.fx / CAMERA.width, rel=0.01)
    assert camera.width == round(160 * 120 / 140)


@pytest.mark.parametrize("change", ["images_turned=90", "images_turned=180", "mirrored=true"])
def test_depth_of_images_changed_after_capture_is_left_as_it_is_and_said(change: str, tmp_path: Path) -> None:
    with open_source(apart_bag().write(tmp_path), changes=[change]) as source:
        (record,) = source.records()
        assert source.intake.notes == [
            f"{DEPTH} is not registered to colour: both are turned or flipped after capture"
        ]
    assert (record.depth == render(POSE @ T_COLOR_DEPTH, OWN)[1]).all()


def test_depth_that_tf_does_not_place_is_said(tmp_path: Path) -> None:
    with open_source(apart_bag(tf=False).write(tmp_path)) as source:
        assert len(list(source.frames())) == 1
        (note,) = source.intake.notes
    assert DEPTH_FRAME in note
    assert "tf does not say how they stand" in note


def test_a_camera_frame_that_corrects_the_headers_leaves_depth_where_it_is(tmp_path: Path) -> None:
    bag = Bag()
    bag.info(INFO, START)
    rgb, depth = render(POSE)
    bag.image(COLOR, START, rgb, "rgb8", frame="camera_link")
    bag.image(DEPTH, START, depth, "32FC1", frame="camera_link")
    body = camera_from_opencv(Pose3D.identity(), CameraAxes.ROS_BODY)
    bag.tf("map", "camera_link", START, POSE @ body)
    bag.tf("camera_link", OPTICAL, START, body.inverse(), static=True)
    with open_source(bag.write(tmp_path), SourceOptions(camera_frame=OPTICAL)) as source:
        (frame,) = source.frames()
        assert source.intake.notes == []
    assert (frame.depth == depth).all()
    assert frame.T_world_camera.angle_to(POSE) < 1e-6


def test_depth_is_registered_where_tf_begins_after_the_first_image(tmp_path: Path) -> None:
    bag = apart_bag(tf=False)
    later = START + 1.0
    bag.image(COLOR, later, render(POSE)[0], "rgb8")
    bag.image(DEPTH, later, render(POSE @ T_COLOR_DEPTH, OWN)[1], "32FC1", frame=DEPTH_FRAME)
    for stamp in (later - 0.1, later + 0.1):
        bag.tf("map", "camera_link", stamp, POSE)
        bag.tf("camera_link", DEPTH_FRAME, stamp, T_COLOR_DEPTH)
    with open_source(bag.write(tmp_path)) as source:
        frames = list(source.frames())
        assert source.intake.notes == []
    off = np.abs(frames[-1].depth - render(POSE, frames[-1].camera_of_depth)[1])
    assert np.nanmedian(off) < 0.01


def test_a_wrong_frame_names_those_that_are_there(tmp_path: Path) -> None:
    path = apart_bag().write(tmp_path)
    with pytest.raises(SourceError, match=rf"world_frame.*tf has: .*{DEPTH_FRAME}.*camera_link, map"):
        open_source(path, SourceOptions(world_frame="wrold"))
    with pytest.raises(SourceError, match=r"camera_frame.*tf has: .*map"):
        open_source(path, SourceOptions(camera_frame="cam"))
