"""From frames to ROS 2 messages: the counterpart of ``decode``, for writing recordings and for test publishers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.sources.ros.decode import DEPTH_HEADER
from lastseen.sources.ros.types import (
    CAMERA_INFO,
    COMPRESSED,
    DETECTIONS,
    IMAGE,
    TEXT,
    TF,
    ros2_types,
)

WORLD_FRAME, CAMERA_FRAME = "map", "camera_color_optical_frame"
MILLIMETRES = 1000.0


def to_nanoseconds(stamp: float) -> int:
    """A stamp as ROS keeps it; raises where its 32 bits of seconds do not hold it."""
    whole = round(stamp * 1e9)
    if not 0 <= whole < 2**31 * 10**9:
        raise InvalidValue("stamp", stamp, "does not fit a ROS stamp", remedy="use seconds from 0 to 2^31")
    return whole


def header(stamp: float, frame: str) -> Any:
    """A Header."""
    whole = to_nanoseconds(stamp)
    time = _make("builtin_interfaces/msg/Time", sec=whole // 10**9, nanosec=whole % 10**9)
    return _make("std_msgs/msg/Header", stamp=time, frame_id=frame)


def image(pixels: NDArray[Any], encoding: str, *, stamp: float, frame: str = CAMERA_FRAME) -> Any:
    """An Image with these pixels as they are."""
    height, width = pixels.shape[:2]
    flat = np.ascontiguousarray(pixels).view(np.uint8).reshape(-1)
    return _make(
        IMAGE,
        header=header(stamp, frame),
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=flat.size // height,
        data=flat,
    )


def compressed(data: bytes, told: str, *, stamp: float, frame: str = CAMERA_FRAME) -> Any:
    """A CompressedImage."""
    return _make(COMPRESSED, header=header(stamp, frame), format=told, data=np.frombuffer(data, dtype=np.uint8))


def color_message(rgb: NDArray[np.uint8], how: str, *, stamp: float) -> tuple[str, Any]:
    """The type and message of a colour image: ``raw`` and ``png`` keep every pixel, ``jpeg`` is small."""
    if how == "raw":
        return IMAGE, image(rgb, "rgb8", stamp=stamp)
    return COMPRESSED, compressed(_file(rgb, how), f"rgb8; {how} compressed bgr8", stamp=stamp)


def depth_message(metres: NDArray[np.float32], how: str, *, stamp: float) -> tuple[str, Any]:
    """The type and message of a depth image: ``32FC1`` keeps every value, ``16UC1`` and ``png`` millimetres."""
    if how == "32FC1":
        return IMAGE, image(metres, "32FC1", stamp=stamp)
    scaled = np.nan_to_num(np.round(metres * np.float32(MILLIMETRES)), nan=0.0)
    # what 16 bits do not reach was not measured: 0
    raw = np.where(scaled <= np.iinfo(np.uint16).max, scaled, 0).astype(np.uint16)
    if how == "16UC1":
        return IMAGE, image(raw, "16UC1", stamp=stamp)
    data = DEPTH_HEADER.pack(0, 0.0, 0.0) + _file(raw, "png")
    return COMPRESSED, compressed(data, "16UC1; compressedDepth png", stamp=stamp)


def camera_info(camera: Intrinsics, *, stamp: float, frame: str = CAMERA_FRAME) -> Any:
    """A CameraInfo of a pinhole without distortion."""
    k = [camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0]
    p = [camera.fx, 0.0, camera.cx, 0.0, 0.0, camera.fy, camera.cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    region = _make("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    return _make(
        CAMERA_INFO,
        header=header(stamp, frame),
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
    motion = _make(
        "geometry_msgs/msg/Transform",
        translation=_make("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
        rotation=_quaternion(pose),
    )
    one = _make(
        "geometry_msgs/msg/TransformStamped",
        header=header(stamp, parent),
        child_frame_id=child,
        transform=motion,
    )
    return _make(TF, transforms=[one])


def text(words: str) -> Any:
    """A String."""
    return _make(TEXT, data=words)


def boxes(found: Sequence[Detection], *, stamp: float, frame: str = CAMERA_FRAME) -> Any:
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
        made.append(
            _make(
                "vision_msgs/msg/Detection2D",
                header=header(stamp, frame),
                results=results,
                bbox=box,
                id="",
            )
        )
    return _make(DETECTIONS, header=header(stamp, frame), detections=made)


def _quaternion(pose: Pose3D) -> Any:
    x, y, z, w = pose.quaternion.tolist()
    return _make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)


def _make(kind: str, **values: Any) -> Any:
    return ros2_types().types[kind](**values)


def _file(pixels: NDArray[Any], how: str) -> bytes:
    out = io.BytesIO()
    if how == "png":
        Image.fromarray(pixels).save(out, "png", compress_level=1)
    else:
        Image.fromarray(pixels).save(out, "jpeg", quality=90)
    return out.getvalue()
