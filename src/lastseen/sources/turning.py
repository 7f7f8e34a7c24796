"""Turning an image by quarter turns with everything that belongs to it: depth, intrinsics, pose and boxes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Intrinsics, Pose3D

Scalar = TypeVar("Scalar", bound=np.generic)
Box = tuple[float, float, float, float]

_HALF = float(np.sqrt(0.5))
# the pose of the turned camera in the unturned one: a turn about the optical axis against the image's own turn
_T_CAMERA_TURNED = {
    0: Pose3D.identity(),
    1: Pose3D(np.zeros(3), np.array([0.0, 0.0, -_HALF, _HALF])),
    2: Pose3D(np.zeros(3), np.array([0.0, 0.0, 1.0, 0.0])),
    3: Pose3D(np.zeros(3), np.array([0.0, 0.0, _HALF, _HALF])),
}


def quarter_turns(degrees: str) -> int:
    """Quarter turns clockwise of a text option: "90" is 1."""
    return int(degrees) // 90 % 4


def turn_image(image: NDArray[Scalar], turns: int) -> NDArray[Scalar]:
    """The image turned clockwise by quarter turns."""
    return np.ascontiguousarray(np.rot90(image, -turns)) if turns % 4 else image


def turn_intrinsics(camera: Intrinsics, turns: int) -> Intrinsics:
    """The camera of the image turned clockwise by quarter turns."""
    for _ in range(turns % 4):
        camera = Intrinsics(
            camera.fy, camera.fx, camera.height - 1 - camera.cy, camera.cx, camera.height, camera.width
        )
    return camera


def turn_pose(T_world_camera: Pose3D, turns: int) -> Pose3D:
    """The pose of the camera whose image is the old one turned clockwise."""
    return T_world_camera @ _T_CAMERA_TURNED[turns % 4] if turns % 4 else T_world_camera


def turn_box(box: Box, turns: int, *, width: int, height: int) -> Box:
    """A box of an image of this size, in the image turned clockwise."""
    left, top, right, bottom = box
    for _ in range(turns % 4):
        left, top, right, bottom = height - bottom, left, height - top, right
        width, height = height, width
    return left, top, right, bottom


def mirror_box(box: Box, *, width: int) -> Box:
    """A box in the image flipped left to right."""
    left, top, right, bottom = box
    return width - right, top, width - left, bottom
