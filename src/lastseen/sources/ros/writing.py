"""Any source as an MCAP file that ROS 2 tools and ``open_source`` read: what ``lastseen record`` does.

Frames are written in our conventions, so that the file needs no options, and it is there whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.images import encoded
from lastseen.sources.base import REMEMBERED, RecordSource
from lastseen.sources.detections import tree_of_detection
from lastseen.sources.ros.messages import (
    CAMERA_INFO,
    COMPRESSED,
    DEPTH_HEADER,
    DETECTIONS,
    IMAGE,
    TEXT,
    TF,
    require_rosbags,
    ros2_types,
)
from lastseen.sources.ros.topics import DETECTIONS_TEXT

COLOR_FORMATS = ("raw", "png", "jpeg")
DEPTH_FORMATS = ("32FC1", "16UC1", "png")
WORLD_FRAME, CAMERA_FRAME = "map", "camera_color_optical_frame"
MILLIMETRES = 1000.0


class McapRecorder:
    """Writes frames to a new MCAP file; ``close`` puts it in its place."""

    def __init__(self, out: str | Path, *, color: str = "raw", depth: str = "32FC1") -> None:
        require_rosbags("writing MCAP")
        from rosbags.rosbag2 import StoragePlugin, Writer

        _check("color", color, COLOR_FORMATS)
        _check("depth", depth, DEPTH_FORMATS)
        self.out = Path(out)
        if self.out.suffix != ".mcap":
            raise InvalidValue("OUT", str(out), "is no .mcap name", remedy=f"for example {self.out.stem}.mcap")
        if self.out.exists():
            raise InvalidValue("OUT", str(out), "exists already", remedy="name a new file, or delete it first")
        if not self.out.parent.is_dir():
            raise InvalidValue("OUT", str(out), "is in no folder that exists", remedy="make the folder first")
        self._color, self._depth = color, depth
        # rosbags makes a folder with the file and its metadata; only the file is kept
        self._part = self.out.with_name(f".{self.out.stem}.part")
        shutil.rmtree(self._part, ignore_errors=True)
        self._writer = Writer(self._part, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        self._connections: dict[str, Any] = {}
        self._closed = False
        self.frames = 0

    def write(self, frame: Frame, detections: Sequence[Detection] | None = None) -> None:
        """Append a frame, and what was detected in it where something looked."""
        stamp = frame.stamp
        color = color_message(frame.rgb, self._color, stamp=stamp)
        self._put(f"/camera/color/image_raw{'' if self._color == 'raw' else '/compressed'}", stamp, color)
        self._put("/camera/color/camera_info", stamp, camera_info(frame.intrinsics, stamp=stamp))
        depth = depth_message(frame.depth, self._depth, stamp=stamp)
        self._put(f"/camera/depth/image_raw{'/compressedDepth' if self._depth == 'png' else ''}", stamp, depth)
        self._put("/camera/depth/camera_info", stamp, camera_info(frame.camera_of_depth, stamp=stamp))
        self.write_pose(stamp, frame.T_world_camera, now=stamp)
        if detections is not None:
            self._put("/detections", stamp, boxes(detections, stamp=stamp))
            line = {"stamp": stamp, "detections": [tree_of_detection(one) for one in detections]}
            self._put(DETECTIONS_TEXT, stamp, _make(TEXT, data=json.dumps(line)))
        self.frames += 1

    def write_pose(self, stamp: float, pose: Pose3D, *, now: float) -> None:
        """Append the pose at ``stamp``, recorded at ``now``; it replaces an earlier pose of that stamp."""
        self._put("/tf", now, transform(pose, stamp=stamp))

    def close(self) -> None:
        """Finish the file and put it in its place; may be called twice."""
        if self._closed:
            return
        self._closed = True
        try:
            self._writer.close()
            os.replace(self._part / f"{self._part.name}.mcap", self.out)
        finally:
            shutil.rmtree(self._part, ignore_errors=True)

    def abort(self) -> None:
        """Leave nothing behind."""
        if not self._closed:
            self._closed = True
            self._writer.abort()
            shutil.rmtree(self._part, ignore_errors=True)

    def _put(self, topic: str, stamp: float, message: Any) -> None:
        kind = message.__msgtype__
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=ros2_types())
        data = ros2_types().serialize_cdr(message, kind)
        self._writer.write(self._connections[topic], to_nanoseconds(stamp), data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Ctrl-C is how a live recording ends: what was seen is kept
        if self.frames and (kind is None or issubclass(kind, KeyboardInterrupt)):
            self.close()
        else:
            self.abort()


def record(
    source: RecordSource,
    out: str | Path,
    *,
    color: str = "raw",
    depth: str = "32FC1",
    max_frames: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write a source to an MCAP file; returns the number of frames. A source without frames leaves no file.

    ``progress`` is called with the count after each frame. Poses that the source revises replace earlier ones.
    """
    detector = source.detector()
    stamps: dict[int, float] = {}
    with McapRecorder(out, color=color, depth=depth) as recorder:
        for frame in source.frames():
            updates = source.updates()
            if updates.map_id is not None and stamps:
                source.intake.note(f"recorded up to stamp {max(stamps.values()):.3f}, in one map")
                break
            if updates.restarted and stamps:
                raise InvalidValue(
                    "stamp", frame.stamp, "starts anew in the middle", remedy="record each run into its own file"
                )
            for number, pose in sorted(updates.poses.items()):
                recorder.write_pose(stamps[number], pose, now=frame.stamp)
            stamps[frame.id] = frame.stamp
            stamps.pop(frame.id - REMEMBERED, None)
            recorder.write(frame, None if detector is None else detector.detect(frame))
            if progress is not None:
                progress(recorder.frames)
            if max_frames is not None and recorder.frames >= max_frames:
                break
        written = recorder.frames
    if not written:
        reasons = "; ".join(source.intake.lines()) or "the source gave nothing"
        raise InvalidValue("source", source.address, f"has no readable frame ({reasons})", remedy="run the doctor")
    return written


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidValue(name, value, "is not a format", remedy=f"choose from {', '.join(choices)}")


def to_nanoseconds(stamp: float) -> int:
    """A stamp as ROS keeps it; raises where its 32 bits of seconds do not hold it."""
    whole = round(stamp * 1e9)
    if not 0 <= whole < 2**31 * 10**9:
        raise InvalidValue("stamp", stamp, "does not fit a ROS stamp", remedy="use seconds from 0 to 2^31")
    return whole


def _header(stamp: float, frame: str = CAMERA_FRAME) -> Any:
    whole = to_nanoseconds(stamp)
    time = _make("builtin_interfaces/msg/Time", sec=whole // 10**9, nanosec=whole % 10**9)
    return _make("std_msgs/msg/Header", stamp=time, frame_id=frame)


def image(pixels: NDArray[Any], encoding: str, *, stamp: float) -> Any:
    """An Image with these pixels as they are."""
    height, width = pixels.shape[:2]
    flat = np.ascontiguousarray(pixels).view(np.uint8).reshape(-1)
    return _make(
        IMAGE,
        header=_header(stamp),
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=flat.size // height,
        data=flat,
    )


def _compressed(data: bytes, how: str, *, stamp: float) -> Any:
    return _make(COMPRESSED, header=_header(stamp), format=how, data=np.frombuffer(data, dtype=np.uint8))


def color_message(rgb: NDArray[np.uint8], how: str, *, stamp: float) -> Any:
    """An Image or CompressedImage of colour: ``raw`` and ``png`` keep every pixel, ``jpeg`` is small."""
    if how == "raw":
        return image(rgb, "rgb8", stamp=stamp)
    return _compressed(_file(rgb, how), f"rgb8; {how} compressed bgr8", stamp=stamp)


def depth_message(metres: NDArray[np.float32], how: str, *, stamp: float) -> Any:
    """An Image or CompressedImage of depth: ``32FC1`` keeps every value, ``16UC1`` and ``png`` millimetres."""
    if how == "32FC1":
        return image(metres, "32FC1", stamp=stamp)
    scaled = np.nan_to_num(np.round(metres * np.float32(MILLIMETRES)), nan=0.0)
    # what 16 bits do not reach was not measured: 0
    raw = np.where(scaled <= np.iinfo(np.uint16).max, scaled, 0).astype(np.uint16)
    if how == "16UC1":
        return image(raw, "16UC1", stamp=stamp)
    data = DEPTH_HEADER.pack(0, 0.0, 0.0) + _file(raw, "png")
    return _compressed(data, "16UC1; compressedDepth png", stamp=stamp)


def camera_info(camera: Intrinsics, *, stamp: float) -> Any:
    """A CameraInfo of a pinhole without distortion."""
    k = [camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0]
    p = [camera.fx, 0.0, camera.cx, 0.0, 0.0, camera.fy, camera.cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    region = _make("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    return _make(
        CAMERA_INFO,
        header=_header(stamp),
        height=camera.height,
        width=camera.width,
        distortion_model="plumb_bob",
        d=np.zeros(0),
        k=np.array(k),
        r=np.eye(3).ravel(),
        p=np.array(p),
        binning_x=0,
        binning_y=0,
        roi=region,
    )


def transform(pose: Pose3D, *, stamp: float, parent: str = WORLD_FRAME, child: str = CAMERA_FRAME) -> Any:
    """A TFMessage with one transform, T_parent_child."""
    x, y, z = pose.translation.tolist()
    translation = _make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)
    motion = _make("geometry_msgs/msg/Transform", translation=translation, rotation=_quaternion(pose))
    header = _header(stamp, parent)
    one = _make("geometry_msgs/msg/TransformStamped", header=header, child_frame_id=child, transform=motion)
    return _make(TF, transforms=[one])


def boxes(found: Sequence[Detection], *, stamp: float) -> Any:
    """A Detection2DArray with every label of every detection; masks have no place in it."""
    origin = _make("geometry_msgs/msg/Point", x=0.0, y=0.0, z=0.0)
    place = _make("geometry_msgs/msg/Pose", position=origin, orientation=_quaternion(Pose3D.identity()))
    nowhere = _make("geometry_msgs/msg/PoseWithCovariance", pose=place, covariance=np.zeros(36))
    made = []
    for one in found:
        results = [
            _make(
                "vision_msgs/msg/ObjectHypothesisWithPose",
                hypothesis=_make("vision_msgs/msg/ObjectHypothesis", class_id=label, score=float(score)),
                pose=nowhere,
            )
            for label, score in sorted(one.labels.items(), key=lambda item: (-item[1], item[0]))
        ]
        left, top, right, bottom = (float(value) for value in one.box)
        center = _make("vision_msgs/msg/Point2D", x=(left + right) / 2, y=(top + bottom) / 2)
        box = _make(
            "vision_msgs/msg/BoundingBox2D",
            center=_make("vision_msgs/msg/Pose2D", position=center, theta=0.0),
            size_x=right - left,
            size_y=bottom - top,
        )
        made.append(_make("vision_msgs/msg/Detection2D", header=_header(stamp), results=results, bbox=box, id=""))
    return _make(DETECTIONS, header=_header(stamp), detections=made)


def _quaternion(pose: Pose3D) -> Any:
    x, y, z, w = pose.quaternion.tolist()
    return _make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)


def _make(kind: str, **values: Any) -> Any:
    return ros2_types().types[kind](**values)


def _file(pixels: NDArray[Any], how: str) -> bytes:
    return encoded(pixels, how, **({"compress_level": 1} if how == "png" else {"quality": 90}))
