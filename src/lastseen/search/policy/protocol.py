"""The contract of a pixel policy: whatever walks to a goal pixel in discrete actions fits the loop.

A view goes in with ``see``, a pixel of that view becomes the goal with ``follow``, ``act`` is asked once a step,
and ``moved`` reports what was really done, by the policy or by anyone. A policy that may tilt the camera has an
``allow`` too, which is restrict the actions that the robot can do; one that walks by colour alone has ``needs_depth``
False.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Literal, Protocol, runtime_checkable

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.search.policy.goal_pixel import GoalPixel

_LOG = logging.getLogger(__name__)
StopReason = Literal["reached", "blocked", "exhausted"]
"""Why a policy stopped: it believes it is there, it cannot get there, or it has used up its actions."""


@runtime_checkable
class PixelPolicy(Protocol):
    """Walks to a pixel; the caller sees a frame before it follows a pixel of it."""

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the last ``act`` said STOP; None while walking."""

    def reset(self) -> None:
        """Give up the goal and begin anew: the robot looks around next."""

    def moved(self, action: Action, *, collided: bool) -> None:
        """Take note of an action that was done, by this policy or by anyone."""

    def see(self, frame: Frame) -> None:
        """Take in the view from where the robot is now."""

    def follow(self, pixel: GoalPixel) -> None:
        """Make a pixel of the view last seen the goal; the count of actions begins again."""

    def refine(self, pixel: GoalPixel) -> None:
        """Take a new pixel of the same goal, seen better on the way; the count of actions goes on."""

    def act(self) -> Action:
        """The next action; STOP, with ``stop_reason`` set, ends the walk."""


GEOMETRIC, PIXELNAV = "geometric", "pixelnav"


def open_policy(name: str, settings: Settings) -> PixelPolicy:
    """The policy of a name: ``geometric``, or ``pixelnav:CHECKPOINT`` (extra ``torch``)."""
    kind, _, checkpoint = name.partition(":")
    if kind == PIXELNAV and checkpoint:
        from lastseen.search.policy.pixelnav.policy import PixelNavPolicy

        return PixelNavPolicy(_network(checkpoint, settings.pixel_nav.device))
    if name != GEOMETRIC:
        raise InvalidValue("policy", name, "is not known", remedy="use geometric, or pixelnav:CHECKPOINT")
    from lastseen.search.policy.geometric import GeometricPixelPolicy

    return GeometricPixelPolicy(settings.policy, stop=settings.stop, motion=settings.dead_reckoning)


@lru_cache(maxsize=1)
def _network(checkpoint: str, device: str) -> Any:
    """The network of a checkpoint, read once for all episodes of a process: it has 54 million parameters."""
    from lastseen.search.policy.pixelnav.network import load_network

    return load_network(checkpoint, device=device)


def allow(policy: PixelPolicy, actions: Collection[Action]) -> None:
    """Tell a policy which actions the robot can do, where it cares; what it must do without is said once."""
    restrict = getattr(policy, "allow", None)
    if restrict is None:
        return
    restrict(actions)
    missing = tuple(action.value for action in Action if action not in actions)
    if missing:
        _say_masked(missing)


@lru_cache(maxsize=8)
def _say_masked(missing: tuple[str, ...]) -> None:
    _LOG.warning("the robot cannot do %s: the policy is never allowed to choose that", " or ".join(missing))


def needs_depth(policy: PixelPolicy) -> bool:
    """Whether a policy walks by depth; one that does not says so."""
    return bool(getattr(policy, "needs_depth", True))
