"""The contract of a pixel policy: whatever walks to a goal pixel in discrete actions fits the loop.

A view goes in with ``see``, a pixel of that view becomes the goal with ``follow``, ``act`` is asked once a step,
and ``moved`` reports what was really done, by the policy or by anyone.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from lastseen.action import Action
from lastseen.frame import Frame
from lastseen.search.policy.goal_pixel import GoalPixel

StopReason = Literal["reached", "blocked", "exhausted"]
"""Why a policy stopped: it believes it is there, it cannot get there, or it has used up its actions."""


@runtime_checkable
class PixelPolicy(Protocol):
    """Walks to a pixel; the caller sees a frame before it follows a pixel of it."""

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the last ``act`` said STOP; None while walking."""
        ...

    def reset(self) -> None:
        """Forget views, goal and collisions."""
        ...

    def moved(self, action: Action, *, collided: bool) -> None:
        """Take note of an action that was done, by this policy or by anyone."""
        ...

    def see(self, frame: Frame) -> None:
        """Take in the view from where the robot is now."""
        ...

    def follow(self, pixel: GoalPixel) -> None:
        """Make a pixel of the view last seen the goal; the count of actions begins again."""
        ...

    def refine(self, pixel: GoalPixel) -> None:
        """Take a new pixel of the same goal, seen better on the way; the count of actions goes on."""
        ...

    def act(self) -> Action:
        """The next action; STOP, with ``stop_reason`` set, ends the walk."""
        ...
