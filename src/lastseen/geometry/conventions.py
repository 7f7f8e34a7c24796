"""Camera axes and world axes of other systems, and the rotation from each to ours.

Inside lastseen a camera is OpenCV's (x right, y down, z forward) and the world is right-handed with z up. A source
that speaks otherwise converts once, in ``sources.conversion``; docs/conventions.md has the one-liners.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

import numpy as np

from lastseen.geometry.pose3d import Pose3D

Rows = tuple[tuple[int, int, int], ...]
"""A rotation by quarter turns, row by row."""


class CameraAxes(StrEnum):
    """How a system names the axes of its camera."""

    OPENCV = "opencv"
    """x right, y down, z forward: OpenCV, ROS optical frames, COLMAP, TUM RGB-D."""
    OPENGL = "opengl"
    """x right, y up, z backward: OpenGL, ARKit, Blender, NeRF, Habitat."""
    ROS_BODY = "ros_body"
    """x forward, y left, z up: ROS base_link and camera_link."""


class WorldUp(StrEnum):
    """Which axis of a right-handed world points away from the ground."""

    Z = "z"
    """Ours, ROS, Blender, most motion capture."""
    Y = "y"
    """ARKit, Habitat, glTF: y up; -z becomes our +y."""
    MINUS_Y = "-y"
    """The first OpenCV camera as world: y down, z forward; +z becomes our +y."""
    MINUS_Z = "-z"
    """North-east-down frames of aircraft: z down; x stays, -y becomes our +y."""
    X = "x"
    """A tracker lying on its side: x up; y becomes our +x."""
    MINUS_X = "-x"
    """The same on the other side: x down; -y becomes our +x."""


@lru_cache
def _turn(rows: Rows) -> Pose3D:
    matrix = np.eye(4)
    matrix[:3, :3] = rows
    return Pose3D.from_matrix(matrix)


@lru_cache
def _lift(up: tuple[float, float, float]) -> Pose3D:
    """The shortest rotation that takes a direction to z."""
    vector = np.array(up) / np.linalg.norm(up)
    # half the angle, about the axis across both; a direction straight down is turned about x
    quaternion = np.array([vector[1], -vector[0], 0.0, 1.0 + vector[2]])
    length = float(np.linalg.norm(quaternion))
    return Pose3D(np.zeros(3), quaternion / length if length > 1e-9 else np.array([1.0, 0.0, 0.0, 0.0]))


_AXES_OPENCV: dict[CameraAxes, Rows] = {
    CameraAxes.OPENCV: ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    CameraAxes.OPENGL: ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    CameraAxes.ROS_BODY: ((0, 0, 1), (-1, 0, 0), (0, -1, 0)),
}

_ZUP_WORLD: dict[WorldUp, Rows] = {
    WorldUp.Z: ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    WorldUp.Y: ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    WorldUp.MINUS_Y: ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    WorldUp.MINUS_Z: ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    WorldUp.X: ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
    WorldUp.MINUS_X: ((0, -1, 0), (0, 0, 1), (-1, 0, 0)),
}


def camera_to_opencv(T_world_camera: Pose3D, axes: CameraAxes) -> Pose3D:
    """The pose of the same camera with OpenCV axes."""
    if axes is CameraAxes.OPENCV:
        return T_world_camera
    return T_world_camera @ _turn(_AXES_OPENCV[axes])


def camera_from_opencv(T_world_camera: Pose3D, axes: CameraAxes) -> Pose3D:
    """The pose of the same camera with another system's axes."""
    return T_world_camera @ _turn(_AXES_OPENCV[axes]).inverse()


def world_to_z_up(T_world_camera: Pose3D, up: WorldUp | tuple[float, float, float]) -> Pose3D:
    """The same pose in a world whose z points up; ``up`` is an axis, or any direction that points up there."""
    if up is WorldUp.Z:
        return T_world_camera
    return (_turn(_ZUP_WORLD[up]) if isinstance(up, WorldUp) else _lift(up)) @ T_world_camera


def world_from_z_up(T_world_camera: Pose3D, up: WorldUp) -> Pose3D:
    """The same pose in a world whose ``up`` axis points up."""
    return _turn(_ZUP_WORLD[up]).inverse() @ T_world_camera
