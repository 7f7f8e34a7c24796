"""One grid over every folder layout: the same frames come out, and what is wrong with a folder is one line."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import LastseenError, SourceError
from lastseen.sources import open_source
from lastseen.sources.ros.writing import record
from tests.sources.layouts import COUNT, VARIANTS, WRITERS, save
from tests.sources.room import render, walk

pytest.importorskip("av")
pytest.importorskip("liblzfse")


@pytest.fixture(scope="module", params=list(WRITERS))
def layout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return WRITERS[request.param](tmp_path_factory.mktemp("layout") / "recording")


def test_frames_come_with_their_poses_and_metric_depth(layout: Path) -> None:
    check_frames(layout)


@pytest.mark.parametrize("name", list(VARIANTS))
def test_the_forms_of_a_layout_give_the_same_frames(name: str, tmp_path: Path) -> None:
    check_frames(VARIANTS[name](tmp_path / "recording"))


def check_frames(layout: Path) -> None:
    with open_source(layout) as source:
        found = list(source.frames())
        assert len(found) == COUNT == source.length()
        assert not source.intake.skipped
    for frame, pose in zip(found, walk(COUNT), strict=True):
        assert frame.T_world_camera.distance_to(pose) < 1e-4
        assert frame.T_world_camera.angle_to(pose) < 1e-4
        rgb, _ = render(pose, frame.intrinsics)
        _, depth = render(pose, frame.camera_of_depth)
        assert np.nanmedian(np.abs(frame.depth - depth)) < 0.005
        assert np.abs(frame.rgb.astype(int) - rgb.astype(int)).mean() < 12
    assert all(later.stamp > earlier.stamp for earlier, later in pairwise(found))


def test_a_layout_is_recorded_as_mcap_and_reads_back(layout: Path, tmp_path: Path) -> None:
    with open_source(layout) as source:
        assert record(source, tmp_path / "out.mcap") == COUNT
    with open_source(tmp_path / "out.mcap") as source:
        for frame, pose in zip(source.frames(), walk(COUNT), strict=True):
            assert frame.T_world_camera.distance_to(pose) < 1e-4


def _copy(layout: Path, out: Path) -> Path:
    if layout.is_file():
        out.mkdir()
        return Path(shutil.copy(layout, out))
    shutil.copytree(layout.parent if layout.name == "room0" else layout, out)
    return out / layout.name if layout.name == "room0" else out


def _read(path: Path) -> tuple[int, str]:
    """How many frames came, and the error where there was one."""
    try:
        with open_source(path) as source:
            return len(list(source.frames())), ""
    except LastseenError as error:
        return 0, str(error)


def test_every_missing_file_is_one_line_or_a_counted_frame(layout: Path, tmp_path: Path) -> None:
    files = [path.relative_to(layout) for path in sorted(layout.rglob("*")) if path.is_file()]
    for number, missing in enumerate(files):
        folder = _copy(layout, tmp_path / str(number))
        (folder / missing).unlink()
        count, problem = _read(folder)
        if problem:
            assert any(name in problem for name in (str(folder)[-20:], missing.name, missing.parts[0]))
        else:
            # a confidence map or a camera file may be missing without harm, an image costs its frame
            assert count >= COUNT - 1
        shutil.rmtree(tmp_path / str(number))


@pytest.mark.parametrize("damage", ["empty", "cut", "noise"])
def test_every_broken_file_is_one_line_or_a_counted_frame(layout: Path, damage: str, tmp_path: Path) -> None:
    files = [layout] if layout.is_file() else [path for path in sorted(layout.rglob("*")) if path.is_file()]
    kinds = {(path.parent.name, path.suffix): path for path in files}
    for number, path in enumerate(kinds.values()):
        folder = _copy(layout, tmp_path / str(number))
        broken = folder if layout.is_file() else folder / path.relative_to(layout)
        data = broken.read_bytes()
        noise = bytes(np.random.default_rng(number).integers(0, 256, len(data), dtype=np.uint8))
        broken.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "noise": noise}[damage])
        _, problem = _read(folder)
        assert "\n" not in problem


def test_images_of_another_size_are_counted(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    save(folder / "color" / "2.jpg", np.zeros((60, 90, 3), dtype=np.uint8))
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT - 1
        assert source.intake.skipped.total() == 1


def test_a_pose_that_lost_track_is_counted(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    (folder / "pose" / "3.txt").write_text("\n".join(["-inf -inf -inf -inf"] * 4))
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT - 1
        assert source.intake.skipped == {"no pose at this stamp": 1}


def test_a_folder_of_recordings_names_them(tmp_path: Path) -> None:
    WRITERS["7-Scenes"](tmp_path / "chess" / "seq-01")
    with pytest.raises(SourceError, match=r"holds recordings \(seq-01\); give one of them"):
        open_source(tmp_path / "chess")


def test_counts_that_do_not_match_are_one_line(tmp_path: Path) -> None:
    folder = WRITERS["video with depth"](tmp_path / "video")
    (folder / "depth" / "00003.png").unlink()
    with pytest.raises(SourceError, match=r"5 images.*does not match 6 pictures"):
        open_source(folder)


def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    folder = WRITERS["nerfstudio"](tmp_path / "capture")
    text = (folder / "transforms.json").read_text().replace("images/frame_00000.png", "../../secret.png")
    (folder / "transforms.json").write_text(text)
    with pytest.raises(SourceError, match="does not lie in the folder"):
        open_source(folder)


def test_the_cameras_of_the_tum_benchmark_are_known_by_name(tmp_path: Path) -> None:
    folder = WRITERS["TUM"](tmp_path / "rgbd_dataset_freiburg2_desk")
    (folder / "camera.json").unlink()
    with open_source(folder, changes=["rescale_intrinsics=true", "depth_scale=1000"]) as source:
        frame = next(source.frames())
    assert frame.intrinsics.fx == pytest.approx(520.9 / 4)


def test_a_real_folder_of_open3d_is_read(shared_data: Path) -> None:
    with open_source(shared_data / "open3d_livingroom") as source:
        first = next(source.frames())
        assert source.length() == 211
    assert first.intrinsics.fx == 525.0


@pytest.mark.parametrize("name", ["seq-01.zip", "rgbd_dataset_freiburg1_desk.tgz", "scene0000_00.sens"])
def test_what_is_packed_is_told_to_be_unpacked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(SourceError, match=rf"{name}.*; (unpack|export) it"):
        open_source(tmp_path / name)


def test_pictures_that_a_video_lacks_are_counted(tmp_path: Path) -> None:
    folder = WRITERS["Stray Scanner"](tmp_path / "scan")
    rows = (folder / "odometry.csv").read_text().splitlines()
    later = rows[-1].replace(f", {COUNT - 1}, ", ", 7, ", 1)
    (folder / "odometry.csv").write_text("\n".join([*rows, later]))
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT
        assert source.intake.skipped == {"no such picture in the video": 1}


def test_an_array_of_objects_is_never_unpickled(tmp_path: Path) -> None:
    folder = VARIANTS["Stray Scanner, images"](tmp_path / "scan")
    np.save(folder / "depth" / "000002.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT - 1
