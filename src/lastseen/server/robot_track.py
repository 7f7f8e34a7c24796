"""The robot's pose, its path, and the free distance ahead: what a page draws and an agent steers by."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.space.path import PathPoint

_PATH_POINTS = 4000
"""An hour of walking; beyond it older points are thinned out."""
_STEP = 0.05
"""Metres between points of the path: standing still adds none."""
_NEAREST_SHARE = 5.0
"""Percent of the middle of the image that may be nearer than the clearance: single flying pixels are."""
_ARRIVED = 0.8
"""Metres at which a robot stands before a thing."""
_STRAIGHT = 15.0
"""Degrees to either side that people call ahead."""


class RobotTrack:
    """The pose of the newest frame, its camera, and the path so far; bounded however long the robot walks."""

    def __init__(self, path: Sequence[PathPoint] = ()) -> None:
        self.epoch = 1
        self.version = 0
        self.generation = 0
        self.camera: dict[str, float] | None = None
        self.pose: dict[str, Any] | None = None
        self.clearance: dict[str, float] | None = None
        self._last: tuple[float, float] | None = None
        self._path: list[PathPoint] = []
        self._lock = threading.Lock()
        self.restart(path)

    def restart(self, path: Sequence[PathPoint]) -> None:
        """Take the path that a memory holds, thinned out to what is shown, in place of the one so far."""
        every = max(1, math.ceil(2 * len(path) / _PATH_POINTS))
        with self._lock:
            self._path = [_rounded(point) for point in path[::every]]
            self.generation += 1
            self.version += 1

    def add(self, frame: Frame, *, time: float) -> None:
        """Take the newest frame; ``time`` is the newest memory time.

        Of a frame that memory did not take, the stamps tell how much later it is: a pose that changes while its
        timestamp stands still would be taken for a frozen feed.
        """
        if self._last is not None:
            stamp, before = self._last
            time = max(time, before + max(0.0, frame.stamp - stamp))
        self._last = frame.stamp, time
        camera = frame.intrinsics
        self.camera = {name: getattr(camera, name) for name in ("fx", "fy", "cx", "cy", "width", "height")}
        self.clearance = _clearance(frame, time)
        self.set_pose(frame.T_world_camera, time=time)

    def set_pose(self, pose: Pose3D, *, time: float, on_path: bool = True) -> None:
        """Take a pose without its frame; one of an earlier run is no part of this run's path."""
        xyz = pose.translation.tolist()
        with self._lock:
            self.pose = pose_json(pose, time=time, epoch=self.epoch)
            self.version += 1
            if not on_path:
                return
            last = self._path[-1] if self._path else None
            if last is None or np.linalg.norm(np.subtract(xyz, last[1:])) >= _STEP:
                self._path.append(_rounded((time, *xyz)))
            if len(self._path) > _PATH_POINTS:
                self._path = [*self._path[:-1:2], self._path[-1]]
                self.generation += 1

    def path(self, *, start: int = 0) -> list[PathPoint]:
        """The path from a point on, oldest first."""
        with self._lock:
            return self._path[start:]


def _rounded(point: PathPoint) -> PathPoint:
    time, x, y, z = point
    return round(time, 3), round(x, 3), round(y, 3), round(z, 3)


def pose_json(pose: Pose3D, *, time: float, epoch: int) -> dict[str, Any]:
    """A camera's pose as JSON values; ``timestamp`` is memory time, and poses of two epochs must not be compared."""
    return {
        "xyz": [round(value, 5) for value in pose.translation.tolist()],
        "quaternion_xyzw": [round(value, 7) for value in pose.quaternion.tolist()],
        "timestamp": time,
        "frame_epoch": epoch,
    }


def age_in_words(age: float | None) -> str:
    """How old a pose is: an agent must not steer by where the robot was yesterday."""
    if age is None:
        return "at a time that is not known"
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if age >= 2 * size:
            return f"{age / size:.0f} {name} ago"
    return f"{age:.0f} s ago"


def direction_json(robot: dict[str, Any], target: list[float]) -> dict[str, Any]:
    """Distance on the floor, angle from the robot's heading (positive to the left), and both in words."""
    ahead = Pose3D.from_quaternion(robot["xyz"], robot["quaternion_xyzw"]).rotation @ [0.0, 0.0, 1.0]
    dx, dy = target[0] - robot["xyz"][0], target[1] - robot["xyz"][1]
    distance = math.hypot(dx, dy)
    turn = math.degrees(math.atan2(dy, dx) - math.atan2(float(ahead[1]), float(ahead[0])))
    angle = (turn + 180.0) % 360.0 - 180.0
    if distance <= _ARRIVED:
        words = "right here"
    elif abs(angle) <= _STRAIGHT:
        words = f"{distance:.1f} m straight ahead"
    else:
        words = f"{distance:.1f} m away, {abs(angle):.0f} degrees to the {'left' if angle > 0 else 'right'}"
    return {"distance_m": round(distance, 3), "turn_degrees": round(angle, 1), "direction": words}


def _clearance(frame: Frame, time: float) -> dict[str, float]:
    """How far the way ahead is free, by the middle of the depth image; 0 where that cannot be measured."""
    height, width = frame.depth.shape
    middle = frame.depth[height // 3 : max(height // 3 + 1, 2 * height // 3), width // 3 : 2 * width // 3 + 1]
    measured = middle[np.isfinite(middle)]
    share = measured.size / middle.size
    free = float(np.percentile(measured, _NEAREST_SHARE)) if share >= 0.5 else 0.0
    return {"clearance_m": round(free, 3), "valid_frac": round(share, 3), "timestamp": time}
