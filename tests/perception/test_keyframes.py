from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.perception.keyframes import KEY_PERIOD, KeyframeSelector, Refusal
from tests.sources.room import CAMERA, looking, render

START = looking(-1.0, 0.0, yaw=0.0)
MOVED = looking(-0.8, 0.0, yaw=0.0)


def frame(
    stamp: float,
    pose: Pose3D,
    *,
    rgb: NDArray[np.uint8] | None = None,
    depth: NDArray[np.float32] | None = None,
) -> Frame:
    seen = render(pose)
    return Frame(0, stamp, seen[0] if rgb is None else rgb, seen[1] if depth is None else depth, pose, CAMERA)


def test_the_first_good_frame_passes() -> None:
    assert KeyframeSelector().judge(frame(0.0, START)) is None


def test_a_camera_that_stands_is_not_looked_through_again_and_again() -> None:
    selector = KeyframeSelector()
    verdicts = [selector.judge(frame(0.1 * step, START)) for step in range(5)]
    assert verdicts == [None] + [Refusal.NO_MOTION] * 4


def test_a_camera_that_stands_looks_again_after_a_while() -> None:
    selector = KeyframeSelector()
    selector.judge(frame(0.0, START))
    assert selector.judge(frame(KEY_PERIOD, START)) is None


def test_motion_makes_a_keyframe() -> None:
    selector = KeyframeSelector()
    selector.judge(frame(0.0, START))
    assert selector.judge(frame(0.1, MOVED)) is None


def test_a_fast_turn_is_a_sweep() -> None:
    selector = KeyframeSelector()
    selector.judge(frame(0.0, START))
    assert selector.judge(frame(0.1, looking(-1.0, 0.0, yaw=0.5))) is Refusal.SWEEP


def test_far_apart_frames_say_nothing_about_speed() -> None:
    selector = KeyframeSelector()
    selector.judge(frame(0.0, START))
    assert selector.judge(frame(1.0, looking(-1.0, 0.0, yaw=1.5))) is None


@pytest.mark.parametrize(("level", "reason"), [(5, Refusal.DARK), (200, Refusal.FLAT)])
def test_an_image_without_content_is_refused(level: int, reason: Refusal) -> None:
    rgb = np.full((120, 160, 3), level, dtype=np.uint8)
    assert KeyframeSelector().judge(frame(0.0, START, rgb=rgb)) is reason


def test_a_frame_without_depth_is_refused() -> None:
    assert (
        KeyframeSelector().judge(frame(0.0, START, depth=np.full((120, 160), np.nan, np.float32))) is Refusal.NO_DEPTH
    )


def test_a_smeared_image_is_refused_against_the_usual_sharpness() -> None:
    selector = KeyframeSelector()
    selector.judge(frame(0.0, START))
    smeared = ndimage.uniform_filter(render(MOVED)[0], size=(1, 25, 1))
    assert selector.judge(frame(0.1, MOVED, rgb=smeared)) is Refusal.BLURRED


def test_refusals_are_counted_by_reason() -> None:
    selector = KeyframeSelector()
    for step in range(4):
        selector.judge(frame(0.1 * step, START))
    assert selector.passed == 1
    assert selector.counts() == {"camera has not moved": 3}
