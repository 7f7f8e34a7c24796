from __future__ import annotations

import numpy as np
import pytest

from lastseen.appearance import masked_crop, with_embeddings
from lastseen.detection import Detection
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from tests.perception.test_segment import look

CAMERA = Intrinsics.from_fov(40, 30, horizontal_deg=79.0)


def frame() -> Frame:
    """Blue, with a red square in the middle."""
    rgb = np.zeros((30, 40, 3), dtype=np.uint8)
    rgb[..., 2] = 200
    rgb[10:20, 15:25] = (220, 10, 10)
    return Frame(0, 0.0, rgb, np.full((30, 40), np.nan, dtype=np.float32), Pose3D.identity(), CAMERA)


def test_a_detection_gets_the_embedding_of_its_pixels() -> None:
    red, blue = with_embeddings(
        frame(), [Detection((15, 10, 25, 20), 0.9), Detection((0, 0, 10, 8), 0.9)], ColorShapeEncoder()
    )
    assert red.embedding is not None
    assert blue.embedding is not None
    assert float(red.embedding @ blue.embedding) < 0.7


def test_what_the_mask_leaves_out_does_not_show() -> None:
    mask = np.zeros((30, 40), dtype=np.bool_)
    mask[10:20, 15:25] = True
    loose, tight = Detection((5, 5, 35, 25), 0.9, mask=mask), Detection((15, 10, 25, 20), 0.9)
    one, other = with_embeddings(frame(), [loose, tight], ColorShapeEncoder())
    assert one.embedding is not None
    assert other.embedding is not None
    assert float(one.embedding @ other.embedding) > 0.9


def test_an_embedding_that_is_there_stays() -> None:
    given = np.ones(8, dtype=np.float32)
    first, second = with_embeddings(
        frame(), [Detection((0, 0, 9, 9), 0.9, embedding=given), Detection((0, 0, 9, 9), 0.9)], ColorShapeEncoder()
    )
    assert first.embedding is given
    assert second.embedding is not None
    assert len(second.embedding) == ColorShapeEncoder.dim


@pytest.mark.parametrize("box", [(-5.0, -5.0, 3.0, 4.0), (38.0, 28.0, 60.0, 50.0), (15.2, 10.1, 15.4, 10.3)])
def test_a_crop_is_never_empty(box: tuple[float, float, float, float]) -> None:
    assert masked_crop(frame(), Detection(box, 0.9)).size > 0


def test_a_crop_carries_its_mask() -> None:
    seen = look(textured=True)
    mask = np.zeros((120, 160), dtype=np.bool_)
    mask[20:40, 30:50] = True
    picture = masked_crop(seen, Detection(box=(60, 40, 100, 80), score=1.0, mask=mask))
    assert picture.shape == (40, 40, 4)
    assert (picture[..., 3] == 255).all()
