"""Where a frame's camera is and what falls on its image, as plain numbers for compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.memory.objects.compiled import compiled
from lastseen.memory.objects.grid import Floats


class Eye(NamedTuple):
    """A camera's place and axes in the world, in metres, and its pinhole, in pixels."""

    x: float
    y: float
    z: float
    right_x: float
    down_x: float
    ahead_x: float
    right_y: float
    down_y: float
    ahead_y: float
    right_z: float
    down_z: float
    ahead_z: float
    fx: float
    fy: float
    cx: float
    cy: float
    width: float
    height: float


def eye_of(frame: Frame, camera: Intrinsics) -> Floats:
    """The numbers of a frame's colour or depth camera; an array reaches compiled code sooner than a tuple."""
    pose = frame.T_world_camera
    numbers = np.empty(len(Eye._fields))
    numbers[:3] = pose.translation
    # the columns of a rotation are the camera's axes, so its rows are what each world axis has of them
    numbers[3:12] = pose.rotation.reshape(-1)
    numbers[12:] = camera.fx, camera.fy, camera.cx, camera.cy, camera.width, camera.height
    return numbers


@compiled
def eye_from(n: Floats) -> Eye:
    """The eye of these numbers."""
    place, pinhole = (n[0], n[1], n[2]), (n[12], n[13], n[14], n[15], n[16], n[17])
    return Eye(*place, n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], *pinhole)


@compiled
def seen_by(eye: Eye, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A point of the world in camera axes: right, down, ahead."""
    x, y, z = x - eye.x, y - eye.y, z - eye.z
    return (
        x * eye.right_x + y * eye.right_y + z * eye.right_z,
        x * eye.down_x + y * eye.down_y + z * eye.down_z,
        x * eye.ahead_x + y * eye.ahead_y + z * eye.ahead_z,
    )


@compiled
def holds_box(eye: Eye, x: float, y: float, z: float, wide: float, deep: float, high: float, margin: float) -> bool:
    """Whether a box falls on the image with all of its corners, judged by the box around it in camera axes."""
    right, down, ahead = seen_by(eye, x, y, z)
    half_right = 0.5 * (wide * abs(eye.right_x) + deep * abs(eye.right_y) + high * abs(eye.right_z))
    half_down = 0.5 * (wide * abs(eye.down_x) + deep * abs(eye.down_y) + high * abs(eye.down_z))
    half_ahead = 0.5 * (wide * abs(eye.ahead_x) + deep * abs(eye.ahead_y) + high * abs(eye.ahead_z))
    # the nearest face shows largest
    near = ahead - half_ahead
    return (
        near > 1e-6
        and eye.fx * (right - half_right) >= (margin - eye.cx) * near
        and eye.fy * (down - half_down) >= (margin - eye.cy) * near
        and eye.fx * (right + half_right) <= (eye.width - 1 - margin - eye.cx) * near
        and eye.fy * (down + half_down) <= (eye.height - 1 - margin - eye.cy) * near
    )
