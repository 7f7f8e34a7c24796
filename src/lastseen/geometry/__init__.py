"""Poses, cameras and the conventions between them, in one right-handed world with z up (docs/conventions.md)."""

from lastseen.geometry.conventions import (
    CameraAxes,
    WorldUp,
    camera_from_opencv,
    camera_to_opencv,
    world_from_z_up,
    world_to_z_up,
)
from lastseen.geometry.intrinsics import Intrinsics
from lastseen.geometry.pose3d import Pose3D

__all__ = [
    "CameraAxes",
    "Intrinsics",
    "Pose3D",
    "WorldUp",
    "camera_from_opencv",
    "camera_to_opencv",
    "world_from_z_up",
    "world_to_z_up",
]
