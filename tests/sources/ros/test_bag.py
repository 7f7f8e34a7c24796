from __future__ import annotations

import io
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lastseen.config import Settings
from lastseen.errors import SourceError
from lastseen.frame import Frame
from lastseen.geometry import CameraAxes, Pose3D, camera_from_opencv
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perception
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.doctor import examine
from lastseen.sources.follow import follow
from lastseen.sources.ros.bag import STANDS_STILL, BagSource
from lastseen.sources.ros.mcap import MAGIC
from lastseen.sources.ros.messages import DEPTH_HEADER
from tests.sources.room import CAMERA, looking, render, walk
from tests.sources.ros.bags import COLOR, CONTAINERS, DEPTH, INFO, OPTICAL, START, Bag, images_of, walk_bag

POSES = walk(4)


def opened(bag: Bag, folder: Path, container: str = "bare mcap", **options: object) -> BagSource:
    folder.mkdir(exist_ok=True)
    source = open_source(bag.write(folder, container), SourceOptions.from_mapping(options))
    assert isinstance(source, BagSource)
    return source


def frames(bag: Bag, folder: Path, **options: object) -> list[Frame]:
    with opened(bag, folder, "bare mcap", **options) as source:
        return list(source.frames())


def assert_poses(found: list[Frame], wanted: list[Pose3D], *, within: float = 1e-9) -> None:
    assert len(found) == len(wanted)
    for frame, pose in zip(found, wanted, strict=True):
        assert np.allclose(frame.T_world_camera.translation, pose.translation, atol=within)
        assert frame.T_world_camera.angle_to(pose) < within + 1e-7


@pytest.mark.parametrize("metres", [False, True], ids=["16UC1", "32FC1"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_reads_back_equal(container: str, metres: bool, tmp_path: Path) -> None:
    bag = walk_bag(POSES, ros1=container == "ros1", metres=metres)
    with opened(bag, tmp_path, container) as source:
        assert source.length() == 4
        found = list(source.frames())
        assert source.intake.lines() == []
    assert_poses(found, POSES)
    assert [frame.stamp for frame in found] == [START + 0.1 * number for number in range(4)]
    for frame, pose in zip(found, POSES, strict=True):
        rgb, depth = render(pose)
        assert (frame.rgb == rgb).all()
        wanted = depth if metres else np.round(depth * 1000).astype(np.uint16).astype(np.float32) / np.float32(1000)
        assert (frame.depth == wanted).all()
        assert frame.intrinsics == CAMERA


def test_a_source_is_read_again_from_the_start(tmp_path: Path) -> None:
    with opened(walk_bag(POSES), tmp_path) as source:
        assert len(list(source.frames())) == len(list(source.frames())) == 4


def test_tf_between_other_stamps_is_interpolated_along_the_chain(tmp_path: Path) -> None:
    bag = Bag()
    start, end = looking(0.0, 0.0, yaw=0.0), looking(0.4, 0.0, yaw=0.2)
    mount = Pose3D.from_quaternion([0.1, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0])
    bag.tf("odom", "base", START - 0.1, start @ mount.inverse())
    bag.tf("odom", "base", START + 0.1, end @ mount.inverse())
    bag.tf("base", OPTICAL, START - 0.1, mount, static=True)
    images_of(bag, [looking(0.2, 0.0, yaw=0.1)])
    found = frames(bag, tmp_path)
    # the mount swings by a hair in between
    assert_poses(found, [looking(0.2, 0.0, yaw=0.1)], within=0.01)


def test_odometry_stands_in_for_tf(tmp_path: Path) -> None:
    bag = Bag()
    mount = Pose3D.from_quaternion([0.1, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0])
    bag.tf("base_link", OPTICAL, START, mount, static=True)
    for stamp, pose in zip(images_of(bag, POSES), POSES, strict=True):
        bag.odometry("/odom", stamp, pose @ mount.inverse(), child="base_link")
    assert_poses(frames(bag, tmp_path), POSES)


def test_a_pose_topic_is_the_camera_unless_its_frame_is_named(tmp_path: Path) -> None:
    bag = Bag()
    for stamp, pose in zip(images_of(bag, POSES), POSES, strict=True):
        bag.pose("/slam/pose", stamp, pose)
    assert_poses(frames(bag, tmp_path), POSES)


def test_a_named_pose_topic_wins_over_tf(tmp_path: Path) -> None:
    bag = walk_bag(POSES)
    moved = [Pose3D.from_quaternion([1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]) @ pose for pose in POSES]
    for number, pose in enumerate(moved):
        bag.pose("/better", START + 0.1 * number, pose)
    assert_poses(frames(bag, tmp_path, pose_topic="/better"), moved)


def test_a_camera_frame_with_body_axes_is_an_option(tmp_path: Path) -> None:
    bag = Bag()
    for stamp, pose in zip(images_of(bag, POSES), POSES, strict=True):
        bag.tf("map", OPTICAL, stamp, camera_from_opencv(pose, CameraAxes.ROS_BODY))
    assert_poses(frames(bag, tmp_path, camera_axes="ros_body"), POSES, within=1e-7)


def test_the_doctor_finds_body_axes_in_a_bag_and_is_silent_on_a_clean_one(tmp_path: Path) -> None:
    poses = walk(16)[:9]
    body = Bag()
    for stamp, pose in zip(images_of(body, poses), poses, strict=True):
        body.tf("map", OPTICAL, stamp, camera_from_opencv(pose, CameraAxes.ROS_BODY))
    with opened(body, tmp_path / "body") as wrong, opened(walk_bag(poses), tmp_path / "clean") as right:
        report = examine(wrong)
        assert examine(right).faults == []
    assert report.faults == ["camera axes"]
    assert report.options.camera_axes == "ros_body"


def test_compressed_images_are_read(tmp_path: Path) -> None:
    bag = Bag()
    rgb, depth = render(POSES[0])
    raw = np.round(depth * 1000).astype(np.uint16)
    bag.compressed("/cam/color/image_raw/compressed", START, png(rgb), "rgb8; png compressed bgr8")
    bag.compressed(
        "/cam/depth/image_raw/compressedDepth", START, DEPTH_HEADER.pack(0, 0, 0) + png(raw), "16UC1; compressedDepth"
    )
    bag.info("/cam/color/camera_info", START)
    bag.tf("map", OPTICAL, START, POSES[0])
    (frame,) = frames(bag, tmp_path)
    assert (frame.rgb == rgb).all()
    assert np.allclose(frame.depth, raw / 1000.0)


def test_quantized_float_depth_is_read(tmp_path: Path) -> None:
    bag = walk_bag(POSES[:1])
    bag.messages = [row for row in bag.messages if row[0] != DEPTH]
    depth = render(POSES[0])[1]
    scale, offset = 1000.0, -50.0
    inverse = np.round(scale / depth + offset).astype(np.uint16)
    inverse[0, 0] = 0
    data = DEPTH_HEADER.pack(0, scale, offset) + png(inverse)
    bag.compressed("/cam/depth/compressedDepth", START, data, "32FC1; compressedDepth png")
    (frame,) = frames(bag, tmp_path)
    assert np.isnan(frame.depth[0, 0])
    assert np.nanmax(np.abs(frame.depth - depth)) < 0.02


@pytest.mark.parametrize(
    ("encoding", "order"), [("bgr8", [2, 1, 0]), ("rgba8", [0, 1, 2, 0]), ("bgra8", [2, 1, 0, 0])]
)
def test_other_orders_of_colour(encoding: str, order: list[int], tmp_path: Path) -> None:
    bag = walk_bag(POSES[:1])
    bag.messages = [row for row in bag.messages if row[0] != COLOR]
    rgb = render(POSES[0])[0]
    bag.image(COLOR, START, rgb[..., order], encoding)
    assert (frames(bag, tmp_path)[0].rgb == rgb).all()


def test_rows_with_padding_and_big_end_first(tmp_path: Path) -> None:
    bag = walk_bag(POSES[:1])
    raw = np.round(render(POSES[0])[1] * 1000).astype(np.uint16)
    depth = next(message for topic, _, _, message in bag.messages if topic == DEPTH)
    padded = np.concatenate([raw.astype(">u2").view(np.uint8), np.zeros((raw.shape[0], 6), dtype=np.uint8)], axis=1)
    depth.step, depth.is_bigendian, depth.data = padded.shape[1], 1, padded.ravel()
    assert np.allclose(frames(bag, tmp_path)[0].depth, raw / 1000.0)


def test_detections_in_the_bag_are_the_detector(tmp_path: Path) -> None:
    bag = walk_bag(POSES)
    bag.boxes(
        "/detections", START + 0.1, [((10.0, 20.0, 50.0, 60.0), "mug", 0.8), ((0.0, 0.0, 9.0, 9.0), "book", 0.9)]
    )
    with opened(bag, tmp_path) as source:
        detector = source.detector()
        assert detector is not None
        second = list(source.frames())[1]
        found = detector.detect(second)
    assert [(one.label, one.score) for one in found] == [("book", 0.9), ("mug", 0.8)]
    assert found[1].box == (10.0, 20.0, 50.0, 60.0)


def test_a_bag_without_detections_has_no_detector(tmp_path: Path) -> None:
    with opened(walk_bag(POSES), tmp_path) as source:
        assert source.detector() is None


def test_topics_can_be_named_and_a_wrong_name_lists_what_is_there(tmp_path: Path) -> None:
    bag = walk_bag(POSES)
    other = np.zeros((120, 160, 3), dtype=np.uint8)
    for number in range(4):
        bag.image("/second/image_raw", START + 0.1 * number, other, "rgb8")
    path = bag.write(tmp_path)
    with open_source(path, SourceOptions(color_topic="/second/image_raw")) as source:
        assert not next(source.frames()).rgb.any()
    with pytest.raises(SourceError, match="/second/image_raw"):
        open_source(path, SourceOptions(color_topic="/third"))


def test_no_camera_info_names_the_options_that_help(tmp_path: Path) -> None:
    bag = walk_bag(POSES)
    bag.messages = [row for row in bag.messages if row[0] != INFO]
    path = bag.write(tmp_path)
    with open_source(path) as source:
        assert list(source.frames()) == []
        assert "set color_info_topic" in source.intake.examples["unreadable intrinsics"]
    with open_source(path, SourceOptions(fx=140.0, fy=140.0)) as source:
        assert len(list(source.frames())) == 4


def test_an_image_that_is_cut_off_is_counted_and_survived(tmp_path: Path) -> None:
    bag = walk_bag(POSES)
    images = [message for topic, _, _, message in bag.messages if topic == COLOR]
    images[1].data = images[1].data[:1000]
    with opened(bag, tmp_path) as source:
        assert len(list(source.frames())) == 3
        assert source.intake.skipped == {"unreadable color": 1}
        assert "is cut off" in source.intake.examples["unreadable color"]


def test_an_image_larger_than_the_limit_is_refused(tmp_path: Path) -> None:
    with opened(walk_bag(POSES), tmp_path, max_pixels=1000) as source:
        assert list(source.frames()) == []
        assert source.intake.skipped == {"unreadable color": 4}


def test_poses_that_are_no_numbers_are_counted_and_survived(tmp_path: Path) -> None:
    bag = walk_bag(POSES)
    transforms = [message for topic, _, _, message in bag.messages if topic == "/tf"]
    transforms[1].transforms[0].transform.translation.x = float("nan")
    with opened(bag, tmp_path, max_pose_gap=0.05) as source:
        assert len(list(source.frames())) == 3
        assert source.intake.skipped == {"NaN or no pose in tf": 1, "no pose at this stamp": 1}


def test_missing_depth_is_counted(tmp_path: Path) -> None:
    bag = walk_bag(POSES)
    bag.messages = [row for row in bag.messages if not (row[0] == DEPTH and row[2] == round((START + 0.1) * 1e9))]
    with opened(bag, tmp_path) as source:
        assert len(list(source.frames())) == 3
        assert source.intake.skipped == {"no depth image at this stamp": 1}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_bag_that_is_cut_off_before_its_images_or_empty_is_one_clear_error(container: str, tmp_path: Path) -> None:
    path = walk_bag(POSES, ros1=container == "ros1").write(tmp_path, container)
    file = stored_file(path)
    whole = file.read_bytes()
    for kept in (0, 5, 300) if "mcap" in container else (0, 5, len(whole) // 2):
        file.write_bytes(whole[:kept])
        with pytest.raises(SourceError, match=r"cannot be read|has no bytes|finds no colour image"):
            open_source(path)


@pytest.mark.parametrize("container", ["mcap", "mcap zstd", "bare mcap"])
def test_what_lies_before_the_cut_of_an_mcap_is_read(container: str, tmp_path: Path) -> None:
    path = walk_bag(POSES).write(tmp_path, container)
    file = stored_file(path)
    with open_source(path) as source:
        whole = list(source.frames())
        assert source.intake.cut_off == ""
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * (0.6 if container != "mcap zstd" else 0.8))])
    with open_source(path) as source:
        found = list(source.frames())
        told = source.intake.cut_off
        report = examine(source)
    assert 1 <= len(found) < 4
    last = found[-1].stamp
    since = last - START
    assert (
        told
        == f"the recording was cut off after {len(found)} frames (t = {last:.3f} s, {since:.1f} s after the first)"
    )
    assert "cut off after" in report.check("recording complete").figure
    for mine, theirs in zip(found, whole, strict=False):
        assert (mine.rgb == theirs.rgb).all()
        assert np.array_equal(mine.depth, theirs.depth, equal_nan=True)


@pytest.mark.parametrize("container", ["mcap", "sqlite3"])
def test_a_folder_whose_recorder_wrote_no_metadata_is_read(container: str, tmp_path: Path) -> None:
    path = walk_bag(POSES).write(tmp_path, container)
    (path / "metadata.yaml").unlink()
    with open_source(path) as source:
        assert len(list(source.frames())) == 4
        assert "cut off after 4 frames" in source.intake.cut_off


@pytest.mark.parametrize("suffix", [".mcap", ".bag", ".db3"])
def test_what_only_has_the_name_of_a_recording_is_one_clear_line(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"noise{suffix}"
    path.write_bytes(np.random.default_rng(1).bytes(4000))
    with pytest.raises(SourceError, match=r"is no (MCAP file|ROS 1 bag|SQLite database): it does not begin like one"):
        open_source(path)


def stored_file(path: Path) -> Path:
    return path if path.is_file() else next(one for one in path.iterdir() if one.suffix in {".db3", ".mcap"})


@pytest.mark.parametrize("words", ["", "a: [", "rosbag2_bagfile_information: 3", "\x00\x01"])
def test_metadata_that_is_none_is_one_clear_error(words: str, tmp_path: Path) -> None:
    path = walk_bag(POSES[:1]).write(tmp_path, "mcap")
    (path / "metadata.yaml").write_text(words)
    with pytest.raises(SourceError, match="cannot be read"):
        open_source(path)


@pytest.mark.parametrize("container", ["ros1", "sqlite3", "mcap zstd", "bare mcap"])
def test_wrong_bytes_anywhere_never_crash(container: str, tmp_path: Path, soak: int) -> None:
    path = walk_bag(POSES[:2], ros1=container == "ros1").write(tmp_path, container)
    file = path if path.is_file() else next(one for one in path.iterdir() if one.suffix in {".db3", ".mcap"})
    whole = bytearray(file.read_bytes())
    random = np.random.default_rng(3)
    for _ in range(8 * soak):
        broken = whole.copy()
        for at in random.integers(0, len(whole), 8):
            broken[at] = int(random.integers(0, 256))
        file.write_bytes(broken)
        try:
            with open_source(path) as source:
                list(source.frames())
        except SourceError:
            continue


def png(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(values).save(out, "png")
    return out.getvalue()


def test_a_jump_of_the_localizer_moves_what_was_seen_before_it(tmp_path: Path) -> None:
    settings = Settings()
    settings = replace(settings, promotion=replace(settings.promotion, min_view_bins=1))
    shift = Pose3D.from_quaternion([0.6, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    poses = [looking(-0.5 + 0.1 * number, -0.2, yaw=0.1) for number in range(7)]
    bag = Bag()
    # the localizer starts 0.6 m off and finds out after the sixth image, at the end of the walk
    for number, (stamp, pose) in enumerate(zip(images_of(bag, poses), poses, strict=True)):
        bag.tf("map", "odom", stamp, Pose3D.identity() if number < 6 else shift)
        bag.tf("odom", OPTICAL, stamp, pose)
    found = {}
    for mode in ("whole", "none"):
        memory = Memory.open(settings=settings, wall_clock=None)
        with opened(bag, tmp_path / mode, "bare mcap", jump_correction=mode) as source:
            summary = follow(source, memory, Perception(settings))
        assert summary.corrected == (6 if mode == "whole" else 0)
        found[mode] = {one.id: one.xyz_world for one in memory.states(include_tentative=True)}
    held = [one for one in found["none"] if one in found["whole"]]
    moved = [found["whole"][one][0] - found["none"][one][0] for one in held]
    assert max(moved) == pytest.approx(0.6, abs=0.05)


def test_a_topic_whose_type_cannot_be_parsed_is_left_out_and_noted(tmp_path: Path) -> None:
    """One service channel beside the camera, as introspection records it."""
    path = walk_bag(walk(3)).write(tmp_path)
    schema = b"bool data\n---\nbool success\n"
    text = [b"std_srvs/srv/SetBool", b"ros2msg", schema]
    body = struct.pack("<H", 99) + b"".join(struct.pack("<I", len(one)) + one for one in text)
    words = [b"/enable/_service_event", b"cdr", b""]
    channel = struct.pack("<HH", 99, 99) + b"".join(struct.pack("<I", len(one)) + one for one in words)
    records = struct.pack("<BQ", 3, len(body)) + body + struct.pack("<BQ", 4, len(channel)) + channel
    data = path.read_bytes()
    first = len(MAGIC) + 9 + struct.unpack_from("<Q", data, len(MAGIC) + 1)[0]
    path.write_bytes(data[:first] + records + data[first:])
    with open_source(path) as source:
        assert len(list(source.frames())) == 3
        assert source.intake.notes[0].startswith("topic /enable/_service_event (std_srvs/srv/SetBool: ")


@pytest.mark.parametrize("suffix", [".bag", ".mcap", ".db3"])
def test_a_git_lfs_pointer_is_called_one(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"walk{suffix}"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    with pytest.raises(SourceError, match=r"is a Git LFS pointer.*git lfs pull"):
        open_source(path)


def test_a_bag_without_images_lists_its_topics_with_their_types(tmp_path: Path) -> None:
    bag = Bag()
    bag.tf("map", "base", 1.0, walk(1)[0])
    with pytest.raises(SourceError, match=r"image among /tf \(tf2_msgs/msg/TFMessage, 1\); record an Image"):
        open_source(bag.write(tmp_path))


def test_a_recording_of_realsenses_sdk_is_read() -> None:
    # written by pyrealsense2 2.59 from a software device
    with open_source(Path(__file__).with_name("realsense.db3")) as source:
        records = list(source.records())
    assert [int(record.rgb[0, 0, 0]) for record in records] == list(range(10))
    assert [int(record.depth.astype(int)[0, 0]) for record in records] == list(range(1000, 1010))
    assert records[0].raw_per_metre == 1000.0
    assert records[0].intrinsics.fx == 60.0
    assert STANDS_STILL in source.intake.notes


def images_of_sdk(bag: Bag) -> None:
    """Three images of a wall at 1,500 raw values, and the places of both streams, under the topics of the SDK."""
    streams = {"Depth_0": ("sensor_0", 0.0), "Color_0": ("sensor_1", 0.015)}
    for stream, (sensor, offset) in streams.items():
        topic = f"/device_0/{sensor}/{stream}"
        bag.info(f"{topic}/info/camera_info", 0.0)
        move = bag.make("geometry_msgs/msg/Vector3", x=offset, y=0.0, z=0.0)
        turn = bag.make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0)
        bag.add(
            f"{topic}/tf/0",
            "geometry_msgs/msg/Transform",
            0.0,
            bag.make("geometry_msgs/msg/Transform", translation=move, rotation=turn),
        )
    wall = np.full((CAMERA.height, CAMERA.width), 1500, dtype=np.uint16)
    for number in range(3):
        stamp = number / 30
        color = np.full((CAMERA.height, CAMERA.width, 3), number, dtype=np.uint8)
        bag.image("/device_0/sensor_1/Color_0/image/data", stamp, color, "rgb8", frame="1")
        bag.image("/device_0/sensor_0/Depth_0/image/data", stamp, wall, "mono16", frame="0")


@pytest.mark.parametrize("kind", ["std_msgs/msg/Float32", "std_msgs/msg/String"])
def test_depth_of_realsenses_sdk_is_in_the_units_of_its_sensor(tmp_path: Path, kind: str) -> None:
    """An L515 counts quarters of a millimetre, and without localizer nothing else shows the scale."""
    bag = Bag(ros1=True)
    images_of_sdk(bag)
    units = np.float32(0.00025) if kind.endswith("Float32") else "0.000250"
    bag.add("/device_0/sensor_0/option/Depth_Units/value", kind, 0.0, bag.make(kind, data=units))
    with open_source(bag.write(tmp_path, "ros1"), changes=["poses=odometry"]) as source:
        assert {record.raw_per_metre for record in source.records()} == {4000.0}


def test_an_older_bag_places_depth_by_the_streams_own_transforms(tmp_path: Path) -> None:
    bag = Bag(ros1=True)
    images_of_sdk(bag)
    path = bag.write(tmp_path, "ros1")
    with open_source(path, changes=["poses=odometry"]) as source:
        records = list(source.records())
    assert len(records) == 3
    # depth is moved into colour's camera, whose view of the wall is the same but for its edge
    assert float(np.median(records[0].depth.astype(float))) / records[0].raw_per_metre == pytest.approx(1.5)
    assert records[0].translation == pytest.approx(Pose3D.identity().translation)
