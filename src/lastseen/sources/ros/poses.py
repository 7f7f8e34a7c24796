"""Where the camera is: the chain of tf links from the world to it, and what a correction does to earlier poses.

When map -> odom jumps, the poses since the localizer's last correction were wrong. They have drifted
with the distance travelled, so each is corrected by its share of the jump; ``jump_correction`` chooses otherwise.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass

import numpy as np

from lastseen.geometry import Pose3D
from lastseen.sources.base import REMEMBERED
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RevisedPose, Trajectory
from lastseen.sources.ros.transforms import Link, TransformTree

METRES_PER_RADIAN = 0.5
"""Metres of travel that a radian of rotation counts for when drift is shared out: odometry drifts in both."""

JUMP_DISTANCE, JUMP_ANGLE = 0.05, math.radians(2.0)
"""Metres and radians: smaller steps of map -> odom are everyday tracking; 2 degrees move a thing 3 m away 10 cm."""

UNCHANGED = 1e-6
"""Metres and radians below which a localizer only repeats itself."""


@dataclass(frozen=True, slots=True)
class _Past:
    stamp: float
    T_world_odom: Pose3D
    T_odom_camera: Pose3D
    travelled: float


class CameraPoses:
    """The camera in the world by stamp, from tf or from a pose topic that stands in the tree."""

    def __init__(self, tree: TransformTree, camera: str, options: SourceOptions) -> None:
        self.tree = tree
        self.camera = options.camera_frame or camera
        self.options = options

    @property
    def world(self) -> str:
        """The frame poses are given in: the one in the options, else the top of the tree."""
        return self.options.world_frame or self.tree.root(self.camera)

    def links(self) -> list[Link]:
        """The links from the world to the camera; none where they are not connected."""
        return self.tree.chain(self.world, self.camera) or []

    def moves(self) -> bool:
        """Whether any link between world and camera changes over time."""
        return any(not link.static for link in self.links())

    def at(self, stamp: float) -> Pose3D | None:
        """T_world_camera at a stamp of the image clock; None where it is not known."""
        pose_stamp = stamp + self.options.pose_delay
        return self.tree.frame_in(self.world, self.camera, pose_stamp, max_gap=self.options.max_pose_gap)

    def known_until(self) -> float:
        """The stamp up to which every moving link has samples: a live image newer than that has to wait."""
        ends = [link.stamps[-1] for link in self.links() if not link.static and not self.tree.is_step(link)]
        return min(ends, default=math.inf) - self.options.pose_delay

    def trajectory(self) -> Trajectory | None:
        """The camera's pose at each sample of its busiest link; None where nothing moves."""
        links = self.links()
        moving = [link for link in links if not link.static]
        if not moving:
            return None
        rows = []
        for stamp in max(moving, key=lambda link: len(link.stamps)).stamps:
            pose = self.tree.along(links, stamp, max_gap=math.inf)
            if pose is not None:
                rows.append((stamp, *pose.translation, *pose.quaternion))
        if not rows:
            return None
        table = np.array(rows)
        return Trajectory(table[:, 0], table[:, 1:4], table[:, 4:8])


class Corrections:
    """Watches the link above odometry and revises the poses of records that were yielded before it jumped."""

    def __init__(self, poses: CameraPoses) -> None:
        self._poses = poses
        self._past: deque[_Past] = deque(maxlen=REMEMBERED)
        self._looked_until = -math.inf
        self._changed_at = -math.inf

    def advance(self, stamp: float) -> tuple[RevisedPose, ...]:
        """Poses of earlier records that are revised by what is known at this stamp; call it per record, in order."""
        options, tree = self._poses.options, self._poses.tree
        links = self._poses.links()
        at = next((index for index, link in enumerate(links) if tree.is_step(link)), None)
        if at is None or options.jump_correction == "none":
            return ()
        pose_stamp = stamp + options.pose_delay
        above = tree.along(links[:at], pose_stamp, max_gap=options.max_pose_gap)
        below = tree.along(links[at + 1 :], pose_stamp, max_gap=options.max_pose_gap)
        step = links[at].at(pose_stamp, max_gap=0.0, step=True)
        if above is None or below is None or step is None:
            return ()
        revised = self._revise(links[at], pose_stamp, above)
        travelled = 0.0
        if self._past:
            last = self._past[-1]
            moved = float(np.linalg.norm(below.translation - last.T_odom_camera.translation))
            travelled = last.travelled + moved + METRES_PER_RADIAN * last.T_odom_camera.angle_to(below)
        self._past.append(_Past(stamp, above @ step, below, travelled))
        return revised

    def _revise(self, link: Link, pose_stamp: float, above: Pose3D) -> tuple[RevisedPose, ...]:
        found: dict[float, Pose3D] = {}
        first, last = (bisect_right(link.stamps, end) for end in (self._looked_until, pose_stamp))
        for index in range(max(1, first), last):
            at = link.stamps[index]
            before, after = link.pose(index - 1), link.pose(index)
            distance = float(np.linalg.norm(after.translation - before.translation))
            angle = before.angle_to(after)
            if distance > JUMP_DISTANCE or angle > JUMP_ANGLE:
                found.update(self._spread(above @ after, since=self._changed_at, until=at))
            if max(distance, angle) > UNCHANGED:
                self._changed_at = at
        self._looked_until = pose_stamp
        return tuple(RevisedPose(stamp, pose.translation, pose.quaternion) for stamp, pose in sorted(found.items()))

    def _spread(self, T_world_odom: Pose3D, *, since: float, until: float) -> dict[float, Pose3D]:
        """Move the poses between two corrections to where the new one puts them, and keep them so."""
        whole = self._poses.options.jump_correction == "whole"
        delay = self._poses.options.pose_delay
        touched = [
            index
            for index, past in enumerate(self._past)
            if past.stamp + delay < until and (whole or past.stamp + delay >= since)
        ]
        if not touched:
            return {}
        start, end = self._past[touched[0]].travelled, self._past[touched[-1]].travelled
        revised: dict[float, Pose3D] = {}
        for index in touched:
            past = self._past[index]
            share = 1.0 if whole or end - start < UNCHANGED else (past.travelled - start) / (end - start)
            moved = past.T_world_odom.interpolate(T_world_odom, share)
            self._past[index] = _Past(past.stamp, moved, past.T_odom_camera, past.travelled)
            revised[past.stamp] = moved @ past.T_odom_camera
        return revised
