"""A frame's points as the robot feels them: x forward, y left, z up, from the floor below the camera."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame


def body_points(frame: Frame) -> NDArray[np.float32]:
    """Points (height, width, 3) of the depth image in body axes; NaN where depth is missing.

    Only the camera's height and its tilt against gravity are taken from the pose, which a robot knows from its own
    build; position and heading in the world are not used, so a policy on this stays free of localization.
    """
    rotation = frame.T_world_camera.rotation
    forward = rotation[:, 2]
    # looking straight down the heading is where the top of the image points
    level = forward if math.hypot(forward[0], forward[1]) > 1e-6 else -rotation[:, 1]
    yaw = math.atan2(level[1], level[0])
    cos, sin = math.cos(-yaw), math.sin(-yaw)
    unyaw = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    turn = (unyaw @ rotation).astype(np.float32)
    points = frame.points() @ turn.T
    points[..., 2] += np.float32(frame.T_world_camera.translation[2])
    return points
