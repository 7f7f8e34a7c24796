"""The pose that actions alone add up to; it drifts, and nothing here corrects it; see docs/places.md."""

from __future__ import annotations

from lastseen.action import Action, apply
from lastseen.config.moving import DeadReckoning
from lastseen.pose2d import ORIGIN, Pose2D


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
