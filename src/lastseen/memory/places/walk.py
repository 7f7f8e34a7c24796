"""Where actions or poses lead, step by step: dead reckoning, and the steps between the poses of a recording.

Dead reckoning drifts, and nothing here corrects it. A recording says where the camera was, not what was done: its
poses become the steps that anchors and places count in, a forward per step length, a turn per turn angle. Where the
pose jumps, the walk ends and another begins: no edge is made that was not travelled; see docs/places.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lastseen.action import Action, apply
from lastseen.config import Settings
from lastseen.config.memory import DeadReckoning
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle

LONGEST_STEP = 2.0
"""Metres between two frames of a recording: farther is a lost pose or a cut, and no way that was walked."""


class DeadReckoner:
    """Adds up actions from (0, 0, 0).

    >>> reckoner = DeadReckoner()
    >>> reckoner.step(Action.FORWARD)
    Pose2D(x=0.25, y=0.0, yaw=0.0)
    """

    def __init__(self, motion: DeadReckoning | None = None, *, pose: Pose2D = ORIGIN) -> None:
        self.motion = motion or DeadReckoning()
        self.pose = pose

    def step(self, action: Action, *, collided: bool = False) -> Pose2D:
        """Apply one action and return the new pose."""
        if self.moves(action, collided=collided) or action is not Action.FORWARD:
            self.pose = apply(self.pose, action, motion=self.motion)
        return self.pose

    def moves(self, action: Action, *, collided: bool = False) -> bool:
        """Whether the action is a forward that counts: all do, unless reported bumps are trusted."""
        return action is Action.FORWARD and not (collided and self.motion.trust_collisions)


@dataclass(frozen=True, slots=True)
class PosedStep:
    """One step: what an agent would have done, and where in the world it led."""

    action: Action
    world_pose: Pose2D


@dataclass(frozen=True, slots=True)
class Moved:
    """The steps to a new pose; ``began`` tells that a new walk begins with it."""

    steps: tuple[PosedStep, ...] = ()
    began: bool = False


class PosedWalk:
    """Tell it every pose with ``move_to``; small motions add up until they are a step."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.pose: Pose2D | None = None
        """Where the last step ended; None before a walk has begun."""

    def stand_at(self, world_pose: Pose2D) -> None:
        """Go on from here: somebody else counted the steps that led to this pose."""
        self.pose = world_pose

    def forget(self) -> None:
        """Let the next pose begin a walk."""
        self.pose = None

    def move_to(self, world_pose: Pose2D) -> Moved:
        """The steps that lead here from the last pose at which a step ended."""
        motion = self.settings.dead_reckoning
        last = self.pose
        if last is None or last.distance_to(world_pose) > LONGEST_STEP:
            self.pose = world_pose
            return Moved(began=True)
        gap = last.distance_to(world_pose)
        steps: list[PosedStep] = []
        turned = wrap_angle(world_pose.yaw - last.yaw)
        if abs(turned) >= math.radians(motion.turn_angle):
            action = Action.TURN_LEFT if turned > 0 else Action.TURN_RIGHT
            steps.append(PosedStep(action, Pose2D(last.x, last.y, world_pose.yaw)))
        count = int(gap / motion.forward_step + 1e-9) if motion.forward_step > 0 else 0
        for number in range(1, count + 1):
            share = number / count
            between = Pose2D(
                last.x + share * (world_pose.x - last.x),
                last.y + share * (world_pose.y - last.y),
                world_pose.yaw,
            )
            steps.append(PosedStep(Action.FORWARD, between))
        if steps:
            self.pose = steps[-1].world_pose
        return Moved(tuple(steps))
