"""The tree of frames that tf describes, and the pose of one frame in another at a stamp.

Links that move are interpolated; the link that carries a localizer's corrections (map -> odom) is a step: it holds
until the next correction, and a jump of it is never smeared over the frames before.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lastseen.errors import InvalidValue, SourceError
from lastseen.geometry import Pose3D
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import END_TOLERANCE
from lastseen.sources.ros import messages

UNNAMED_WORLD = "world"
"""The frame of poses whose message does not name one."""

DEEPEST = 64
"""Links in a chain at most: a longer one is a loop."""


MAX_LINKS = 10_000
"""Frames of tf at most: a robot has a hundred."""

MAX_SAMPLES = 2_000_000
"""Samples of one link at most, 128 MB: five hours at 100 Hz. A packed file of a few kilobytes may hold any number."""


def frame_name(name: str) -> str:
    """A frame's name without the slash that ROS 1 may put before it."""
    return name.lstrip("/")


def pose_frames(message: Any, options: SourceOptions, *, camera: str) -> tuple[str, str]:
    """Parent and child frame of the pose in a PoseStamped or Odometry; ``camera`` where nothing names the child."""
    parent = frame_name(message.header.frame_id) or UNNAMED_WORLD
    child = options.pose_frame or frame_name(getattr(message, "child_frame_id", "")) or options.camera_frame or camera
    return parent, child


@dataclass(slots=True)
class Link:
    """A frame in its parent over time: one pose for good, or samples by stamp."""

    parent: str
    child: str
    static: bool = False
    stamps: array[float] = field(default_factory=lambda: array("d"))
    _poses: array[float] = field(default_factory=lambda: array("d"))

    def add(self, stamp: float, pose: Pose3D) -> None:
        """Add a sample; one with a stamp that is there already replaces it."""
        numbers = array("d", [*pose.translation, *pose.quaternion])
        if self.static:
            self.stamps, self._poses = array("d", [stamp]), numbers
            return
        at = bisect_left(self.stamps, stamp)
        known = at < len(self.stamps) and self.stamps[at] == stamp
        if not known:
            if len(self.stamps) >= MAX_SAMPLES:
                raise SourceError(
                    "tf", f"{self.parent} -> {self.child}", f"has over {MAX_SAMPLES} samples", remedy="split the bag"
                )
            self.stamps.insert(at, stamp)
        self._poses[7 * at : 7 * (at + known)] = numbers

    def pose(self, index: int) -> Pose3D:
        """The pose of a sample."""
        numbers = np.array(self._poses[7 * index : 7 * index + 7])
        return Pose3D(numbers[:3], numbers[3:])

    def forget_before(self, stamp: float) -> None:
        """Drop old samples but for the one that holds at the stamp: a live stream has no end."""
        if not self.static:
            keep = max(0, bisect_right(self.stamps, stamp) - 1)
            del self.stamps[:keep], self._poses[: 7 * keep]

    def at(self, stamp: float, *, max_gap: float, step: bool) -> Pose3D | None:
        """The pose at a stamp; None where it is not known, or the samples around it are too far apart."""
        if self.static or not self.stamps:
            return self.pose(0) if self.stamps else None
        right = bisect_right(self.stamps, stamp)
        if step:
            return self.pose(right - 1) if right else None
        left = right - 1
        if left >= 0 and self.stamps[left] == stamp:
            return self.pose(left)
        if left < 0 or right == len(self.stamps):
            nearest = max(left, 0)
            return self.pose(nearest) if abs(self.stamps[nearest] - stamp) <= END_TOLERANCE else None
        gap = self.stamps[right] - self.stamps[left]
        if gap > max_gap:
            return None
        return self.pose(left).interpolate(self.pose(right), (stamp - self.stamps[left]) / gap)


class TransformTree:
    """Frames by name; each has one parent at most.

    A stream may begin anew, and topics overtake each other: a link's samples more than ``restart_after`` before its
    newest are of the new clock and wait for ``restarted``.
    """

    def __init__(self, *, odom_frame: str, restart_after: float = math.inf) -> None:
        self.links: dict[str, Link] = {}
        self._overridden: set[str] = set()
        self._odom = odom_frame
        self._restart_after = restart_after
        self._of_new_clock: dict[str, Link] = {}

    def restarted(self) -> TransformTree:
        """The tree of the clock that has begun: what never moves, and the samples that already came by that clock."""
        tree = TransformTree(odom_frame=self._odom, restart_after=self._restart_after)
        tree.links = {child: link for child, link in self.links.items() if link.static} | self._of_new_clock
        return tree

    def add(self, parent: str, child: str, stamp: float, pose: Pose3D, *, static: bool = False) -> None:
        """Add one transform: ``pose`` is T_parent_child. A frame that changes its parent starts anew."""
        if child in self._overridden:
            return
        link = self.links.get(child)
        if link is None and len(self.links) >= MAX_LINKS:
            raise SourceError("tf", child, f"is one of over {MAX_LINKS} frames", remedy="check the publisher of tf")
        if link is None or link.parent != parent:
            link = self.links[child] = Link(parent, child, static=static)
        if link.stamps and not static and link.stamps[-1] - stamp > self._restart_after:
            link = self._of_new_clock.setdefault(child, Link(parent, child))
        link.add(stamp, pose)

    def add_message(self, message: Any, *, topic: str, skip: Callable[[str, str], None]) -> None:
        """Add the transforms of a TFMessage; ``skip`` is called with the reason for each that is no pose."""
        for one in message.transforms:
            stamp = messages.nanoseconds(one.header) / 1e9
            parent, child = frame_name(one.header.frame_id), frame_name(one.child_frame_id)
            try:
                pose = messages.pose(one.transform.translation, one.transform.rotation)
            except InvalidValue as error:
                skip("NaN or no pose in tf", f"{parent} -> {child} at {stamp:.6f}: {error}")
                continue
            self.add(parent, child, stamp, pose, static=topic.endswith("tf_static"))

    def override(self, link: Link) -> None:
        """Use this link whatever tf says about its child: it comes from a topic that was chosen for it."""
        self.links[link.child] = link
        self._overridden.add(link.child)

    def is_step(self, link: Link) -> bool:
        """Whether a link carries corrections: its child is the odometry's frame."""
        return not link.static and link.child.rsplit("/", 1)[-1] == self._odom

    def root(self, frame: str) -> str:
        """The frame at the top of the tree that holds this one."""
        for _ in range(DEEPEST):
            link = self.links.get(frame)
            if link is None:
                break
            frame = link.parent
        return frame

    def frames(self) -> list[str]:
        """Every frame named in tf, sorted."""
        return sorted({*self.links, *(link.parent for link in self.links.values())})

    def frame_list(self) -> str:
        """The frames as text for an error."""
        return ", ".join(self.frames()) or "nothing"

    def between_frames(self, first: str, second: str, stamp: float, *, max_gap: float) -> Pose3D | None:
        """T_first_second at a stamp, by the frame that both hang from; None where tf does not know it."""
        above, frame = [first], first
        while frame in self.links and len(above) <= DEEPEST:
            frame = self.links[frame].parent
            above.append(frame)
        for common in above:
            other = self.frame_in(common, second, stamp, max_gap=max_gap)
            one = None if other is None else self.frame_in(common, first, stamp, max_gap=max_gap)
            if one is not None and other is not None:
                return one.inverse() @ other
        return None

    def chain(self, world: str, frame: str) -> list[Link] | None:
        """The links from ``world`` down to ``frame``, the topmost first; None where they are not connected so."""
        links: list[Link] = []
        while frame != world:
            link = self.links.get(frame)
            if link is None or len(links) == DEEPEST:
                return None
            links.append(link)
            frame = link.parent
        return links[::-1]

    def frame_in(self, world: str, frame: str, stamp: float, *, max_gap: float) -> Pose3D | None:
        """T_world_frame at a stamp; None where tf does not know it."""
        links = self.chain(world, frame)
        return None if links is None else self.along(links, stamp, max_gap=max_gap)

    def along(self, links: list[Link], stamp: float, *, max_gap: float) -> Pose3D | None:
        """The pose of the end of a chain in its start at a stamp."""
        total: Pose3D | None = None
        for link in links:
            pose = link.at(stamp, max_gap=max_gap, step=self.is_step(link))
            if pose is None:
                return None
            total = pose if total is None else total @ pose
        return Pose3D.identity() if total is None else total
