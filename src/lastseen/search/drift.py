"""Keeps the poses of a search in the remembered map: walls that depth shows are laid over those that memory knows.

Poses that a robot adds up from its actions drift by a metre or more in a long search, and then a remembered path
leads into a wall. The walls as they were remembered when the search began stay the reference, so that an error does
not feed on itself. Where a walk is in no remembered map, or its views do not fit, poses stay as the robot says.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.body import body_points
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle

_VIEWS, _REACH = 12, 1.5
"""Views that are laid over the map together, a look around, and metres from the oldest: fewer tell less, and poses
jump about; farther apart the poses among them are no longer right."""
_COLUMNS = 4
"""Every so many-th column of the depth image gives a point: a few hundred in all are enough."""
_FIT = 0.15
"""Metres from a remembered wall at which a point counts for half as much."""
_SHIFTS, _TURNS = np.linspace(-0.2, 0.2, 9), np.radians(np.linspace(-4.0, 4.0, 9))
"""Metres and radians tried either side of the pose: a few actions drift no farther."""
_EVIDENCE = 20.0
"""What the points of several views tell together, as if they were so many independent ones: a wall gives many."""
_STEP, _TURN = 0.1, math.radians(2.0)
"""Metres and radians by which a pose may well have drifted since it was corrected last."""
_LEAST_POINTS, _LEAST_FIT = 60, 0.5
"""Points, and share of them on a wall, from which a pose is corrected: less is another place, or one that changed."""
_FARTHEST = 4.0
"""Metres beyond which depth is too noisy to tell a wall's place."""


@dataclass(frozen=True, slots=True)
class _Scan:
    """Where one view showed walls: points (n, 2) in the robot's own map, and its pose there."""

    points: NDArray[np.float64]
    pose: Pose2D


class DriftCorrection:
    """Give it every frame of a walk in order; it returns them where they are in the map.

    ``walls`` are those that are known when the walk begins; they are copied.
    """

    def __init__(self, walls: FloorGrid) -> None:
        self._walls = walls.settings
        known = walls.occupied
        self.knows = bool(known.any())
        """Whether there is anything to hold on to."""
        self._cell = walls.settings.cell
        if self.knows:
            away = ndimage.distance_transform_edt(~known) * self._cell
            self._near: NDArray[np.float64] = np.exp2(-((away / _FIT) ** 2))
            self._corner = walls.point_of((0, 0))
        self._scans: deque[_Scan] = deque(maxlen=_VIEWS)
        self.offset = ORIGIN
        """Where the origin of the robot's own poses lies in the map."""

    def corrected(self, frame: Frame, *, update: bool = True) -> Frame:
        """The frame at its place in the map; without ``update`` by what was found before."""
        if not self.knows:
            return frame
        told = frame.floor_pose
        if update:
            self._take(frame, told)
            self._match(told)
        if self.offset == ORIGIN:
            return frame
        return replace(frame, T_world_camera=Pose3D.from_pose2d(self.offset) @ frame.T_world_camera)

    def _take(self, frame: Frame, told: Pose2D) -> None:
        points = body_points(frame, stride=_COLUMNS)
        reach = np.hypot(points[..., 0], points[..., 1])
        high = (points[..., 2] > self._walls.obstacle_low) & (points[..., 2] < self._walls.obstacle_high)
        shown = np.where(high & (reach < _FARTHEST), reach, np.inf)
        rows = np.argmin(shown, axis=0)
        columns = np.flatnonzero(np.isfinite(shown.min(axis=0)))
        body = points[rows[columns], columns, :2].astype(np.float64)
        self._scans.append(_Scan(_placed(body, told), told))
        while self._scans[0].pose.distance_to(told) > _REACH:
            self._scans.popleft()

    def _match(self, told: Pose2D) -> None:
        """Turn and shift the newest views about the robot to where they fit the map best, not far from before."""
        points = np.concatenate([scan.points for scan in self._scans])
        if len(points) < _LEAST_POINTS:
            return
        here = self.offset.compose(told)
        around = _placed(points, self.offset) - (here.x, here.y)
        best, turn, shift = -math.inf, 0.0, (0.0, 0.0)
        for angle in _TURNS.tolist():
            turned = _placed(around, Pose2D(here.x, here.y, angle))
            fits = self._fits(turned)
            unlikely = (_SHIFTS / _STEP) ** 2
            value = _EVIDENCE * fits - 0.5 * (unlikely[:, None] + unlikely[None, :] + (angle / _TURN) ** 2)
            i, j = np.unravel_index(int(np.argmax(value)), value.shape)
            if value[i, j] > best and fits[i, j] >= _LEAST_FIT:
                best, turn, shift = float(value[i, j]), angle, (float(_SHIFTS[i]), float(_SHIFTS[j]))
        if math.isfinite(best):
            there = Pose2D(here.x + shift[0], here.y + shift[1], wrap_angle(here.yaw + turn))
            self.offset = there.compose(told.inverse())

    def _fits(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean over points of how near a wall each lies, for every shift along x and y."""
        x0, y0 = self._corner
        rows = np.floor((points[:, 0, None] + _SHIFTS - x0) / self._cell + 0.5).astype(np.intp)
        columns = np.floor((points[:, 1, None] + _SHIFTS - y0) / self._cell + 0.5).astype(np.intp)
        height, width = self._near.shape
        inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
        near = self._near[rows.clip(0, height - 1)[:, :, None], columns.clip(0, width - 1)[:, None, :]]
        return np.where(inside, near, 0.0).mean(axis=0)


def _placed(points: NDArray[np.float64], pose: Pose2D) -> NDArray[np.float64]:
    """Points (n, 2) in a pose's own frame, as the outer frame has them."""
    cosine, sine = math.cos(pose.yaw), math.sin(pose.yaw)
    return points @ np.array([[cosine, sine], [-sine, cosine]]) + (pose.x, pose.y)
