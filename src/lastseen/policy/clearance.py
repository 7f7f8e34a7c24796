"""How far the robot could go before something is in its way, column by column of one depth image."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.policy import Policy

_BLIND = 0.1
"""Share of a column's pixels with depth below which it shows nothing: open floor fills a third of it."""
_WAYPOINT = 2.0
"""Metres at which the robot's width is laid over the columns: where most waypoints lie."""


def floor_height(reach: NDArray[np.float32], settings: Policy) -> NDArray[np.float32]:
    """Up to which height a point at this distance may still be floor."""
    return np.float32(settings.obstacle_low) + np.float32(settings.floor_slope) * reach


def open_until(points: NDArray[np.float32], settings: Policy) -> NDArray[np.float32]:
    """Metres per column of body points (height, width, 3) until something is in the way; infinite where nothing is.

    Floor that is seen under a table is not a way: the table is.
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
    narrowed: NDArray[np.float32] = ndimage.minimum_filter1d(nearest, columns, mode="nearest")
    return narrowed - np.float32(settings.robot_radius)


def free_ahead(points: NDArray[np.float32], settings: Policy, *, half_angle: float) -> float:
    """The farthest the robot could go within this many radians of straight ahead, at most the waypoint distance."""
    middle = np.abs(column_bearings(points)) <= half_angle
    if not middle.any():
        return 0.0
    farthest = float(open_until(points, settings)[middle].max())
    return min(max(farthest, 0.0), settings.max_waypoint)


def column_bearings(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """The direction of each column, positive left; any point of it would do, the sum is the steadiest."""
    directions: NDArray[np.float32] = np.arctan2(np.nansum(points[..., 1], axis=0), np.nansum(points[..., 0], axis=0))
    return directions
