"""Bags for tests, written with rosbags itself in every container, from the small room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2

from lastseen.geometry import Intrinsics, Pose3D
from lastseen.sources.ros.messages import CAMERA_INFO, IMAGE, ros1_types, ros2_types
from tests.sources.room import CAMERA, render

CONTAINERS = ("ros1", "sqlite3", "mcap", "mcap zstd", "bare mcap")
COLOR, DEPTH, INFO = "/camera/color/image_raw", "/camera/aligned_depth/image_raw", "/camera/color/camera_info"
DEPTH_INFO = "/camera/aligned_depth/camera_info"
OPTICAL = "camera_color_optical_frame"
START = 100.0


def nanos(stamp: float) -> int:
    return round(stamp * 1e9)


@dataclass
class Bag:
    """Messages to be written, in the order of time."""

    ros1: bool = False
    messages: list[tuple[str, str, int, Any]] = field(default_factory=list)

    @property
    def store(self) -> Any:
        return ros1_types() if self.ros1 else ros2_types()

    def make(self, kind: str, **values: Any) -> Any:
        return self.store.types[kind](**values)

    def header(self, stamp: float, frame: str) -> Any:
        time = self.make("builtin_interfaces/msg/Time", sec=nanos(stamp) // 10**9, nanosec=nanos(stamp) % 10**9)
        more = {"seq": 0} if self.ros1 else {}
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame, **more)

    def add(self, topic: str, kind: str, stamp: float, message: Any) -> None:
        self.messages.append((topic, kind, nanos(stamp), message))

    def image(
        self, topic: str, stamp: float, pixels: np.ndarray[Any, Any], encoding: str, *, frame: str = OPTICAL
    ) -> None:
        height, width = pixels.shape[:2]
        flat = np.frombuffer(np.ascontiguousarray(pixels).tobytes(), dtype=np.uint8)
        step = len(flat) // height
        head = self.header(stamp, frame)
        message = self.make(
            IMAGE, header=head, height=height, width=width, encoding=encoding, is_bigendian=0, step=step, data=flat
        )
        self.add(topic, IMAGE, stamp, message)

    def compressed(self, topic: str, stamp: float, data: bytes, told: str) -> None:
        flat = np.frombuffer(data, dtype=np.uint8)
        kind = "sensor_msgs/msg/CompressedImage"
        self.add(topic, kind, stamp, self.make(kind, header=self.header(stamp, OPTICAL), format=told, data=flat))

    def info(
        self,
        topic: str,
        stamp: float,
        camera: Intrinsics = CAMERA,
        *,
        distortion: Sequence[float] = (),
        model: str = "plumb_bob",
    ) -> None:
        k = [camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1]
        p = [camera.fx, 0, camera.cx, 0, 0, camera.fy, camera.cy, 0, 0, 0, 1, 0]
        matrices = {"d": list(distortion), "k": k, "r": np.eye(3).ravel(), "p": p}
        named = {
            (key.upper() if self.ros1 else key): np.array(value, dtype=np.float64) for key, value in matrices.items()
        }
        region = self.make(
            "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
        )
        message = self.make(
            CAMERA_INFO,
            header=self.header(stamp, OPTICAL),
            height=camera.height,
            width=camera.width,
            distortion_model=model,
            **named,
            binning_x=0,
            binning_y=0,
            roi=region,
        )
        self.add(topic, CAMERA_INFO, stamp, message)

    def tf(self, parent: str, child: str, stamp: float, pose: Pose3D, *, static: bool = False) -> None:
        x, y, z = pose.translation.tolist()
        transform = self.make(
            "geometry_msgs/msg/Transform",
            translation=self.make("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
            rotation=self._quaternion(pose),
        )
        one = self.make(
            "geometry_msgs/msg/TransformStamped",
            header=self.header(stamp, parent),
            child_frame_id=child,
            transform=transform,
        )
        topic = "/tf_static" if static else "/tf"
        self.add(topic, "tf2_msgs/msg/TFMessage", stamp, self.make("tf2_msgs/msg/TFMessage", transforms=[one]))

    def pose(self, topic: str, stamp: float, pose: Pose3D, *, frame: str = "map") -> None:
        kind = "geometry_msgs/msg/PoseStamped"
        self.add(topic, kind, stamp, self.make(kind, header=self.header(stamp, frame), pose=self._pose(pose)))

    def odometry(self, topic: str, stamp: float, pose: Pose3D, *, child: str, frame: str = "odom") -> None:
        zero = self.make("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0)
        still = self.make("geometry_msgs/msg/Twist", linear=zero, angular=zero)
        unknown = np.zeros(36)
        message = self.make(
            "nav_msgs/msg/Odometry",
            header=self.header(stamp, frame),
            child_frame_id=child,
            pose=self.make("geometry_msgs/msg/PoseWithCovariance", pose=self._pose(pose), covariance=unknown),
            twist=self.make("geometry_msgs/msg/TwistWithCovariance", twist=still, covariance=unknown),
        )
        self.add(topic, "nav_msgs/msg/Odometry", stamp, message)

    def boxes(
        self, topic: str, stamp: float, found: Sequence[tuple[tuple[float, float, float, float], str, float]]
    ) -> None:
        nowhere = self.make(
            "geometry_msgs/msg/PoseWithCovariance", pose=self._pose(Pose3D.identity()), covariance=np.zeros(36)
        )
        made = []
        for (left, top, right, bottom), label, score in found:
            hypothesis = self.make("vision_msgs/msg/ObjectHypothesis", class_id=label, score=score)
            result = self.make("vision_msgs/msg/ObjectHypothesisWithPose", hypothesis=hypothesis, pose=nowhere)
            at = self.make("vision_msgs/msg/Point2D", x=(left + right) / 2, y=(top + bottom) / 2)
            box = self.make(
                "vision_msgs/msg/BoundingBox2D",
                center=self.make("vision_msgs/msg/Pose2D", position=at, theta=0.0),
                size_x=right - left,
                size_y=bottom - top,
            )
            made.append(
                self.make(
                    "vision_msgs/msg/Detection2D",
                    header=self.header(stamp, OPTICAL),
                    results=[result],
                    bbox=box,
                    id="",
                )
            )
        kind = "vision_msgs/msg/Detection2DArray"
        self.add(topic, kind, stamp, self.make(kind, header=self.header(stamp, OPTICAL), detections=made))

    def write(self, folder: Path, container: str = "bare mcap") -> Path:
        messages = sorted(self.messages, key=lambda row: row[2])
        if container == "ros1":
            path = folder / "walk.bag"
            with Writer1(path) as writer:
                connections: dict[str, Any] = {}
                for topic, kind, stamp, message in messages:
                    if topic not in connections:
                        connections[topic] = writer.add_connection(topic, kind, typestore=self.store)
                    writer.write(connections[topic], stamp, self.store.serialize_ros1(message, kind))
            return path
        plugin = StoragePlugin.SQLITE3 if container == "sqlite3" else StoragePlugin.MCAP
        path = folder / "walk"
        writer2 = Writer2(path, version=9, storage_plugin=plugin)
        if container == "mcap zstd":
            writer2.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with writer2:
            connections = {}
            for topic, kind, stamp, message in messages:
                if topic not in connections:
                    connections[topic] = writer2.add_connection(topic, kind, typestore=self.store)
                writer2.write(connections[topic], stamp, self.store.serialize_cdr(message, kind))
        return path / "walk.mcap" if container == "bare mcap" else path

    def _quaternion(self, pose: Pose3D) -> Any:
        x, y, z, w = pose.quaternion.tolist()
        return self.make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def _pose(self, pose: Pose3D) -> Any:
        x, y, z = pose.translation.tolist()
        point = self.make("geometry_msgs/msg/Point", x=x, y=y, z=z)
        return self.make("geometry_msgs/msg/Pose", position=point, orientation=self._quaternion(pose))


def images_of(bag: Bag, poses: Sequence[Pose3D], *, period: float = 0.1, metres: bool = False) -> list[float]:
    """Add colour, depth and camera info of a walk through the room; returns the stamps."""
    stamps = [START + number * period for number in range(len(poses))]
    for stamp, pose in zip(stamps, poses, strict=True):
        rgb, depth = render(pose)
        bag.info(INFO, stamp)
        bag.image(COLOR, stamp, rgb, "rgb8")
        if metres:
            bag.image(DEPTH, stamp, depth, "32FC1")
        else:
            bag.image(DEPTH, stamp, np.round(depth * 1000).astype(np.uint16), "16UC1")
    return stamps


def walk_bag(poses: Sequence[Pose3D], *, ros1: bool = False, metres: bool = False) -> Bag:
    """A complete recording: images, camera info and tf map -> optical frame at the stamps of the images."""
    bag = Bag(ros1=ros1)
    for stamp, pose in zip(images_of(bag, poses, metres=metres), poses, strict=True):
        bag.tf("map", OPTICAL, stamp, pose)
    return bag
