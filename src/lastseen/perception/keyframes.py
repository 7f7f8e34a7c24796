"""Which frames are worth processing: a model that runs on a blurred or unchanged image costs time and adds noise.

The pose is asked first, where a source can before it decodes an image; the rest reads small copies only. Every
refusal has a reason, and the reasons are counted: a recording of which nothing gets through says why.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from lastseen.appearance import sharpness
from lastseen.frame import Frame
from lastseen.geometry import Pose3D

KEY_DISTANCE = 0.05
"""Metres that the camera moves between keyframes: a tenth of arm's length, at which occlusions change."""
KEY_TURN = 2.5
"""Degrees of the same: a twentieth of a usual field of view moves edges."""
KEY_PERIOD = 2.0
"""Seconds after which a standing camera takes a frame again, to see what came or went."""
SWEEP_RATE = 100.0
"""Degrees a second: faster turns smear the image and tear colour from depth."""
DARK = 30.0
"""Brightness, of 255, that the bright end of a lit room is far above."""
BLUR_RATIO = 0.35
"""Share of the usual sharpness below which an image is blurred by motion."""
SWEEP_WINDOW = 0.3
"""Seconds; frames further apart tell nothing about the camera's speed at either of them."""
FLAT = 4.0
"""Spread of brightness, of 255, below which there is nothing to see: a lens cap, a bare wall at arm's length."""
MIN_DEPTH = 0.1
"""Share of pixels with depth below which nothing can be lifted."""
SHARPNESS_WEIGHT = 0.1
"""Weight of one frame in the running level of sharpness."""


class Refusal(StrEnum):
    """Why a frame was not processed."""

    NO_MOTION = "camera has not moved"
    SWEEP = "fast sweep"
    DARK = "dark"
    FLAT = "flat"
    NO_DEPTH = "no depth"
    BLURRED = "blurred"


class KeyframeSelector:
    """Passes keyframes: frames after some motion that are sharp, lit and have depth."""

    def __init__(self) -> None:
        self.passed = 0
        self.refused: Counter[Refusal] = Counter()
        self._last_key: tuple[float, Pose3D] | None = None
        self._previous: tuple[float, Pose3D] | None = None
        self._sharpness: float | None = None

    def judge(self, frame: Frame) -> Refusal | None:
        """None to let the frame through, else the reason; cheap tests come first."""
        reason = self.judge_pose(frame.stamp, frame.T_world_camera)
        if reason is not None:
            return reason
        reason = self._judge_images(frame)
        if reason is None:
            self.passed += 1
            self._last_key = (frame.stamp, frame.T_world_camera)
        else:
            self.refused[reason] += 1
        return reason

    def judge_pose(self, stamp: float, pose: Pose3D) -> Refusal | None:
        """What stamp and pose alone say of a frame, before its images are decoded.

        ``judge`` asks the same again of a frame that passed, and it passes again.
        """
        reason = None
        if self._is_sweep(stamp, pose):
            reason = Refusal.SWEEP
        elif self._is_unmoved(stamp, pose):
            reason = Refusal.NO_MOTION
        self._previous = (stamp, pose)
        if reason is not None:
            self.refused[reason] += 1
        return reason

    def counts(self) -> dict[str, int]:
        """How many frames were refused for each reason, most frequent first."""
        ranked = sorted(self.refused.items(), key=lambda item: (-item[1], item[0].value))
        return {reason.value: count for reason, count in ranked}

    def _judge_images(self, frame: Frame) -> Refusal | None:
        gray = small_gray(frame.rgb)
        if float(np.quantile(gray, 0.95)) < DARK:
            return Refusal.DARK
        if float(gray.std()) < FLAT:
            return Refusal.FLAT
        step = max(1, frame.depth.shape[1] // 80)
        if float(np.isfinite(frame.depth[::step, ::step]).mean()) < MIN_DEPTH:
            return Refusal.NO_DEPTH
        return Refusal.BLURRED if self._is_blurred(frame) else None

    def _is_sweep(self, stamp: float, pose: Pose3D) -> bool:
        if self._previous is None:
            return False
        before, previous = self._previous
        elapsed = stamp - before
        if not 0.0 < elapsed <= SWEEP_WINDOW:
            return False
        return float(np.degrees(pose.angle_to(previous))) / elapsed > SWEEP_RATE

    def _is_unmoved(self, stamp: float, pose: Pose3D) -> bool:
        if self._last_key is None:
            return False
        before, key = self._last_key
        return (
            stamp - before < KEY_PERIOD
            and pose.distance_to(key) < KEY_DISTANCE
            and float(np.degrees(pose.angle_to(key))) < KEY_TURN
        )

    def _is_blurred(self, frame: Frame) -> bool:
        """Against the running level of the stream: a plain wall is not blurred, a smeared desk is."""
        sharp = sharpness(frame.rgb)
        usual = self._sharpness
        self._sharpness = sharp if usual is None else usual + SHARPNESS_WEIGHT * (sharp - usual)
        return usual is not None and sharp < BLUR_RATIO * usual


def small_gray(rgb: NDArray[np.uint8], *, columns: int = 80) -> NDArray[np.float32]:
    """Brightness 0 to 255 of every n-th pixel."""
    step = max(1, rgb.shape[1] // columns)
    small = rgb[step // 2 :: step, step // 2 :: step].astype(np.float32)
    gray: NDArray[np.float32] = small @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    return gray
