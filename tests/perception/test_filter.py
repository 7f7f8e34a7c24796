from __future__ import annotations

import numpy as np
import pytest

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.perception.filter import DetectionFilter, Dropped

CAMERA = Intrinsics(200.0, 200.0, 99.5, 99.5, 200, 200)


def frame(depth: float = 2.0, *, ramp: float = 0.0, missing: float = 0.0) -> Frame:
    image = np.full((200, 200), depth, dtype=np.float32) + np.linspace(0, ramp, 200, dtype=np.float32)
    # a little relief, so that a surface is not a mathematical plane
    image += (0.05 * np.sin(np.arange(200) / 5.0))[:, np.newaxis].astype(np.float32)
    image[np.random.default_rng(0).random(image.shape) < missing] = np.nan
    return Frame(0, 0.0, np.zeros((200, 200, 3), np.uint8), image, Pose3D.identity(), CAMERA)


def masked(left: int, top: int, right: int, bottom: int, score: float = 1.0) -> Detection:
    mask = np.zeros((200, 200), dtype=np.bool_)
    mask[top:bottom, left:right] = True
    return Detection(box=(left, top, right, bottom), score=score, mask=mask)


@pytest.mark.parametrize(
    ("seen", "detection", "reason"),
    [
        (frame(), masked(50, 50, 52, 52), Dropped.SMALL),
        (frame(), masked(10, 10, 190, 190), Dropped.LARGE),
        (frame(), masked(0, 20, 3, 150), Dropped.CUT),
        # a door frame goes through the image from top to bottom: where it ends is unknown
        (frame(), masked(80, 0, 110, 200), Dropped.CUT),
        (frame(), masked(20, 50, 180, 55), Dropped.THIN),
        (frame(missing=0.8), masked(50, 50, 90, 90), Dropped.NO_DEPTH),
        (frame(ramp=8.0), masked(50, 50, 120, 120), Dropped.SPREAD),
        (frame(20.0), masked(50, 50, 110, 110), Dropped.EXTENT),
    ],
    ids=lambda value: value.value if isinstance(value, Dropped) else "",
)
def test_a_mask_that_is_no_thing_is_dropped_with_its_reason(
    seen: Frame, detection: Detection, reason: Dropped
) -> None:
    judge = DetectionFilter()
    assert judge.keep(seen, [detection]) == []
    assert judge.counts() == {reason.value: 1}


def test_a_large_flat_piece_is_structure() -> None:
    flat = Frame(
        0,
        0.0,
        np.zeros((200, 200, 3), np.uint8),
        np.full((200, 200), 2.5, np.float32),
        Pose3D.identity(),
        CAMERA,
    )
    judge = DetectionFilter()
    assert judge.keep(flat, [masked(40, 40, 150, 150)]) == []
    assert judge.counts() == {Dropped.STRUCTURE.value: 1}


def test_a_good_mask_passes() -> None:
    assert len(DetectionFilter().keep(frame(), [masked(50, 50, 90, 90)])) == 1


def test_a_box_without_a_mask_passes() -> None:
    assert len(DetectionFilter().keep(frame(), [Detection(box=(0, 0, 5, 5), score=0.4)])) == 1


def test_the_best_come_first_and_the_rest_is_counted() -> None:
    whole, cut = masked(50, 50, 90, 90), masked(150, 50, 200, 90)
    judge = DetectionFilter(top_k=1)
    assert judge.keep(frame(), [cut, whole]) == [whole]
    assert judge.counts() == {Dropped.RANK.value: 1}
