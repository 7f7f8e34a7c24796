"""Where a frame's camera is and what falls on its image, as plain numbers for compiled loops."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lastseen.compiled import compiled
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.memory.objects.boxes import turned
from lastseen.memory.objects.columns import Floats


class CameraView(NamedTuple):
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


def camera_numbers(frame: Frame, camera: Intrinsics) -> Floats:
    """The fields of a ``CameraView`` of a frame's colour or depth camera, as one array.

    An array reaches compiled code sooner than a tuple.
    """
    pose = frame.T_world_camera
    numbers = np.empty(len(CameraView._fields))
    numbers[:3] = pose.translation
    # the columns of a rotation are the camera's axes, so its rows are what each world axis has of them
    numbers[3:12] = pose.rotation.reshape(-1)
    numbers[12:] = camera.fx, camera.fy, camera.cx, camera.cy, camera.width, camera.height
    return numbers


@compiled
def view_from(n: Floats) -> CameraView:
    """The camera view of these numbers."""
    place, pinhole = (n[0], n[1], n[2]), (n[12], n[13], n[14], n[15], n[16], n[17])
    return CameraView(*place, n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], *pinhole)


@compiled
def to_camera(view: CameraView, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A point of the world in camera axes: right, down, ahead."""
    x, y, z = x - view.x, y - view.y, z - view.z
    return (
        x * view.right_x + y * view.right_y + z * view.right_z,
        x * view.down_x + y * view.down_y + z * view.down_z,
        x * view.ahead_x + y * view.ahead_y + z * view.ahead_z,
    )


@compiled
def _half(size: tuple[float, float, float], yaw: float, x: float, y: float, z: float) -> float:
    """How far a box reaches from its middle along a direction of the world."""
    x, y = turned(x, y, yaw)
    return 0.5 * (size[0] * abs(x) + size[1] * abs(y) + size[2] * abs(z))


@compiled
def image_holds_box(
    view: CameraView, x: float, y: float, z: float, size: tuple[float, float, float], yaw: float, margin: float
) -> bool:
    """Whether a box falls on the image with all of its corners, ``margin`` pixels inside of the border.

    Judged by the box around it in camera axes.
    """
    right, down, ahead = to_camera(view, x, y, z)
    half_right = _half(size, yaw, view.right_x, view.right_y, view.right_z)
    half_down = _half(size, yaw, view.down_x, view.down_y, view.down_z)
    half_ahead = _half(size, yaw, view.ahead_x, view.ahead_y, view.ahead_z)
    # the nearest face shows largest
    near = ahead - half_ahead
    return (
        near > 1e-6
        and view.fx * (right - half_right) >= (margin - view.cx) * near
        and view.fy * (down - half_down) >= (margin - view.cy) * near
        and view.fx * (right + half_right) <= (view.width - 1 - margin - view.cx) * near
        and view.fy * (down + half_down) <= (view.height - 1 - margin - view.cy) * near
    )


@compiled
def box_in_view(numbers: Floats, reach: float) -> tuple[Floats, Floats]:
    """Lowest and highest corner of the axis-aligned box around all that a camera can see up to a range in metres."""
    view = view_from(numbers)
    low, high = np.array([view.x, view.y, view.z]), np.array([view.x, view.y, view.z])
    for column in (0.0, view.width):
        for line in (0.0, view.height):
            right, down = reach * (column - view.cx) / view.fx, reach * (line - view.cy) / view.fy
            x = view.x + right * view.right_x + down * view.down_x + reach * view.ahead_x
            y = view.y + right * view.right_y + down * view.down_y + reach * view.ahead_y
            z = view.z + right * view.right_z + down * view.down_z + reach * view.ahead_z
            low[0], low[1], low[2] = min(low[0], x), min(low[1], y), min(low[2], z)
            high[0], high[1], high[2] = max(high[0], x), max(high[1], y), max(high[2], z)
    return low, high


@compiled
def view_bin(x: float, y: float, z: float, azimuth_bins: int, elevation_bins: int) -> int:
    """The bin of a direction from object to camera, in axes of the object's box.

    Azimuth sectors count from -x, elevation bands from below.
    """
    turn = math.atan2(y, x) * (azimuth_bins / (2.0 * math.pi)) + 0.5 * azimuth_bins
    rise = math.asin(min(max(z, -1.0), 1.0)) * (elevation_bins / math.pi) + 0.5 * elevation_bins
    return min(int(rise), elevation_bins - 1) * azimuth_bins + int(turn) % azimuth_bins
