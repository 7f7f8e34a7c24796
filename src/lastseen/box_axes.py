"""Along which horizontal axes boxes are measured: those of the walls and furniture in view, not those of the map.

A map begins at any yaw. Boxes along its axes would be up to 1.4 times as long as the things in a turned room, and the
same room in another map would give other things. A box stands upright; its yaw is that of its first side about the
world's up, and a quarter turn of a box is the same box with its sides exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.observation import Observation
from lastseen.pose2d import Pose2D

_PIXELS = 64
"""Pixels along the longer side of the image at which normals are taken: neighbours are then centimetres apart, so
that noise of depth tilts them little."""
_FLAT = 0.08
"""Metres a metre of depth by which neighbours may differ: more is the edge of something."""
_UPRIGHT = 0.9
"""Horizontal part of the unit normal of what stands upright: within 25 degrees."""
_FARTHEST = 8.0
"""Metres up to which depth tells directions."""
_ENOUGH = 0.2
"""Square metres of upright surface from which it tells the axes."""
_WIDTH = math.radians(8.0)
"""Turn from the axes at which a surface counts about a third: what stands askew does not turn the rest."""
_ROUNDS = 12
"""Steps of refinement; the turn settles within six."""


def axes_of(frame: Frame) -> float:
    """The yaw of the walls and furniture that a frame shows, -pi/4 to pi/4; of the camera where it shows none.

    The same view in a turned map gives the same axes, turned.
    """
    turn = frame.T_world_camera.rotation
    angles, weights = _upright(frame, turn)
    if float(weights.sum()) < _ENOUGH:
        # the way the camera looks, or its right where it looks down
        forward, right = turn[:2, 2], turn[:2, 0]
        ahead = forward if np.hypot(*forward) >= np.hypot(*right) else right
        return quarter(math.atan2(float(ahead[1]), float(ahead[0])))
    yaw = _mean(angles, weights)
    for _ in range(_ROUNDS):
        off = np.remainder(angles - yaw + math.pi / 4.0, math.pi / 2.0) - math.pi / 4.0
        yaw = _mean(angles, weights * np.exp(-((off / _WIDTH) ** 2)))
    return quarter(yaw)


def quarter(yaw: float) -> float:
    """The turn from -pi/4 up to pi/4 that differs by quarter turns only."""
    return (yaw + math.pi / 4.0) % (math.pi / 2.0) - math.pi / 4.0


def in_axes(frame: Frame, yaw: float) -> Frame:
    """A frame in a world turned so that boxes of this yaw lie along its axes."""
    if yaw == 0.0:
        return frame
    return replace(frame, T_world_camera=Pose3D.from_pose2d(Pose2D(0.0, 0.0, -yaw)) @ frame.T_world_camera)


def in_world(observations: Sequence[Observation], yaw: float) -> list[Observation]:
    """Observations of a frame that was turned by ``in_axes``, in the world again; their boxes have this yaw."""
    if yaw == 0.0:
        return list(observations)
    cosine, sine = math.cos(yaw), math.sin(yaw)
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    return [
        replace(
            one,
            position=turn @ one.position,
            view_direction=turn @ one.view_direction,
            points=None if one.points is None else one.points @ turn.T,
            yaw=one.yaw + yaw,
        )
        for one in observations
    ]


def _upright(frame: Frame, turn: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Directions of the normals of upright surfaces in view, and the square metres that each stands for."""
    camera = frame.camera_of_depth
    step = max(1, max(frame.depth.shape) // _PIXELS)
    depth = frame.depth[::step, ::step].astype(np.float64)
    rows, columns = (np.arange(size) * step for size in depth.shape)
    x = (columns[np.newaxis] - camera.cx) / camera.fx * depth
    y = (rows[:, np.newaxis] - camera.cy) / camera.fy * depth
    points = np.stack([x, y, depth], axis=2)
    across, down = points[:-1, 1:] - points[:-1, :-1], points[1:, :-1] - points[:-1, :-1]
    limit = _FLAT * depth[:-1, :-1]
    with np.errstate(invalid="ignore"):
        flat = (np.abs(across[..., 2]) <= limit) & (np.abs(down[..., 2]) <= limit) & (depth[:-1, :-1] <= _FARTHEST)
    normals = np.cross(across[flat], down[flat]) @ turn.T
    areas = np.linalg.norm(normals, axis=1)
    level = np.hypot(normals[:, 0], normals[:, 1])
    upright = level > _UPRIGHT * np.maximum(areas, 1e-12)
    normals, areas = normals[upright], areas[upright]
    return np.arctan2(normals[:, 1], normals[:, 0]), areas


def _mean(angles: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The mean of directions that are the same at every quarter turn."""
    return math.atan2(float(weights @ np.sin(4.0 * angles)), float(weights @ np.cos(4.0 * angles))) / 4.0
