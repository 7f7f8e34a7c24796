"""Anchors: the points of reference on the robot's path, and when a new one is made; see docs/places.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lastseen.action import Action
from lastseen.pose2d import Pose2D

AnchorReason = Literal["branch", "distance", "place", "turn"]

_TURNS = (Action.TURN_LEFT, Action.TURN_RIGHT)


@dataclass(slots=True)
class Anchor:
    """A pose on the path, its travelled neighbours and its place.

    ``pose`` is dead-reckoned within ``episode``; ``world_pose`` is where the source said the robot was, if it did.
    ``labels`` are the objects seen while this anchor was the current one, ``scenes`` what the scene analyzer
    called the space then, and how often. ``frame`` is the id of the frame it was
    made at and where it lies as seen from that frame's floor pose: a new pose of the frame moves it.
    """

    anchor_id: int
    pose: Pose2D
    place_id: int
    step: int
    episode: int = 0
    neighbors: list[int] = field(default_factory=list)
    world_pose: Pose2D | None = None
    labels: set[str] = field(default_factory=set)
    scenes: dict[str, int] = field(default_factory=dict)
    frame: tuple[int, Pose2D] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, sets sorted."""
        return {
            "anchor_id": self.anchor_id,
            "pose": pose_to_list(self.pose),
            "place_id": self.place_id,
            "step": self.step,
            "episode": self.episode,
            "neighbors": list(self.neighbors),
            "world_pose": None if self.world_pose is None else pose_to_list(self.world_pose),
            "labels": sorted(self.labels),
            "scenes": dict(sorted(self.scenes.items())),
            "frame": None if self.frame is None else [self.frame[0], *pose_to_list(self.frame[1])],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Anchor:
        """The anchor that ``to_dict`` wrote."""
        world, frame = values["world_pose"], values.get("frame")
        return cls(
            anchor_id=values["anchor_id"],
            pose=Pose2D(*values["pose"]),
            place_id=values["place_id"],
            step=values["step"],
            episode=values["episode"],
            neighbors=list(values["neighbors"]),
            world_pose=None if world is None else Pose2D(*world),
            labels=set(values["labels"]),
            scenes=dict(values.get("scenes", {})),
            frame=None if frame is None else (frame[0], Pose2D(*frame[1:])),
        )


class AnchorRule:
    """Counts since the last anchor, and says at each step why a new one is due, if it is.

    A rotation counts because it happened, even when later turns undo it. A branch counts when it appears: a robot
    that stands before a door sees one branch, not one at every step.
    """

    def __init__(self, forward_steps: int) -> None:
        self.forward_steps = forward_steps
        self.forwards = 0
        self.rotated = False
        self.at_branch = False

    def reasons(self, action: Action, *, moved: bool, branch: bool) -> list[AnchorReason]:
        """Take one step into account; the reasons come sorted, and none means no anchor."""
        if action in _TURNS:
            self.rotated = True
        if moved:
            self.forwards += 1
        due: list[AnchorReason] = []
        if branch and not self.at_branch:
            due.append("branch")
        if self.forwards >= self.forward_steps:
            due.append("distance")
        if moved and self.rotated:
            due.append("turn")
        self.at_branch = branch
        return due

    def anchored(self) -> None:
        """Start counting anew: an anchor was made here."""
        self.forwards = 0
        self.rotated = False


def pose_to_list(pose: Pose2D) -> list[float]:
    """A pose as JSON writes it: x, y, yaw."""
    return [pose.x, pose.y, pose.yaw]
