"""ROS messages: their definitions, and the one place that knows their fields when they are read.

Bags mostly bring their own definitions. Those here serve where none came along: old sqlite bags, live topics, and
writing. Reading goes by attributes, so that messages of rosbags, of ROS 1 and of rclpy all fit. Sizes come from
outside: each is checked against the limit before anything is made of it.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.errors import InvalidValue, SourceError, needs_extra
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.images import read_color, read_depth

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED = "sensor_msgs/msg/CompressedImage"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
POSE = "geometry_msgs/msg/PoseStamped"
POSE_COVARIANCE = "geometry_msgs/msg/PoseWithCovarianceStamped"
ODOMETRY = "nav_msgs/msg/Odometry"
TF = "tf2_msgs/msg/TFMessage"
DETECTIONS = "vision_msgs/msg/Detection2DArray"
TEXT = "std_msgs/msg/String"
VALUES = (TEXT, "std_msgs/msg/Float32")
"""Types of the options that RealSense's own bags keep."""
TRANSFORM = "geometry_msgs/msg/Transform"

IMAGES = (IMAGE, COMPRESSED)
POSES = (POSE, POSE_COVARIANCE, ODOMETRY)

COLOR_ENCODINGS = {
    "rgb8": (0, 1, 2),
    "bgr8": (2, 1, 0),
    "8UC3": (2, 1, 0),
    "rgba8": (0, 1, 2, -1),
    "bgra8": (2, 1, 0, -1),
    "8UC4": (2, 1, 0, -1),
    "mono8": (0,),
    "8UC1": (0,),
}
"""Encodings read as colour: where red, green and blue stand; OpenCV's own names are in its order."""

DEPTH_ENCODINGS = {"16UC1": ("u2", 1000.0), "mono16": ("u2", 1000.0), "32FC1": ("f4", 1.0)}
"""Encodings read as depth: the type of a pixel and values per metre (REP 118)."""

DEPTH_HEADER = struct.Struct("<iff")
"""What compressedDepth puts before its PNG: a number, then two of a quantization that 16UC1 does not use."""

_Layout = TypeVar("_Layout")
_ELEMENT = re.compile(r"(?:sequence<([\w/]+)(?:, \d+)?>|([\w/]+)\[\d+\])")
"""The type of the elements in what rclpy says of a field."""
_PNG = b"\x89PNG\r\n\x1a\n"
_VISION = {
    "Point2D": "float64 x\nfloat64 y\n",
    "Pose2D": "vision_msgs/Point2D position\nfloat64 theta\n",
    "BoundingBox2D": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y\n",
    "ObjectHypothesis": "string class_id\nfloat64 score\n",
    "ObjectHypothesisWithPose": "vision_msgs/ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose\n",
    "Detection2D": "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
    "vision_msgs/BoundingBox2D bbox\nstring id\n",
    "Detection2DArray": "std_msgs/Header header\nvision_msgs/Detection2D[] detections\n",
    "BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size\n",
    "Detection3D": "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
    "vision_msgs/BoundingBox3D bbox\nstring id\n",
    "Detection3DArray": "std_msgs/Header header\nvision_msgs/Detection3D[] detections\n",
}


def require_rosbags(feature: str) -> None:
    """Raise the error that names the extra where ``rosbags`` is not installed."""
    with needs_extra(feature, extra="ros"):
        import rosbags.typesys  # noqa: F401


@functools.cache
def ros2_types() -> Typestore:
    """ROS 2's standard messages with those of vision_msgs 4."""
    return _types("ROS2_HUMBLE", {})


@functools.cache
def ros1_types() -> Typestore:
    """ROS 1's standard messages with those of tf2 and, for lack of older ones, vision_msgs 4."""
    return _types("ROS1_NOETIC", {TF: "geometry_msgs/TransformStamped[] transforms\n"})


def _types(name: str, definitions: Mapping[str, str]) -> Typestore:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores[name])
    vision = {f"vision_msgs/msg/{kind}": text for kind, text in _VISION.items()}
    for kind, text in {**definitions, **vision}.items():
        store.register(get_types_from_msg(text, kind))
    return store


def message_class(kind: str) -> Any:
    """The class that ROS has for a type such as ``nav_msgs/msg/OccupancyGrid``; ImportError where it is not there."""
    package, folder, name = kind.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{folder}"), name)
    except AttributeError as error:
        raise ImportError(f"{package} has no {name}") from error


def installed_class(kind: str) -> Any:
    """The same, or an error that says what to install."""
    try:
        return message_class(kind)
    except ImportError as error:
        package = kind.partition("/")[0]
        remedy = f"install ros-$ROS_DISTRO-{package}"
        raise SourceError("ROS type", kind, "is not installed", remedy=remedy) from error


def to_message(kind: type, tree: Mapping[str, Any]) -> Any:
    """A message of rclpy with these fields; those left out keep their defaults."""
    message = kind()
    types = message.get_fields_and_field_types()
    for name, value in tree.items():
        if name not in types and kind.__module__.startswith("lastseen_interfaces."):
            # built from an older lastseen_interfaces: the rest of the message is right as it is
            continue
        if isinstance(value, Mapping):
            setattr(message, name, to_message(type(getattr(message, name)), value))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            found = _ELEMENT.fullmatch(types[name])
            assert found is not None, types[name]
            package, part = (found.group(1) or found.group(2)).split("/")
            inner = message_class(f"{package}/msg/{part}")
            setattr(message, name, [to_message(inner, one) for one in value])
        else:
            setattr(message, name, value.tolist() if isinstance(value, np.ndarray) else value)
    return message


def to_tree(message: Any) -> dict[str, Any]:
    """The fields of a message of rclpy as plain values."""

    def plain(value: Any) -> Any:
        if hasattr(value, "get_fields_and_field_types"):
            return to_tree(value)
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return value

    return {name: plain(getattr(message, name)) for name in message.get_fields_and_field_types()}


def made(kind: str, tree: Mapping[str, Any]) -> Any:
    """A message of rosbags with these fields, nested ones as mappings; those left out are zero, empty or false."""
    store = ros2_types()
    _, fields = store.fielddefs[kind]
    return store.types[kind](**{name: _value(description, tree.get(name)) for name, description in fields})


def to_cdr(kind: str, tree: Mapping[str, Any]) -> bytes:
    """The same message in CDR: no ROS is needed."""
    return bytes(ros2_types().serialize_cdr(made(kind, tree), kind))


def _value(description: Any, value: Any) -> Any:
    node, detail = description
    if node.name == "NAME":
        return made(detail, value or {})
    if node.name == "BASE":
        return _base(detail[0], value)
    inner, count = detail
    if inner[0].name == "BASE" and inner[1][0] != "string":
        return np.zeros(count, dtype=inner[1][0]) if value is None else np.asarray(value, dtype=inner[1][0])
    return [_value(inner, one) for one in value or []]


def _base(kind: str, value: Any) -> Any:
    if kind == "string":
        return str(value or "")
    if kind == "bool":
        return bool(value)
    if kind.startswith("float"):
        return 0.0 if value is None else float(value)
    return value[0] if isinstance(value, bytes) else int(value or 0)


def is_compressed(message: Any) -> bool:
    """Whether this is a CompressedImage rather than an Image."""
    return hasattr(message, "format")


def holds_depth(message: Any) -> bool | None:
    """Whether an image message is depth (True) or colour (False); None where it is neither that is known."""
    if is_compressed(message):
        encoded = str(message.format).lower()
        return "depth" in encoded or encoded.startswith(("16uc1", "32fc1", "mono16"))
    if message.encoding in DEPTH_ENCODINGS:
        return True
    return False if message.encoding in COLOR_ENCODINGS else None


def nanoseconds(header: Any) -> int:
    """The stamp of a header; 0 where it is not set."""
    return int(header.stamp.sec) * 10**9 + int(header.stamp.nanosec)


def cdr_nanoseconds(data: bytes) -> int:
    """The stamp of a ROS 2 message that begins with a header, read from its CDR bytes without decoding the rest."""
    seconds, rest = struct.unpack_from("<iI" if data[1] & 1 else ">iI", data, 4)
    return int(seconds) * 10**9 + int(rest)


def color_image(message: Any, *, name: str, max_pixels: int) -> NDArray[np.uint8]:
    """RGB of an Image or CompressedImage."""
    if is_compressed(message):
        return read_color(_bytes(message.data).tobytes(), name=name, max_pixels=max_pixels)
    order = _known(COLOR_ENCODINGS, message, name=name, what="colour")
    pixels = _pixels(message, np.dtype("u1"), len(order), name=name, max_pixels=max_pixels)
    if len(order) == 1:
        return np.repeat(pixels, 3, axis=2)
    return np.ascontiguousarray(pixels[..., list(order[:3])])


def depth_image(message: Any, *, name: str, max_pixels: int) -> tuple[NDArray[np.generic], float]:
    """Raw depth values of an Image or CompressedImage, and how many of them make a metre."""
    if is_compressed(message):
        return _compressed_depth(message, name, max_pixels)
    kind, raw_per_metre = _known(DEPTH_ENCODINGS, message, name=name, what="depth")
    return _pixels(message, np.dtype(kind), 1, name=name, max_pixels=max_pixels)[..., 0], raw_per_metre


def _known(encodings: Mapping[str, _Layout], message: Any, *, name: str, what: str) -> _Layout:
    """How the pixels of an Image lie, by its encoding."""
    layout = encodings.get(message.encoding)
    if layout is None:
        raise SourceError(
            f"{name} encoding",
            message.encoding,
            f"is not read as {what}",
            remedy=f"convert it to one of {', '.join(encodings)}",
        )
    return layout


def _compressed_depth(message: Any, name: str, max_pixels: int) -> tuple[NDArray[np.generic], float]:
    data = _bytes(message.data).tobytes()
    encoded = str(message.format)
    if "rvl" in encoded.lower():
        raise SourceError(f"{name} format", encoded, "is not read here", remedy="republish it as png or 16UC1")
    header = None
    if not data.startswith(_PNG) and data[DEPTH_HEADER.size :].startswith(_PNG):
        header, data = DEPTH_HEADER.unpack_from(data), data[DEPTH_HEADER.size :]
    raw = read_depth(data, name=name, max_pixels=max_pixels)
    if not encoded.startswith("32FC1"):
        return raw, 1000.0
    if header is None:
        raise SourceError(f"{name} format", encoded, "came without its quantization", remedy="republish it as 16UC1")
    # 32FC1 is stored as quantized inverse depth
    _, scale, offset = header
    span = raw.astype(np.float32) - np.float32(offset)
    depth = np.full(raw.shape, np.nan, dtype=np.float32)
    known = (raw.astype(np.int64) > 0) & (span > 0)
    depth[known] = np.float32(scale) / span[known]
    return depth, 1.0


def _pixels(message: Any, dtype: np.dtype[Any], channels: int, *, name: str, max_pixels: int) -> NDArray[Any]:
    width, height, step = int(message.width), int(message.height), int(message.step)
    if width < 1 or height < 1 or width * height > max_pixels:
        raise SourceError(
            f"{name} size", f"{width}x{height}", f"must be 1 to {max_pixels} pixels", remedy="raise max_pixels"
        )
    data = _bytes(message.data)
    row = width * channels * dtype.itemsize
    if step < row:
        raise SourceError(f"{name} step", step, f"is less than a row of {row} bytes", remedy="check the publisher")
    if len(data) < step * height:
        raise SourceError(
            f"{name} data",
            f"{len(data)} bytes",
            f"is cut off: {width}x{height} {message.encoding} takes {step * height}",
            remedy="the frame is left out; check the recorder",
        )
    rows = np.ascontiguousarray(data[: step * height].reshape(height, step)[:, :row])
    order = dtype.newbyteorder(">" if message.is_bigendian else "<")
    return rows.view(order).reshape(height, width, channels).astype(dtype, copy=False)


def _bytes(data: Any) -> NDArray[np.uint8]:
    return np.asarray(data, dtype=np.uint8) if isinstance(data, list) else np.frombuffer(data, dtype=np.uint8)


def intrinsics(message: Any, *, rectified: bool) -> Intrinsics:
    """The pinhole of a CameraInfo: of the rectified image (P), or of the raw one (K)."""
    matrix = message.P if hasattr(message, "P") else message.p
    if rectified and float(matrix[0]) > 0:
        fx, cx, fy, cy = (float(matrix[index]) for index in (0, 2, 5, 6))
    else:
        matrix = message.K if hasattr(message, "K") else message.k
        fx, cx, fy, cy = (float(matrix[index]) for index in (0, 2, 4, 5))
    return Intrinsics(fx, fy, cx, cy, int(message.width), int(message.height))


def per_metre(units: Any, name: str) -> float:
    """Raw values of depth per metre, of the metres of one as a number or as text."""
    try:
        metres = float(units)
    except ValueError:
        metres = 0.0
    if not 0.0 < metres < math.inf:
        raise SourceError(name, units, "is no length of a depth value", remedy="set depth_scale")
    # stored as a float of 32 bits
    return round(1.0 / metres, 2)


def lens(message: Any) -> tuple[str, tuple[float, ...]]:
    """The lens model of a CameraInfo and its coefficients, as they stand there."""
    values = message.D if hasattr(message, "D") else message.d
    return str(message.distortion_model), tuple(float(value) for value in values)


def pose(position: Any, orientation: Any) -> Pose3D:
    """A position or translation with an orientation; raises where they are no pose."""
    return Pose3D.from_quaternion(
        [float(position.x), float(position.y), float(position.z)],
        [float(orientation.x), float(orientation.y), float(orientation.z), float(orientation.w)],
    )


def pose_of(message: Any) -> Pose3D:
    """The pose of a PoseStamped, PoseWithCovarianceStamped or Odometry."""
    inner = message.pose
    inner = getattr(inner, "pose", inner)
    return pose(inner.position, inner.orientation)


def detections(message: Any) -> Iterator[Detection]:
    """The boxes of a Detection2DArray of any version of vision_msgs; what is no box raises ``InvalidValue``."""
    for found in message.detections:
        center = getattr(found.bbox.center, "position", found.bbox.center)
        x, y, wide, high = (float(v) for v in (center.x, center.y, found.bbox.size_x, found.bbox.size_y))
        labels: dict[str, float] = {}
        for result in found.results:
            hypothesis = getattr(result, "hypothesis", result)
            name = str(hypothesis.class_id if hasattr(hypothesis, "class_id") else hypothesis.id).strip()
            score = float(hypothesis.score)
            if not math.isfinite(score):
                raise InvalidValue("detection.score", score, "must be finite", remedy="check the detector")
            if name:
                labels[name] = max(labels.get(name, 0.0), score)
        box = (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
        yield Detection(box=box, score=max(labels.values(), default=1.0), labels=labels)
