"""One grid over every folder layout: the same frames come out, and what is wrong with a folder is one line."""

from __future__ import annotations

import shutil
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import LastseenError, SourceError
from lastseen.geometry import Pose3D, WorldUp, world_to_z_up
from lastseen.sources import open_source
from lastseen.sources.layouts.files import seconds
from lastseen.sources.record import Intake
from lastseen.sources.ros.writing import record
from tests.sources.exports import EXPORT_VARIANTS, EXPORTS
from tests.sources.layouts import COUNT, VARIANTS, WRITERS, save
from tests.sources.room import render, walk

LAYOUTS, FORMS = {**WRITERS, **EXPORTS}, {**VARIANTS, **EXPORT_VARIANTS}

pytest.importorskip("av")
pytest.importorskip("liblzfse")


@pytest.fixture(scope="module", params=list(LAYOUTS))
def layout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return LAYOUTS[request.param](tmp_path_factory.mktemp("layout") / "recording")


def test_frames_come_with_their_poses_and_metric_depth(layout: Path) -> None:
    check_frames(layout)


@pytest.mark.parametrize("name", list(FORMS))
def test_the_forms_of_a_layout_give_the_same_frames(name: str, tmp_path: Path) -> None:
    check_frames(FORMS[name](tmp_path / "recording"))


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
    # some files may lie above the folder that is opened
    whole = next(folder for folder in (layout, *layout.parents) if folder.name == "recording")
    shutil.copytree(whole, out)
    return out / layout.relative_to(whole)


def _read(path: Path) -> tuple[int, str]:
    """How many frames came, and the error or what was left out, where there was any."""
    try:
        with open_source(path) as source:
            return len(list(source.frames())), "; ".join(source.intake.lines())
    except LastseenError as error:
        return 0, str(error)


def test_every_missing_file_is_one_line_or_a_counted_frame(layout: Path, tmp_path: Path) -> None:
    files = [path.relative_to(layout) for path in sorted(layout.rglob("*")) if path.is_file()]
    for number, missing in enumerate(files):
        folder = _copy(layout, tmp_path / str(number))
        (folder / missing).unlink()
        count, problem = _read(folder)
        if not count:
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


def test_a_git_lfs_pointer_is_called_one(layout: Path, tmp_path: Path) -> None:
    files = [layout] if layout.is_file() else [path for path in sorted(layout.rglob("*")) if path.is_file()]
    kinds = {(path.parent.name, path.suffix): path for path in files}
    for number, path in enumerate(kinds.values()):
        folder = _copy(layout, tmp_path / str(number))
        pointer = folder if layout.is_file() else folder / path.relative_to(layout)
        pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n")
        _, problem = _read(folder)
        assert f"{path.name} = " in problem
        assert "is a Git LFS pointer" in problem


@pytest.mark.parametrize("name", ["color/2.jpg", "depth/2.png"])
def test_an_image_of_another_size_is_named_and_left_out(tmp_path: Path, name: str) -> None:
    """Depth of another shape would be stretched over colour, and every thing lifted to a wrong place."""
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    shape = (60, 90, 3) if name.startswith("color") else (60, 90)
    save(folder / name, np.full(shape, 200, dtype=np.uint8))
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT - 1
        assert source.intake.lines()[0].startswith(f"1 skipped: image of another size (first: {name} is 90x60")


def test_chosen_frames_of_open3d_keep_their_own_poses(tmp_path: Path) -> None:
    folder = WRITERS["Open3D"](tmp_path / "walk")
    for number in (1, 3, 4):
        (folder / "color" / f"{number:05d}.jpg").unlink()
        (folder / "depth" / f"{number:05d}.png").unlink()
    poses = walk(COUNT)
    with open_source(folder) as source:
        for frame, number in zip(source.frames(), (0, 2, 5), strict=True):
            assert frame.T_world_camera.distance_to(poses[number]) < 1e-4


def test_open3d_pairs_by_number_where_a_depth_image_is_lost(tmp_path: Path) -> None:
    folder = WRITERS["Open3D"](tmp_path / "walk")
    (folder / "depth" / "00002.png").unlink()
    poses = walk(COUNT)
    with open_source(folder) as source:
        for frame, number in zip(source.frames(), (0, 1, 3, 4, 5), strict=True):
            assert np.nanmedian(np.abs(frame.depth - render(poses[number], frame.camera_of_depth)[1])) < 0.005
        assert source.intake.skipped == {"no depth image at this stamp": 1}


def test_depth_in_another_format_is_named_with_what_to_store(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    for file in (folder / "depth").iterdir():
        file.rename(file.with_suffix(".webp"))
    with pytest.raises(SourceError, match=r"depth.*but .webp; store depth as 16-bit PNG, .npy, TIFF or EXR"):
        open_source(folder)


def test_poses_of_rgbd_scenes_that_were_not_downloaded_are_asked_for(tmp_path: Path) -> None:
    folder = WRITERS["RGB-D Scenes v2"](tmp_path / "rgbd-scenes-v2")
    shutil.rmtree(tmp_path / "rgbd-scenes-v2" / "pc")
    with pytest.raises(SourceError, match=r"01.pose.*does not exist; unpack rgbd-scenes-v2_pc.zip"):
        open_source(folder)


def test_a_packed_frame_of_scannetpp_that_is_broken_is_left_out(tmp_path: Path) -> None:
    folder = VARIANTS["ScanNet++, as downloaded"](tmp_path / "scan")
    data = bytearray((folder / "depth.bin").read_bytes())
    size = int.from_bytes(data[:4], "little")
    data[4 : 4 + size] = bytes(size)
    (folder / "depth.bin").write_bytes(data[:-100])
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT - 2
        assert dict(source.intake.skipped) == {"unreadable depth.bin": 1, "no depth image at this stamp": 1}


def test_what_is_no_depth_of_scannetpp_is_told_to_be_unpacked(tmp_path: Path) -> None:
    folder = VARIANTS["ScanNet++, as downloaded"](tmp_path / "scan")
    (folder / "depth.bin").write_bytes(b"\xff" * 4000)
    with pytest.raises(SourceError, match=r"depth.bin frame 0 = .*is no size of a frame; download it again"):
        open_source(folder)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("ScanNet", "color"),
        ("Replica", "traj.txt"),
        ("Stray Scanner", "rgb.mp4"),
        ("ARKitScenes", "lowres_wide.traj"),
    ],
)
def test_what_a_folder_lacks_to_be_a_layout_is_named(tmp_path: Path, name: str, part: str) -> None:
    folder = WRITERS[name](tmp_path / "scan")
    lost = folder / part
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    with pytest.raises(SourceError, match=rf"is like a folder of {name} but has no {part}"):
        open_source(folder)


def test_numbers_that_are_no_camera_name_the_recording(tmp_path: Path) -> None:
    folder = WRITERS["TUM"](tmp_path / "walk")
    (folder / "camera.json").write_text('{"fx": 0, "fy": 1, "cx": 1, "cy": 1}')
    with pytest.raises(SourceError, match=r"walk: intrinsics.fx = 0.0: must be positive"):
        open_source(folder)


def test_text_as_windows_writes_it_is_read(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    (folder / "pose" / "3.txt").write_text("\r\n".join(["-1.#IND -1.#IND -1.#IND -1.#IND"] * 4))
    marked = folder / "pose" / "2.txt"
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes())
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT - 1
        assert source.intake.skipped == {"no pose at this stamp": 1}


def test_an_archive_without_its_metadata_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "walk.r3d", "w") as archive:
        archive.writestr("rgbd/0.jpg", b"")
    with pytest.raises(SourceError, match=r"metadata = '.*walk.r3d': is not in it; share it from Record3D again"):
        open_source(tmp_path / "walk.r3d")


def test_files_that_share_a_number_are_refused(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    shutil.copy(folder / "color" / "2.jpg", folder / "color" / "0002.jpg")
    with pytest.raises(SourceError, match=r"holds two files of one number \(0002.jpg and 2.jpg\)"):
        open_source(folder)


@pytest.mark.parametrize("name", ["walk.svo2", "clip.mp4", "model.ply", "walk.MCAP"])
def test_a_file_that_no_source_reads_says_what_to_give(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"some bytes")
    with pytest.raises(SourceError, match=rf"{name}.*; (export|give|rename)"):
        open_source(tmp_path / name)


def test_a_pose_that_lost_track_is_counted(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    (folder / "pose" / "3.txt").write_text("\n".join(["-inf -inf -inf -inf"] * 4))
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT - 1
        assert source.intake.skipped == {"no pose at this stamp": 1}


def test_a_folder_of_recordings_names_them(tmp_path: Path) -> None:
    for name in ("seq-01", "seq-02"):
        WRITERS["7-Scenes"](tmp_path / "chess" / name)
    with pytest.raises(SourceError, match=r"holds recordings \(seq-01, seq-02\); give one of them"):
        open_source(tmp_path / "chess")


def test_the_only_recording_in_a_folder_is_opened_with_the_options_beside_it(tmp_path: Path) -> None:
    folder = WRITERS["ScanNet"](tmp_path / "download" / "scans" / "scene0000_00")
    (tmp_path / "download" / "source.toml").write_text('map_id = "home"')
    with open_source(tmp_path / "download") as source:
        assert source.address == str(folder)
        assert source.options.map_id == "home"


def test_poses_of_another_clock_are_told_with_the_option(tmp_path: Path) -> None:
    folder = WRITERS["TUM"](tmp_path / "walk")
    rows = [line.split() for line in (folder / "groundtruth.txt").read_text().splitlines() if line[0] != "#"]
    first = float(rows[0][0])
    text = [" ".join([f"{float(row[0]) - first:.6f}", *row[1:]]) for row in rows]
    (folder / "groundtruth.txt").write_text("\n".join(text))
    with open_source(folder) as source:
        assert not list(source.frames())
        line = source.intake.lines()[0]
    assert f"--set pose_delay=-{first:.3f}" in line
    with open_source(folder, changes=[line.rpartition("--set ")[2].rstrip(")")]) as source:
        assert len(list(source.frames())) == COUNT


def test_fewer_poses_than_images_without_stamps_are_refused(tmp_path: Path) -> None:
    folder = VARIANTS["colour and depth in one folder"](tmp_path / "walk")
    (folder / "times.txt").unlink()
    rows = (folder / "poses.txt").read_text().splitlines()[:-2]
    (folder / "poses.txt").write_text("\n".join(f"{number / 6} {row}" for number, row in enumerate(rows)))
    with pytest.raises(SourceError, match=r"4 poses.*does not match 6 colour images; one for each"):
        open_source(folder)


@pytest.mark.parametrize(
    ("stamps", "apart"),
    [
        ([0.0, 33.0, 66.0, 99.0], 0.033),
        ([0.0, 5.0, 10.0, 15.0], 5.0),
        ([1.7e9, 1.7e9 + 20, 1.7e9 + 40], 20.0),
        ([1.7e12, 1.7e12 + 33, 1.7e12 + 66], 0.033),
        ([0.0, 33_333.0, 66_666.0, 99_999.0], 0.033333),
        ([1.7e18, 1.7e18 + 33e6, 1.7e18 + 66e6], 0.033),
    ],
)
def test_the_unit_of_stamps_is_known_by_their_size(stamps: list[float], apart: float) -> None:
    found = seconds(np.array(stamps), "rgb.txt", Intake())
    assert np.median(np.diff(found)) == pytest.approx(apart, abs=1e-6)


def test_stamps_in_a_file_of_their_own_are_taken(tmp_path: Path) -> None:
    with open_source(VARIANTS["colour and depth in one folder"](tmp_path / "walk")) as source:
        assert [frame.stamp for frame in source.frames()] == [0.25 * number for number in range(COUNT)]
        assert not source.intake.notes


@pytest.mark.parametrize(
    ("stamps", "problem"),
    [([0, 1, 2], "3 stamps.*does not match 6 images"), ([0, 1, 2, 5, 4, 6], "goes back at stamp 5")],
)
def test_stamps_in_a_file_that_do_not_fit_are_refused(tmp_path: Path, stamps: list[int], problem: str) -> None:
    folder = VARIANTS["colour and depth in one folder"](tmp_path / "walk")
    (folder / "times.txt").write_text("\n".join(map(str, stamps)))
    with pytest.raises(SourceError, match=rf"times.txt = .*{problem}"):
        open_source(folder)


def test_more_poses_than_images_are_noted(tmp_path: Path) -> None:
    folder = VARIANTS["colour and depth in one folder"](tmp_path / "walk")
    (folder / "poses.txt").write_text(2 * (folder / "poses.txt").read_text())
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT
        assert source.intake.notes == ["12 poses for 6 images: each image has the one of its number"]


@pytest.mark.parametrize(("name", "file"), [("3RScan", "_info.txt"), ("Replica", "../cam_params.json")])
def test_a_camera_that_is_not_the_datasets_is_asked_for(tmp_path: Path, name: str, file: str) -> None:
    folder = {**WRITERS, **VARIANTS}[name](tmp_path / "scan")
    (folder / file).unlink()
    with pytest.raises(SourceError, match=rf"{Path(file).name.lstrip('_')}.*is missing, and images of 160x120"):
        open_source(folder)


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


def test_a_world_of_orb_slam_has_z_up(tmp_path: Path) -> None:
    folder = WRITERS["TUM"](tmp_path / "walk")
    rows = np.loadtxt(folder / "groundtruth.txt")
    poses = [Pose3D(row[1:4], row[4:8]) for row in rows]
    of_first = [poses[0].inverse() @ pose for pose in poses]
    true = [world_to_z_up(pose, WorldUp.MINUS_Y) for pose in of_first]
    table = [[row[0], *pose.translation, *pose.quaternion] for row, pose in zip(rows, of_first, strict=True)]
    (folder / "groundtruth.txt").unlink()
    np.savetxt(folder / "CameraTrajectory.txt", table)
    with open_source(folder) as source:
        found = [frame.T_world_camera for frame in source.frames()]
    assert max(one.distance_to(other) for one, other in zip(found, true, strict=True)) < 1e-4


def test_a_binary_model_of_colmap_is_told_to_be_converted(tmp_path: Path) -> None:
    folder = EXPORTS["COLMAP"](tmp_path / "room")
    for file in (folder / "sparse" / "0").iterdir():
        file.rename(file.with_suffix(".bin"))
    with pytest.raises(SourceError, match=r"images.bin.*is binary; colmap model_converter"):
        open_source(folder)


def test_a_name_of_colmap_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    folder = EXPORTS["COLMAP"](tmp_path / "room")
    file = folder / "sparse" / "0" / "images.txt"
    file.write_text(file.read_text().replace(" f2.jpg", " ../../f2.jpg"))
    with pytest.raises(SourceError, match="does not lie in the folder"):
        open_source(folder)


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
