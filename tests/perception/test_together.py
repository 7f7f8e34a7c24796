from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.observation import SURFACE, Observation
from lastseen.perception.together import Together

CAMERA = Intrinsics(100.0, 100.0, 49.5, 49.5, 100, 100)


def frame() -> Frame:
    rgb: NDArray[np.uint8] = np.zeros((100, 100, 3), dtype=np.uint8)
    return Frame(0, 0.0, rgb, np.full((100, 100), 2.0, np.float32), Pose3D.identity(), CAMERA)


def shape(left: int, top: int, right: int, bottom: int, kind: str = "object") -> Detection:
    mask = np.zeros((100, 100), dtype=np.bool_)
    mask[top:bottom, left:right] = True
    return Detection(box=(left, top, right, bottom), score=1.0, mask=mask, kind=kind)


def seen(x: float, size: float, *, label: str | None = None) -> Observation:
    points = np.array([[x - size / 3, 0.0, 0.5], [x, 0.0, 0.5], [x + size / 3, 0.0, 0.5]], dtype=np.float32)
    return Observation(
        position=np.array([x, 0.0, 0.5]),
        extent=np.array([size, size, size]),
        view_direction=np.array([0.0, 0.0, 1.0]),
        stamp=0.0,
        labels={} if label is None else {label: 0.9},
        points=points,
    )


def test_a_named_thing_is_not_reported_again_as_a_shape() -> None:
    cup = Detection(box=(20, 20, 40, 40), score=0.9, labels={"cup": 0.9})
    same, other, floor = shape(22, 22, 38, 38), shape(60, 60, 80, 80), shape(0, 0, 100, 100, SURFACE)
    assert Together().add([cup], [same, other, floor], frame()) == [cup, other, floor]


def test_a_part_of_a_thing_named_before_is_no_other_thing() -> None:
    together = Together()
    together.once([seen(0.0, 0.9, label="chair")])
    back, mug = seen(0.1, 0.5), seen(2.0, 0.1)
    assert together.once([back, mug]) == [mug]


def test_a_small_thing_on_a_large_named_one_stays() -> None:
    together = Together()
    together.once([seen(0.0, 2.0, label="bed")])
    toy = seen(0.2, 0.2)
    assert together.once([toy]) == [toy]


def test_large_shapes_without_a_name_are_left_out() -> None:
    assert Together().once([seen(0.0, 1.5)]) == []
