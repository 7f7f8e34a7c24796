"""Where a camera on a robot is: from a floor pose, a height and a tilt to T_world_camera, and to rays."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lastseen.config.sim import Camera
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, camera_to_opencv
from lastseen.pose2d import Pose2D


def camera_pose(pose: Pose2D, *, height: float, pitch: float = 0.0) -> Pose3D:
    """T_world_camera of a camera above a floor pose; ``pitch`` in radians, positive looks up."""
    body = Pose3D.from_pose2d(pose, height=height)
    tilt = Pose3D(np.zeros(3), np.array([0.0, -math.sin(pitch / 2.0), 0.0, math.cos(pitch / 2.0)]))
    return camera_to_opencv(body @ tilt, CameraAxes.ROS_BODY)


def intrinsics_of(camera: Camera) -> Intrinsics:
    """The pinhole camera that the settings describe."""
    return Intrinsics.from_fov(camera.width, camera.height, horizontal_deg=camera.horizontal_fov)


@lru_cache(maxsize=16)
def camera_rays(intrinsics: Intrinsics) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rays (pixels, 3) in the camera frame, and their lengths; z is 1, so a distance along a ray is a depth."""
    u, v = np.meshgrid(np.arange(intrinsics.width), np.arange(intrinsics.height))
    x, y = (u - intrinsics.cx) / intrinsics.fx, (v - intrinsics.cy) / intrinsics.fy
    rays = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3)
    lengths = np.linalg.norm(rays, axis=1).astype(np.float32)
    narrow = rays.astype(np.float32)
    narrow.flags.writeable = lengths.flags.writeable = False
    return narrow, lengths
