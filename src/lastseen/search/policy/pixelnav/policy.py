"""The learned pixel policy at run time: views in, one action a step, PixelNav's own rules around its network.

It fits wherever the geometric policy does. It looks at colour only, so it needs neither depth nor a map.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lastseen.action import Action
from lastseen.config.policy import PixelNav
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.search.policy.goal_pixel import GoalPixel
from lastseen.search.policy.pixelnav.images import goal_image, network_image
from lastseen.search.policy.protocol import StopReason

if TYPE_CHECKING:
    from lastseen.search.policy.pixelnav.inference import GoalWalk, Prediction
    from lastseen.search.policy.pixelnav.network import PixelNavNetwork

ACTION_ORDER = (
    Action.STOP,
    Action.FORWARD,
    Action.TURN_LEFT,
    Action.TURN_RIGHT,
    Action.LOOK_UP,
    Action.LOOK_DOWN,
)
"""What the network's action logits stand for."""


class PixelNavPolicy:
    """Feed it every frame with ``see``, give it a pixel of the last one with ``follow``, ask ``act`` once a step.

    Each ``act`` puts the frame seen last into the history; frames seen between walks, as in a panorama, stay out.
    """

    def __init__(self, network: PixelNavNetwork, settings: PixelNav | None = None) -> None:
        self.settings = settings or PixelNav()
        self.stop_reason: StopReason | None = None
        self.prediction: Prediction | None = None
        """What the network said last, before any rule; for logs."""
        self._network = network
        self.reset()

    @classmethod
    def from_checkpoint(
        cls, path: str | Path, settings: PixelNav | None = None, *, device: str = "cpu"
    ) -> PixelNavPolicy:
        """Load a published checkpoint; needs the extra ``torch``."""
        from lastseen.search.policy.pixelnav.checkpoint import load_network

        return cls(load_network(path, device=device), settings)

    def reset(self) -> None:
        """Forget the views and the goal."""
        self.stop_reason = None
        self.prediction = None
        self._frame: Frame | None = None
        self._walk: GoalWalk | None = None
        self._collided = False

    def moved(self, action: Action, *, collided: bool) -> None:  # noqa: ARG002
        """Take note of an action that was done: only whether it ended in a collision matters here."""
        self._collided = collided

    def see(self, frame: Frame) -> None:
        """Take in the present view."""
        self._frame = frame

    def follow(self, pixel: GoalPixel) -> None:
        """Walk to what a pixel of the view seen last shows; the history begins again."""
        from lastseen.search.policy.pixelnav.inference import GoalWalk

        if self._frame is None:
            raise InvalidValue(
                "goal_pixel",
                (pixel.u, pixel.v),
                "belongs to no view",
                remedy="call see(frame) before it",
            )
        goal = goal_image(self._frame, pixel, size=self.settings.image_size, mask_side=self.settings.goal_mask_side)
        self._walk = GoalWalk(self._network, goal)
        self.stop_reason = None
        self.prediction = None

    def refine(self, pixel: GoalPixel) -> None:
        """Keep the goal image the walk began with: the network compares every view with that one."""

    def act(self) -> Action:
        """The action of the largest logit; STOP with ``stop_reason`` set when the walk ends here."""
        if self._walk is None or self._frame is None:
            return self._end("blocked")
        if self._walk.used >= self.settings.stop_at_prediction:
            return self._end("exhausted")
        view = network_image(self._frame.rgb, size=self.settings.image_size)
        self.prediction = self._walk.add(view)
        if self._walk.used >= self.settings.stop_at_prediction:
            return self._end("exhausted")
        logits = np.array(self.prediction.logits)
        if self._collided:
            logits[ACTION_ORDER.index(Action.FORWARD)] = self.settings.collision_logit
        action = ACTION_ORDER[int(np.argmax(logits))]
        return self._end("reached") if action is Action.STOP else action

    def _end(self, reason: StopReason) -> Action:
        self.stop_reason = reason
        return Action.STOP
