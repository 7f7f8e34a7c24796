"""Between plain trees and messages: of rclpy, of rosbags' types (for Zenoh), and Detection3D to observations."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.observation import Observation
from lastseen.ros2.publications import Tree
from lastseen.sources.ros.messages import made, message_class, nanoseconds, pose, ros2_types

_ELEMENT = re.compile(r"(?:sequence<([\w/]+)(?:, \d+)?>|([\w/]+)\[\d+\])")
_SMALLEST_SIDE = 0.01
"""Metres: a detector that gives no size has still seen something."""


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
            package, part = _element(types[name]).split("/")
            inner = message_class(f"{package}/msg/{part}")
            setattr(message, name, [to_message(inner, one) for one in value])
        else:
            setattr(message, name, value.tolist() if isinstance(value, np.ndarray) else value)
    return message


def to_tree(message: Any) -> Tree:
    """The fields of a message of rclpy as plain values."""

    def plain(value: Any) -> Any:
        if hasattr(value, "get_fields_and_field_types"):
            return to_tree(value)
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return value

    return {name: plain(getattr(message, name)) for name in message.get_fields_and_field_types()}


def to_cdr(kind: str, tree: Mapping[str, Any]) -> bytes:
    """A message in CDR, made with rosbags' types: no ROS is needed."""
    return bytes(ros2_types().serialize_cdr(made(kind, tree), kind))


def observations(message: Any, T_world_frame: Pose3D, camera: Pose3D) -> list[Observation]:
    """The boxes of a Detection3DArray in the world; what is no box raises ``InvalidValue``.

    Args:
        message: Of rosbags or rclpy.
        T_world_frame: Where the frame of the boxes is.
        camera: T_world_camera, for the side that things were seen from.
    """
    stamp = nanoseconds(message.header) / 1e9
    found = []
    for one in message.detections:
        T_world_box = T_world_frame @ pose(one.bbox.center.position, one.bbox.center.orientation)
        size = np.array([one.bbox.size.x, one.bbox.size.y, one.bbox.size.z], dtype=np.float64)
        # memory's boxes stand upright: the extent of a turned one
        extent = np.abs(T_world_box.rotation) @ np.maximum(size, _SMALLEST_SIDE)
        labels: dict[str, float] = {}
        for result in one.results:
            name, score = str(result.hypothesis.class_id).strip(), float(result.hypothesis.score)
            if not math.isfinite(score):
                raise InvalidValue("detection.score", score, "must be finite", remedy="check the detector")
            if name:
                labels[name] = max(labels.get(name, 0.0), min(max(score, 0.0), 1.0))
        toward = camera.translation - T_world_box.translation
        found.append(
            Observation(
                position=T_world_box.translation,
                extent=extent,
                view_direction=toward if np.linalg.norm(toward) > 1e-6 else np.array([0.0, 0.0, 1.0]),
                stamp=stamp,
                labels=labels,
                quality=max(labels.values(), default=1.0),
            )
        )
    return found


def _element(kind: str) -> str:
    found = _ELEMENT.fullmatch(kind)
    assert found is not None, kind
    return found.group(1) or found.group(2)
