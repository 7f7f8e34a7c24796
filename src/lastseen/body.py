"""One depth image as the robot meets it: its points in body axes, and how far the robot could go before an obstacle.

Body axes are x forward, y left, z up, with the origin on the floor below the camera. Memory, policies and searches
need these points, none of which may depend on where in the world the robot is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.config.search import Policy
from lastseen.frame import Frame

_BLIND = 0.1
"""Share of a column's pixels with depth below which it shows nothing: open floor fills a third of it."""
_WAYPOINT = 2.0
"""Distance in metres at which the robot's width is laid over the columns: where most waypoints lie."""


def body_points(frame: Frame, *, stride: int = 1) -> NDArray[np.float32]:
    """Points (height, width, 3) of the depth image in body axes, in metres; NaN where depth is missing.

    With a ``stride`` only every so many-th row and column is taken.
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
    camera = frame.camera_of_depth
    if stride == 1:
        points = camera.unproject_image(frame.depth) @ turn.T
    else:
        rows, columns = np.mgrid[0 : camera.height : stride, 0 : camera.width : stride]
        depth = frame.depth[::stride, ::stride]
        rays = camera.unproject(np.stack([columns.ravel(), rows.ravel()], axis=-1), depth.ravel())
        points = rays.reshape(*depth.shape, 3).astype(np.float32) @ turn.T
    points[..., 2] += np.float32(frame.T_world_camera.translation[2])
    return points


def floor_height(reach: NDArray[np.float32], settings: Policy) -> NDArray[np.float32]:
    """Up to which height in metres a point at this distance may still be floor."""
    return np.float32(settings.obstacle_low) + np.float32(settings.floor_slope) * reach


def open_until(points: NDArray[np.float32], settings: Policy) -> NDArray[np.float32]:
    """Metres per column of body points (height, width, 3) until an obstacle; infinite where there is none.

    Floor that is seen under a table counts as blocked, because the table is in the way.
    """
    reach = np.hypot(points[..., 0], points[..., 1])
    in_the_way = (points[..., 2] > floor_height(reach, settings)) & (points[..., 2] < settings.obstacle_high)
    nearest = np.where(in_the_way, reach, np.float32(np.inf)).min(axis=0)
    # a wall too close for the camera has no depth at all; floor within range always has some
    blind = np.isfinite(points[..., 0]).mean(axis=0) < _BLIND
    nearest[blind] = 0.0
    bearing = column_bearings(points)
    across = max(float(bearing.max() - bearing.min()), 0.1)
    columns = max(1, round(2 * math.atan(settings.robot_radius / _WAYPOINT) / across * points.shape[1]))
    from scipy import ndimage

    narrowed: NDArray[np.float32] = ndimage.minimum_filter1d(nearest, columns, mode="nearest")
    return narrowed - np.float32(settings.robot_radius)


def free_ahead(points: NDArray[np.float32], settings: Policy, *, half_angle: float) -> float:
    """Metres the robot could go within `half_angle` radians of straight ahead, at most `max_waypoint`."""
    middle = np.abs(column_bearings(points)) <= half_angle
    if not middle.any():
        return 0.0
    farthest = float(open_until(points, settings)[middle].max())
    return min(max(farthest, 0.0), settings.max_waypoint)


def column_bearings(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """The direction of each column in radians, positive left; any point of it would do, the sum is the steadiest."""
    return np.arctan2(np.nansum(points[..., 1], axis=0), np.nansum(points[..., 0], axis=0))
