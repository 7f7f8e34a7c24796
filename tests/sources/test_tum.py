from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lastseen.detection import encode_mask
from lastseen.errors import SettingsError, SourceError
from lastseen.geometry import Intrinsics
from lastseen.protocols import Detector, Source
from lastseen.sources import SourceOptions, open_source
from tests.sources.layouts import COUNT, WRITERS
from tests.sources.room import walk, write_recording


def test_lines_that_are_there_twice_give_one_frame(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "walk", walk(4))
    for name in ("rgb.txt", "groundtruth.txt"):
        lines = [line for line in (folder / name).read_text().splitlines() if line[0] != "#"]
        other = [f"{line.split()[0]} 9 9 9 0 0 0 1" for line in lines] if name == "groundtruth.txt" else lines
        (folder / name).write_text("\n".join([*lines, *other]))
    with open_source(folder) as source:
        frames = list(source.frames())
        assert any(note.startswith("4 lines of groundtruth.txt have the stamp") for note in source.intake.notes)
    assert max(frame.T_world_camera.distance_to(pose) for frame, pose in zip(frames, walk(4), strict=True)) < 1e-4


def test_a_stored_walk_comes_back_as_it_was(stored_walk: Path) -> None:
    source = open_source(stored_walk)
    frames = list(source.frames())
    assert isinstance(open_source(stored_walk), Source)
    assert [frame.id for frame in frames] == list(range(16))
    assert all(frame.T_world_camera.distance_to(pose) < 1e-6 for frame, pose in zip(frames, walk(), strict=True))
    assert source.intake.frames == 16
    assert not source.intake.skipped


def test_depth_of_another_size_is_read(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "r", walk(2), depth_size=(80, 60))
    frame = next(iter(open_source(folder).frames()))
    assert frame.depth.shape == (60, 80)
    assert frame.rgb.shape == (120, 160, 3)


def test_the_pose_between_two_stored_ones_is_interpolated(short_walk: Path) -> None:
    lines = (short_walk / "groundtruth.txt").read_text().splitlines()
    (short_walk / "groundtruth.txt").write_text("\n".join([lines[1], *lines[3:]]))
    frames = list(open_source(short_walk).frames())
    poses = walk(4)
    assert np.allclose(
        frames[1].T_world_camera.translation, (poses[0].translation + poses[2].translation) / 2, atol=1e-6
    )


def test_no_pose_is_invented_across_a_gap(short_walk: Path) -> None:
    lines = (short_walk / "groundtruth.txt").read_text().splitlines()
    (short_walk / "groundtruth.txt").write_text("\n".join([lines[1], *lines[3:]]))
    source = open_source(short_walk, SourceOptions(max_pose_gap=0.05))
    assert len(list(source.frames())) == 3
    assert source.intake.skipped == {"no pose at this stamp": 1}


def break_zero_depth(folder: Path) -> str:
    (folder / "depth" / "100.100000.png").write_bytes(b"")
    return "unreadable depth"


def break_truncated_colour(folder: Path) -> str:
    path = folder / "rgb" / "100.100000.png"
    path.write_bytes(path.read_bytes()[:200])
    return "unreadable rgb"


def break_missing_colour(folder: Path) -> str:
    (folder / "rgb" / "100.100000.png").unlink()
    return "unreadable rgb"


def break_colour_as_depth(folder: Path) -> str:
    (folder / "depth" / "100.100000.png").write_bytes((folder / "rgb" / "100.100000.png").read_bytes())
    return "unreadable depth"


def break_zero_quaternion(folder: Path) -> str:
    lines = (folder / "groundtruth.txt").read_text().splitlines()
    lines[2] = "100.100000 0 0 0 0 0 0 0"
    (folder / "groundtruth.txt").write_text("\n".join(lines))
    return "unfit pose.quaternion"


def break_late_depth(folder: Path) -> str:
    text = (folder / "depth.txt").read_text()
    (folder / "depth.txt").write_text(text.replace("100.100000 ", "100.150000 "))
    return "no depth image at this stamp"


DAMAGES = [
    break_zero_depth,
    break_truncated_colour,
    break_missing_colour,
    break_colour_as_depth,
    break_zero_quaternion,
    break_late_depth,
]


@pytest.mark.parametrize("fault", DAMAGES, ids=lambda fault: fault.__name__)
def test_a_bad_frame_is_a_counted_skip_with_its_reason(short_walk: Path, fault: object) -> None:
    assert callable(fault)
    reason = fault(short_walk)
    source = open_source(short_walk)
    assert len(list(source.frames())) == 3
    assert source.intake.skipped == {reason: 1}
    assert "100.1" in source.intake.lines()[0]


def test_nan_poses_are_counted_and_bridged(short_walk: Path) -> None:
    lines = (short_walk / "groundtruth.txt").read_text().splitlines()
    lines[2] = "100.100000 nan nan nan 0 0 0 1"
    (short_walk / "groundtruth.txt").write_text("\n".join(lines))
    source = open_source(short_walk)
    assert len(list(source.frames())) == 4
    assert source.intake.skipped == {"NaN pose in groundtruth.txt": 1}


def test_lines_out_of_order_are_sorted_and_counted(short_walk: Path) -> None:
    lines = (short_walk / "rgb.txt").read_text().splitlines()
    (short_walk / "rgb.txt").write_text("\n".join([lines[2], lines[1], *lines[3:]]))
    source = open_source(short_walk)
    stamps = [frame.stamp for frame in source.frames()]
    assert stamps == sorted(stamps)
    assert source.intake.out_of_order == 1


def test_a_malformed_line_is_counted(short_walk: Path) -> None:
    with (short_walk / "rgb.txt").open("a") as file:
        file.write("not-a-stamp rgb/x.png\n")
    source = open_source(short_walk)
    assert len(list(source.frames())) == 4
    assert source.intake.skipped == {"malformed line in rgb.txt": 1}


@pytest.mark.parametrize("name", ["depth.txt", "groundtruth.txt", "camera.json"])
def test_a_missing_file_is_one_clear_error(short_walk: Path, name: str) -> None:
    (short_walk / name).unlink()
    with pytest.raises(SourceError, match=name):
        open_source(short_walk)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "must hold an object"),
        ('{"fx": "wide"}', "camera.json fx"),
        ('{"fx": 1, "fy": 1, "cx": 1, "cy": 1, "depth_scale": 0}', "must be positive"),
    ],
)
def test_a_wrong_camera_file_is_one_clear_error(short_walk: Path, text: str, message: str) -> None:
    (short_walk / "camera.json").write_text(text)
    with pytest.raises(SourceError, match=message):
        open_source(short_walk)


def test_intrinsics_may_come_from_the_options(short_walk: Path) -> None:
    (short_walk / "camera.json").unlink()
    first = next(iter(open_source(short_walk, SourceOptions(fx=140, fy=150)).frames()))
    assert first.intrinsics == Intrinsics(140, 150, 79.5, 59.5, 160, 120)


def test_a_clock_that_the_images_do_not_have_is_refused(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    with pytest.raises(SettingsError, match="depth_delay"):
        open_source(folder, SourceOptions(depth_delay=0.1))


def test_poses_of_single_images_may_be_late_too(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    frames = list(open_source(folder, SourceOptions(pose_delay=1 / 30)).frames())
    assert len(frames) == COUNT - 1
    assert frames[0].T_world_camera.distance_to(walk(COUNT)[1]) < 1e-4


def test_an_empty_list_is_one_clear_error(short_walk: Path) -> None:
    (short_walk / "rgb.txt").write_text("# nothing\n")
    with pytest.raises(SourceError, match="lists no images"):
        open_source(short_walk)


def test_a_picture_over_the_limit_is_not_decoded(short_walk: Path) -> None:
    source = open_source(short_walk, SourceOptions(max_pixels=100))
    assert not list(source.frames())
    assert source.intake.skipped == {"unreadable rgb": 4}


def test_detections_come_by_stamp_in_the_pixels_of_the_frame(short_walk: Path) -> None:
    row = {"stamp": 100.1, "box": [10, 20, 30, 60], "score": 0.5, "label": "mug"}
    better = {"stamp": 100.1, "box": [1, 2, 3, 4], "score": 0.9, "labels": {"cup": 0.8}}
    (short_walk / "detections.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(better) + "\n")
    source = open_source(short_walk, SourceOptions(image_rotation="90"))
    detector = source.detector()
    assert isinstance(detector, Detector)
    first, second, *_ = source.frames()
    assert detector.detect(first) == []
    found = detector.detect(second)
    assert [detection.label for detection in found] == ["cup", "mug"]
    assert found[1].box == (120 - 60, 10, 120 - 20, 30)


def test_a_line_may_hold_a_whole_frame_with_masks(short_walk: Path) -> None:
    mask = np.zeros((120, 160), dtype=bool)
    mask[20:60, 10:30] = True
    inner = [{"box": [10, 20, 30, 60], "score": 0.5, "labels": {"mug": 0.5}, "mask": encode_mask(mask)}]
    (short_walk / "detections.jsonl").write_text(json.dumps({"stamp": 100.0, "detections": inner}) + "\n")
    source = open_source(short_walk, SourceOptions(image_rotation="90"))
    detector = source.detector()
    assert detector is not None
    (found,) = detector.detect(next(iter(source.frames())))
    left, top, right, bottom = (int(value) for value in found.box)
    assert found.mask is not None
    assert found.mask.shape == (160, 120)
    assert found.mask[top:bottom, left:right].all()
    assert found.mask.sum() == mask.sum()


def test_no_detections_is_no_detector(stored_walk: Path) -> None:
    assert open_source(stored_walk).detector() is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "must be an object"),
        ('{"stamp": 1, "box": [1, 2]}', "four numbers"),
        ('{"stamp": "x", "box": [1, 2, 3, 4]}', "must be finite numbers"),
        ('{"stamp": 1, "box": [3, 2, 1, 4]}', "is empty"),
        ('{"stamp": 1, "box": [1, 2, 3, 4], "labels": 3}', "must map label"),
        ('{"stamp": 1, "box": [1, 2, 3, 4], "mask": "all"}', "lengths of runs"),
        ('{"stamp": 1, "detections": 3}', "list of objects"),
    ],
)
def test_a_malformed_detection_names_its_line(short_walk: Path, line: str, message: str) -> None:
    (short_walk / "detections.jsonl").write_text("\n" + line)
    with pytest.raises(SourceError, match=rf"line 2.*{message}"):
        open_source(short_walk).detector()


@pytest.mark.parametrize(("name", "count"), [("tum_fr1_rpy_60", 60), ("tum_fr3_cabinet", 58), ("lens_clip", 50)])
def test_a_real_recording_is_read_whole(shared_data: Path, name: str, count: int) -> None:
    source = open_source(shared_data / name)
    assert sum(1 for _ in source.records()) == count
    assert not source.intake.skipped
