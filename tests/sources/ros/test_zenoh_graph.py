from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lastseen.errors import SourceError
from lastseen.geometry import Pose3D
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.ros import writing
from lastseen.sources.ros.messages import CAMERA_INFO, DETECTIONS, IMAGE, TF, ros2_types
from lastseen.sources.ros.stream import RosStream
from lastseen.sources.ros.zenoh_graph import DEFAULT_HOST, topic_of_token, type_key
from tests.sources.room import CAMERA, render, walk

zenoh = pytest.importorskip("zenoh")

DOMAIN = 7
COLOR, DEPTH = "/cam/color/image_raw", "/cam/depth/image_raw"
TYPES = {
    COLOR: IMAGE,
    DEPTH: IMAGE,
    "/cam/color/camera_info": CAMERA_INFO,
    "/tf": TF,
    "/tf_static": TF,
    "/detections": DETECTIONS,
}
MOUNT = Pose3D.from_quaternion([0.1, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0])


class Robot:
    """Publishes as rmw_zenoh does: keys with type and hash, tokens for discovery, tf_static kept for late comers."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        config = zenoh.Config.from_json5(
            f'{{mode: "router", listen: {{endpoints: ["tcp/127.0.0.1:{self.port}"]}},'
            " scouting: {multicast: {enabled: false}}}"
        )
        self.session = zenoh.open(config)
        self._tokens = []
        for number, (topic, kind) in enumerate(TYPES.items()):
            mangled = topic.replace("/", "%")
            token = f"@ros2_lv/{DOMAIN}/aa/0/{number}/MP/%/%/robot/{mangled}/{type_key(kind)}/RIHS01_00/::,7:,:,:,,"
            self._tokens.append(self.session.liveliness().declare_token(token))
        self._static: Any = zenoh.ext.declare_advanced_publisher(
            self.session,
            self.key("/tf_static"),
            cache=zenoh.ext.CacheConfig(1),
            publisher_detection=True,
        )
        self._static.put(self.data(TF, writing.transform(MOUNT, stamp=1.0, parent="base")))

    def key(self, topic: str) -> str:
        return f"{DOMAIN}{topic}/{type_key(TYPES[topic])}/RIHS01_00"

    def data(self, kind: str, message: Any) -> bytes:
        return bytes(ros2_types().serialize_cdr(message, kind))

    def publish(self, topic: str, message: Any) -> None:
        self.session.put(self.key(topic), self.data(TYPES[topic], message))

    def frame(self, stamp: float, pose: Pose3D) -> None:
        rgb, depth = render(pose)
        self.publish("/cam/color/camera_info", writing.camera_info(CAMERA, stamp=stamp))
        self.publish(COLOR, writing.image(rgb, "rgb8", stamp=stamp))
        self.publish(DEPTH, writing.image(np.round(depth * 1000).astype(np.uint16), "16UC1", stamp=stamp))

    def body(self, stamp: float, pose: Pose3D) -> None:
        self.publish("/tf", writing.transform(pose @ MOUNT.inverse(), stamp=stamp, parent="map", child="base"))


@pytest.fixture(scope="module")
def robot() -> Iterator[Robot]:
    made = Robot()
    yield made
    made.session.close()


@pytest.fixture
def source(robot: Robot) -> Iterator[RosStream]:
    options = SourceOptions(backpressure="lossless", queue_frames=50, stall_after=0.2, end_after=3.0)
    with open_source(f"ros2+zenoh://127.0.0.1:{robot.port}?domain={DOMAIN}", options) as opened:
        assert isinstance(opened, RosStream)
        yield opened


def started(source: RosStream, robot: Robot) -> None:
    """Receive, and wait until the robot's static transform shows that the way is open and its camera is known."""
    source.start()
    for _ in range(100):
        if "camera_color_optical_frame" in source._tree.links:
            # a picture that overtakes the first camera info is of an unknown camera
            robot.publish("/cam/color/camera_info", writing.camera_info(CAMERA, stamp=1.0))
            source._stop.wait(0.5)
            return
        source._stop.wait(0.05)
    raise AssertionError("tf_static never came")


def test_topics_are_found_and_frames_come_with_interpolated_poses(robot: Robot, source: RosStream) -> None:
    poses = walk(4)
    started(source, robot)
    assert source.topics().color.name == COLOR
    assert source.topics().depth.name == DEPTH
    # the first picture of a stream may come before its pose and be lost: it is not one of the four
    for stamp, pose in [(9.8, poses[0]), (9.9, poses[0]), *((10.0 + 0.1 * k, pose) for k, pose in enumerate(poses))]:
        # tf is later than the image, as on robots: the image waits for it
        robot.frame(stamp, pose)
        robot.body(stamp, pose)
    frames = []
    for frame in source.frames():
        if frame.stamp > 9.95:
            frames.append(frame)
        if len(frames) == 4:
            break
    for number, (frame, pose) in enumerate(zip(frames, poses, strict=True)):
        assert frame.stamp == pytest.approx(10.0 + 0.1 * number)
        assert (frame.rgb == render(pose)[0]).all()
        assert frame.intrinsics == CAMERA
        assert np.allclose(frame.T_world_camera.translation, pose.translation, atol=1e-9)


def test_bad_messages_and_a_restart_are_survived(robot: Robot, source: RosStream) -> None:
    pose = walk(1)[0]
    started(source, robot)
    robot.session.put(robot.key("/tf"), b"\x00\x01\x00\x00nonsense")
    robot.session.put(robot.key(COLOR), b"short")
    frames = source.frames()
    restarts = {}
    for stamp in (100.0, 100.1, 5.0, 5.1):
        robot.frame(stamp, pose)
        robot.body(stamp, pose)
        # one by one: within microseconds, topics overtake each other
        frame = next(frames)
        restarts[frame.stamp] = source.updates().restarted
    assert restarts == {100.0: False, 100.1: False, 5.0: True, 5.1: False}
    assert source.intake.skipped == {"unreadable message on /tf": 1, f"unreadable message on {COLOR}": 1}


def test_the_world_of_the_first_frame_stays_the_world(robot: Robot, source: RosStream) -> None:
    pose = walk(1)[0]
    started(source, robot)
    for number in range(3):
        stamp = 200.0 + 0.1 * number
        robot.frame(stamp, pose)
        robot.body(stamp, pose)
        if number == 1:
            # a localizer that wakes up late puts a frame above what was the world
            robot.publish("/tf", writing.transform(MOUNT, stamp=stamp, parent="earth", child="map"))
    found = []
    for frame in source.frames():
        found.append(frame.T_world_camera.translation)
        if len(found) == 3:
            break
    assert np.allclose(found, pose.translation)
    assert any("world_frame=earth" in note for note in source.intake.notes)


def test_detections_are_those_of_the_stamp(robot: Robot, source: RosStream) -> None:
    from lastseen.detection import Detection

    pose = walk(1)[0]
    started(source, robot)
    detector = source.detector()
    assert detector is not None
    mug = Detection(box=(1.0, 2.0, 30.0, 40.0), score=0.8, labels={"mug": 0.8})
    robot.publish("/detections", writing.boxes([mug], stamp=50.0))
    for stamp in (50.0, 50.1):
        robot.frame(stamp, pose)
        robot.body(stamp, pose)
    found = []
    for frame in source.frames():
        found.append([one.label for one in detector.detect(frame)])
        if len(found) == 2:
            break
    assert found == [["mug"], []]


def test_a_robot_without_a_camera_is_one_clear_error(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastseen.sources.ros.stream.FIND_TOPICS", 0.3)
    with (
        open_source(f"ros2+zenoh://127.0.0.1:{robot.port}?domain=9") as source,
        pytest.raises(SourceError, match="color_topic"),
    ):
        list(source.frames())


@pytest.mark.parametrize(
    ("address", "message"),
    [("ros2+zenoh://nowhere", "host:port"), ("ros2+zenoh://?domain=x", "domain"), ("ros2+zenoh://?speed=1", "speed")],
)
def test_a_wrong_address_is_one_clear_error(address: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_source(address)


def test_nobody_at_the_address_is_one_clear_error() -> None:
    with pytest.raises(SourceError, match=r"does not answer \([^/]*\(tcp/[0-9.:]*\)\]\);"):
        open_source("ros2+zenoh://127.0.0.1:9")


def test_without_a_host_the_router_of_this_machine_is_meant() -> None:
    with pytest.raises(SourceError, match=DEFAULT_HOST):
        open_source("ros2+zenoh://")


def test_only_publishers_are_topics() -> None:
    assert topic_of_token("@ros2_lv/0/aa/0/11/MS/%/%/n/%a/std_msgs::msg::dds_::String_/h/q") is None
    assert topic_of_token("@ros2_lv/0/aa/0/11/NN/%/%/n") is None
