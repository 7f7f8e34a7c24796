"""PixelNav behind the pixel-policy contract: views as its network was trained on them, its actions as ours."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.search.policy.goal_pixel import GoalPixel
from lastseen.search.policy.protocol import StopReason

if TYPE_CHECKING:
    from lastseen.search.policy.pixelnav.network import GoalWalk, PixelNavNetwork, Prediction


IMAGE_SIZE = 224
"""Pixels a side; this and what follows is what the published checkpoints were trained with."""
GOAL_MASK_SIDE = 17
"""Pixels; odd, so that the goal pixel is its middle. Drawn before the image is resized."""
COLLISION_LOGIT = -1.0
"""The forward logit after a collision; seldom the largest."""
STOP_AT_PREDICTION = 33
"""Where a walk ends; the network has 64 slots of history."""
_MASKED = 255


def network_image(rgb: NDArray[np.uint8], *, size: int) -> NDArray[np.uint8]:
    """An RGB image as the network takes it: size x size, channels swapped to BGR, 0 to 255."""
    return resized(rgb, size)[..., ::-1]


def goal_mask(frame: Frame, pixel: GoalPixel) -> NDArray[np.uint8]:
    """The colour image's pixels around the goal, 255 in a square that the borders cut off.

    A goal pixel counts in the depth image; where colour has another size, it moves to the same place there.
    """
    rows, columns = frame.depth.shape
    if not (0 <= pixel.u < columns and 0 <= pixel.v < rows):
        raise InvalidValue(
            "goal_pixel",
            (pixel.u, pixel.v),
            f"lies outside the view of {columns} x {rows} pixels",
            remedy="choose it in the frame that was seen last",
        )
    height, width = frame.rgb.shape[:2]
    side = GOAL_MASK_SIDE
    left = (2 * pixel.u + 1) * width // (2 * columns) - side // 2
    top = (2 * pixel.v + 1) * height // (2 * rows) - side // 2
    mask = np.zeros((height, width), dtype=np.uint8)
    mask[max(top, 0) : max(top + side, 0), max(left, 0) : max(left + side, 0)] = _MASKED
    return mask


def goal_image(frame: Frame, pixel: GoalPixel, *, size: int) -> NDArray[np.uint8]:
    """The goal as the network takes it, (size, size, 4): the view in BGR and the goal mask."""
    mask = resized(goal_mask(frame, pixel), size)
    return np.concatenate([network_image(frame.rgb, size=size), mask[..., None]], axis=-1)


def resized(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Stretch an image to size x size: bilinear between pixel middles, without smoothing before."""
    above, below, down = _between(image.shape[0], size)
    left, right, across = _between(image.shape[1], size)
    trailing = (1,) * (image.ndim - 2)
    down, across = down.reshape(size, 1, *trailing), across.reshape(size, *trailing)
    rows = image[above] * (1 - down) + image[below] * down
    stretched = rows[:, left] * (1 - across) + rows[:, right] * across
    return np.floor(stretched + np.float32(0.5)).astype(np.uint8)


def _between(old: int, new: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel the two old ones it lies between, and its share of the second."""
    place = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0.0, old - 1.0)
    first = np.floor(place).astype(np.int64)
    return first, np.minimum(first + 1, old - 1), (place - first).astype(np.float32)


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

    needs_depth = False
    """It walks by colour alone."""

    def __init__(self, network: PixelNavNetwork, *, image_size: int = IMAGE_SIZE) -> None:
        self.image_size = image_size
        self.stop_reason: StopReason | None = None
        self.prediction: Prediction | None = None
        """What the network said last, before any rule; for logs."""
        self._network = network
        self._forbidden: list[int] = []
        self.reset()

    @classmethod
    def from_checkpoint(
        cls, path: str | Path, *, image_size: int = IMAGE_SIZE, device: str = "cpu"
    ) -> PixelNavPolicy:
        """Load a published checkpoint; needs the extra ``torch``."""
        from lastseen.search.policy.pixelnav.network import load_network

        return cls(load_network(path, device=device), image_size=image_size)

    def allow(self, actions: Collection[Action]) -> None:
        """Choose among these actions only, and STOP: a camera that does not tilt is never told to."""
        self._forbidden = [
            index for index, action in enumerate(ACTION_ORDER) if action not in actions and action is not Action.STOP
        ]

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
        from lastseen.search.policy.pixelnav.network import GoalWalk

        if self._frame is None:
            raise InvalidValue(
                "goal_pixel",
                (pixel.u, pixel.v),
                "belongs to no view",
                remedy="call see(frame) before it",
            )
        goal = goal_image(self._frame, pixel, size=self.image_size)
        self._walk = GoalWalk(self._network, goal)
        self.stop_reason = None
        self.prediction = None

    def refine(self, pixel: GoalPixel) -> None:
        """Keep the goal image the walk began with: the network compares every view with that one."""

    def act(self) -> Action:
        """The action of the largest logit; STOP with ``stop_reason`` set when the walk ends here."""
        if self._walk is None or self._frame is None:
            return self._end("blocked")
        if self._walk.used >= STOP_AT_PREDICTION:
            return self._end("exhausted")
        view = network_image(self._frame.rgb, size=self.image_size)
        self.prediction = self._walk.add(view)
        if self._walk.used >= STOP_AT_PREDICTION:
            return self._end("exhausted")
        logits = np.array(self.prediction.logits)
        if self._collided:
            logits[ACTION_ORDER.index(Action.FORWARD)] = COLLISION_LOGIT
        logits[self._forbidden] = -np.inf
        action = ACTION_ORDER[int(np.argmax(logits))]
        return self._end("reached") if action is Action.STOP else action

    def _end(self, reason: StopReason) -> Action:
        self.stop_reason = reason
        return Action.STOP
