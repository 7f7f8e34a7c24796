"""A room and boxes seen by exact ray casting in a few lines: a world for policy tests without the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action, apply
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, camera_to_opencv
from lastseen.pose2d import Pose2D

Box = tuple[tuple[float, float, float], tuple[float, float, float]]
CAMERA = Intrinsics.from_fov(80, 60, horizontal_deg=79)
ROBOT_RADIUS = 0.18


@dataclass
class BoxWorld:
    """A room from -size to size with solid boxes; box 0 is the target where there is one."""

    size: float = 4.0
    boxes: list[Box] = field(default_factory=list)
    pose: Pose2D = field(default_factory=lambda: Pose2D(0.0, 0.0, 0.0))

    def look(self) -> Frame:
        depth, _ = self._cast()
        return Frame(
            id=0,
            stamp=0.0,
            rgb=np.zeros((CAMERA.height, CAMERA.width, 3), np.uint8),
            depth=depth,
            T_world_camera=self._camera(),
            intrinsics=CAMERA,
        )

    def detect(self, label: str) -> list[Detection]:
        """The target as a perfect detector would give it, when enough of it is in view."""
        _, hit = self._cast()
        mask = hit == 0
        if mask.sum() < 12:
            return []
        rows, columns = np.nonzero(mask)
        box = (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
        return [Detection(box, 0.9, {label: 0.9}, mask=mask)]

    def step(self, action: Action) -> bool:
        """Do an action; returns whether it ended in a collision."""
        there = apply(self.pose, action)
        if action is Action.FORWARD and self._hits(there):
            return True
        self.pose = there
        return False

    def _hits(self, pose: Pose2D) -> bool:
        if max(abs(pose.x), abs(pose.y)) > self.size - ROBOT_RADIUS:
            return True
        return any(
            lower[2] < 0.88
            and np.hypot(
                max(lower[0] - pose.x, 0.0, pose.x - upper[0]), max(lower[1] - pose.y, 0.0, pose.y - upper[1])
            )
            < ROBOT_RADIUS
            for lower, upper in self.boxes
        )

    def _camera(self) -> Pose3D:
        return camera_to_opencv(Pose3D.from_pose2d(self.pose, height=0.88), CameraAxes.ROS_BODY)

    def _cast(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        camera = self._camera()
        pixels = np.stack(np.meshgrid(np.arange(CAMERA.width), np.arange(CAMERA.height)), axis=-1)
        rays = CAMERA.unproject(pixels, np.ones(pixels.shape[:2])) @ camera.rotation.T
        eye = camera.translation
        with np.errstate(divide="ignore", invalid="ignore"):
            room = [np.array([-self.size, -self.size, 0.0]), np.array([self.size, self.size, 2.5])]
            depth = np.min(np.where(rays > 0, (room[1] - eye) / rays, (room[0] - eye) / rays), axis=-1)
            hit = np.full(depth.shape, -1)
            for index, (lower, upper) in enumerate(self.boxes):
                a, b = (np.array(lower) - eye) / rays, (np.array(upper) - eye) / rays
                near, far = np.minimum(a, b).max(axis=-1), np.maximum(a, b).min(axis=-1)
                closer = (near < far) & (near > 0) & (near < depth)
                depth, hit = np.where(closer, near, depth), np.where(closer, index, hit)
        return depth.astype(np.float32), hit
