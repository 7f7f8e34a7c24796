"""A room of boxes, ray-cast with plain numpy: what a camera sees that walks in an arc before three things."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.pose2d import Pose2D

CAMERA = Intrinsics.from_fov(160, 120, horizontal_deg=79.0)
ROOM = ((-2.5, -2.0, 0.0), (3.0, 2.0, 2.6))
THINGS = {
    "chest": (((1.2, -1.2, 0.0), (1.9, -0.2, 0.6)), (150, 60, 30)),
    "crate": (((1.6, 0.5, 0.0), (2.0, 0.8, 0.5)), (30, 60, 170)),
    "stool": (((0.6, 1.0, 0.0), (0.9, 1.3, 0.45)), (40, 150, 60)),
}


def walk(yaw: float = 0.0, shift: tuple[float, float] = (0.0, 0.0), count: int = 10) -> Iterator[Frame]:
    """The frames of the walk, told in a map in which the room is turned by ``yaw`` and moved by ``shift``."""
    T_map_room = Pose3D.from_pose2d(Pose2D(*shift, yaw))
    for frame in _frames(count):
        yield replace(frame, T_world_camera=T_map_room @ frame.T_world_camera)


def in_map(points: NDArray[np.float64], yaw: float, shift: tuple[float, float]) -> NDArray[np.float64]:
    """Points of the room in such a map."""
    return Pose3D.from_pose2d(Pose2D(*shift, yaw)).transform(points)


def mask_of(frame: Frame, number: int) -> NDArray[np.bool_]:
    """The pixels of one of the things."""
    return np.asarray((frame.rgb // 2 == np.array(list(THINGS.values())[number][1]) // 2).all(axis=2))


def _frames(count: int) -> Iterator[Frame]:
    v, u = np.mgrid[: CAMERA.height, : CAMERA.width]
    rays = np.stack([(u - CAMERA.cx) / CAMERA.fx, (v - CAMERA.cy) / CAMERA.fy, np.ones(u.shape)], axis=2)
    for number in range(count):
        around = math.radians(-50.0 + 100.0 * number / max(count - 1, 1))
        eye = np.array([1.3 - 2.6 * math.cos(around), -2.0 * math.sin(around) * 0.8, 1.3])
        turn = _looking(np.array([1.4, 0.1, 0.35]) - eye)
        depth, color = _cast(eye, rays @ turn.T)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn, eye
        yield Frame(number, 0.5 * number, color, depth.astype(np.float32), Pose3D.from_matrix(pose), CAMERA)


def _looking(ahead: NDArray[np.float64]) -> NDArray[np.float64]:
    z = ahead / np.linalg.norm(ahead)
    x = np.cross(z, [0.0, 0.0, 1.0])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _cast(eye: NDArray[np.float64], rays: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Depth along the optical axis, for rays have length 1 along it, and colour with stripes on the walls."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = ((np.array(corner) - eye) / rays for corner in ROOM)
        depth = np.maximum(low, high).min(axis=2)
        hit = eye + depth[..., None] * rays
        color = np.full((*depth.shape, 3), 200, dtype=np.uint8)
        color[(np.floor(hit.sum(axis=2) * 8.0) % 2.0) == 0.0] = 120
        for (start, end), paint in THINGS.values():
            low, high = (np.array(start) - eye) / rays, (np.array(end) - eye) / rays
            near, far = np.minimum(low, high).max(axis=2), np.maximum(low, high).min(axis=2)
            met = (near < far) & (near > 0.0) & (near < depth)
            depth[met] = near[met]
            color[met] = paint
    return depth, color
