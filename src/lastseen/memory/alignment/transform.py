"""A turn about the vertical and a shift: what is left between two maps whose z axes both point up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D, wrap_angle


@dataclass(frozen=True, slots=True)
class FrameTransform:
    """Takes points of one map to another: turned by ``yaw`` radians about z, then shifted by (x, y, z) metres."""

    yaw: float = 0.0
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0

    def apply(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points (n, 3) of the one map in the other."""
        cosine, sine = math.cos(self.yaw), math.sin(self.yaw)
        turned = points @ np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
        return turned + np.array([self.x, self.y, self.z])

    def turn(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Directions or offsets (n, 3) of the one map in the other."""
        return FrameTransform(self.yaw).apply(vectors)

    def turn_boxes(self, extents: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sides (n, 3) of upright boxes around boxes of these sides: a turned box needs a larger one."""
        cosine, sine = abs(math.cos(self.yaw)), abs(math.sin(self.yaw))
        return extents @ np.array([[cosine, sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])

    @property
    def on_floor(self) -> Pose2D:
        """Where the origin of the one map lies on the floor of the other."""
        return Pose2D(self.x, self.y, self.yaw)

    @property
    def pose(self) -> Pose3D:
        """The same as a pose: of the one map's origin in the other."""
        return Pose3D.from_pose2d(self.on_floor, height=self.z)

    def then(self, second: FrameTransform) -> FrameTransform:
        """This transform and another after it, as one."""
        x, y, z = second.apply(np.array([[self.x, self.y, self.z]]))[0].tolist()
        return FrameTransform(wrap_angle(self.yaw + second.yaw), x, y, z)

    def inverse(self) -> FrameTransform:
        """The way back."""
        turn = FrameTransform(-self.yaw)
        x, y, z = turn.apply(np.array([[-self.x, -self.y, -self.z]]))[0].tolist()
        return FrameTransform(wrap_angle(-self.yaw), x, y, z)

    def angle_to(self, other: Self) -> float:
        """Radians between the turns of two transforms, 0 to pi."""
        return abs(wrap_angle(self.yaw - other.yaw))

    @classmethod
    def fit(
        cls, given: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> FrameTransform:
        """The transform that brings ``given`` points (n, 3) nearest to ``target``, by weighted least squares."""
        total = float(weights.sum())
        centre, goal = weights @ given / total, weights @ target / total
        a, b = given[:, :2] - centre[:2], target[:, :2] - goal[:2]
        along = float(weights @ (a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1]))
        across = float(weights @ (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))
        turn = cls(math.atan2(across, along))
        x, y, z = (goal - turn.apply(centre[None])[0]).tolist()
        return cls(turn.yaw, x, y, z)
