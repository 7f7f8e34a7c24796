from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.sources import open_source
from lastseen.sources.ros.writing import McapRecorder, record
from tests.sources.room import walk, write_recording
from tests.sources.ros.bags import OPTICAL, Bag, images_of
from tests.sources.ros.test_poses import at


@pytest.mark.parametrize(("color", "depth"), [("raw", "32FC1"), ("png", "16UC1"), ("raw", "png")])
def test_a_recorded_source_reads_back_equal(color: str, depth: str, stored_walk: Path, tmp_path: Path) -> None:
    source = open_source(stored_walk)
    out = tmp_path / "walk.mcap"
    assert record(source, out, color=color, depth=depth) == 16
    with open_source(out) as again:
        frames = list(again.frames())
    for frame, copy in zip(source.frames(), frames, strict=True):
        assert copy.stamp == frame.stamp
        assert (copy.rgb == frame.rgb).all()
        assert np.array_equal(copy.depth, frame.depth, equal_nan=True)
        assert copy.intrinsics == frame.intrinsics
        assert np.allclose(copy.T_world_camera.translation, frame.T_world_camera.translation, atol=1e-12)
        assert copy.T_world_camera.angle_to(frame.T_world_camera) < 1e-12
    assert [path.name for path in tmp_path.iterdir()] == ["walk.mcap"]


def test_depth_of_another_size_keeps_its_camera(tmp_path: Path) -> None:
    source = open_source(write_recording(tmp_path / "tum", walk(2), depth_size=(80, 60)))
    record(source, tmp_path / "walk.mcap")
    with open_source(tmp_path / "walk.mcap") as again:
        assert [frame.depth_intrinsics for frame in again.frames()] == [
            frame.depth_intrinsics for frame in source.frames()
        ]


def test_detections_keep_labels_scores_and_masks(short_walk: Path, tmp_path: Path) -> None:
    frame = next(open_source(short_walk).frames())
    mask = np.zeros(frame.depth.shape, dtype=bool)
    mask[20:40, 30:50] = True
    found = [
        Detection(box=(30.0, 20.0, 50.0, 40.0), score=0.9, labels={"mug": 0.7, "cup": 0.2}, mask=mask),
        Detection(box=(1.0, 2.0, 9.0, 8.5), score=0.4),
    ]
    with McapRecorder(tmp_path / "walk.mcap") as recorder:
        recorder.write(frame, found)
    with open_source(tmp_path / "walk.mcap") as again:
        detector = again.detector()
        assert detector is not None
        read = detector.detect(next(again.frames()))
    assert [(one.box, one.score, dict(one.labels)) for one in read] == [
        (one.box, one.score, dict(one.labels)) for one in found
    ]
    assert read[0].mask is not None
    assert (read[0].mask == mask).all()
    assert read[1].mask is None


def test_revised_poses_replace_the_ones_before(tmp_path: Path) -> None:
    poses = walk(4)
    bag = Bag()
    for number, (stamp, pose) in enumerate(zip(images_of(bag, poses), poses, strict=True)):
        bag.tf("map", "odom", stamp, at(0.0) if number < 3 else at(0.5))
        bag.tf("odom", OPTICAL, stamp, pose)
    path = bag.write(tmp_path)
    with open_source(path, changes=["jump_correction=whole"]) as source:
        record(source, tmp_path / "copy.mcap")
    with open_source(tmp_path / "copy.mcap") as again:
        for frame, pose in zip(again.frames(), poses, strict=True):
            assert np.allclose(frame.T_world_camera.translation, (at(0.5) @ pose).translation)


def test_a_file_is_never_overwritten(stored_walk: Path, tmp_path: Path) -> None:
    (tmp_path / "walk.mcap").write_text("mine")
    with pytest.raises(InvalidValue, match="exists already"):
        record(open_source(stored_walk), tmp_path / "walk.mcap")
    assert (tmp_path / "walk.mcap").read_text() == "mine"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_stop_keeps_what_was_seen_and_a_failure_leaves_nothing(
    error: type[BaseException], stored_walk: Path, tmp_path: Path
) -> None:
    def stop(done: int) -> None:
        if done == 3:
            raise error

    with pytest.raises(error):
        record(open_source(stored_walk), tmp_path / "walk.mcap", progress=stop)
    names = [path.name for path in tmp_path.iterdir()]
    assert names == (["walk.mcap"] if error is KeyboardInterrupt else [])
    if names:
        with open_source(tmp_path / "walk.mcap") as again:
            assert again.length() == 3


@pytest.mark.parametrize(
    ("name", "color", "message"),
    [("walk.bag", "raw", "is no .mcap name"), ("no/walk.mcap", "raw", "no folder"), ("walk.mcap", "gif", "raw, png")],
)
def test_wrong_wishes_are_one_clear_error(
    name: str, color: str, message: str, stored_walk: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidValue, match=message):
        record(open_source(stored_walk), tmp_path / name, color=color)
