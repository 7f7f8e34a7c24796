"""The message definitions that recordings and live topics are read and written with.

Bags mostly bring their own definitions. These serve where none came along: old sqlite bags, live topics, and writing.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lastseen.errors import MissingExtra

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

IMAGES = (IMAGE, COMPRESSED)
POSES = (POSE, POSE_COVARIANCE, ODOMETRY)

_TF_MESSAGE = "geometry_msgs/TransformStamped[] transforms\n"
_VISION = {
    "Point2D": "float64 x\nfloat64 y\n",
    "Pose2D": "vision_msgs/Point2D position\nfloat64 theta\n",
    "BoundingBox2D": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y\n",
    "ObjectHypothesis": "string class_id\nfloat64 score\n",
    "ObjectHypothesisWithPose": "vision_msgs/ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose\n",
    "Detection2D": "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
    "vision_msgs/BoundingBox2D bbox\nstring id\n",
    "Detection2DArray": "std_msgs/Header header\nvision_msgs/Detection2D[] detections\n",
}


def require_rosbags(feature: str) -> None:
    """Raise the error that names the extra where ``rosbags`` is not installed."""
    try:
        import rosbags.typesys  # noqa: F401
    except ImportError as error:
        raise MissingExtra(feature, extra="ros") from error


@functools.cache
def ros2_types() -> Typestore:
    """ROS 2's standard messages with those of vision_msgs 4."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    _register(store, {f"vision_msgs/msg/{name}": text for name, text in _VISION.items()})
    return store


@functools.cache
def ros1_types() -> Typestore:
    """ROS 1's standard messages with those of tf2 and, for lack of older ones, vision_msgs 4."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    _register(store, {TF: _TF_MESSAGE, **{f"vision_msgs/msg/{name}": text for name, text in _VISION.items()}})
    return store


def _register(store: Typestore, definitions: dict[str, str]) -> None:
    from rosbags.typesys import get_types_from_msg

    for name, text in definitions.items():
        store.register(get_types_from_msg(text, name))
