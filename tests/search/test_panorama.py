"""The look around as one picture: views in reading order, each labelled."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from lastseen.errors import InvalidValue
from lastseen.search.panorama import stitch, view_angles
from lastseen.vlm.protocol import EncodedImage


def plain(red: int) -> EncodedImage:
    return EncodedImage.from_rgb(np.full((48, 64, 3), (red, 0, 0), np.uint8), media_type="image/png")


def opened(image: EncodedImage) -> Image.Image:
    return Image.open(io.BytesIO(image.data)).convert("RGB")


def test_twelve_views_thirty_degrees_apart_turning_left() -> None:
    assert view_angles() == [0, 30, 60, 90, 120, 150, 180, -150, -120, -90, -60, -30]


def test_twelve_views_make_two_rows_of_six() -> None:
    picture = opened(stitch([plain(0)] * 12))
    assert picture.size == (6 * 256 + 5 * 4, 2 * (192 + 22) + 4)


def test_left_is_left_ahead_ends_the_upper_row_and_the_back_is_last() -> None:
    angles = view_angles()
    picture = opened(stitch([plain(20 * index) for index in range(12)]))
    reds = []
    for row in range(2):
        for column in range(6):
            pixel = picture.getpixel((column * 260 + 128, row * 218 + 120))
            assert isinstance(pixel, tuple)
            reds.append(round(pixel[0] / 20))
    assert [angles[index] for index in reds] == [150, 120, 90, 60, 30, 0, -30, -60, -90, -120, -150, 180]


def test_each_view_carries_its_angle() -> None:
    banner = opened(stitch([plain(0)] * 12)).crop((0, 0, 256, 22))
    assert max(band[1] for band in banner.getextrema()[:2]) > 200  # type: ignore[index]


def test_equal_views_give_equal_bytes() -> None:
    assert stitch([plain(9)] * 12) == stitch([plain(9)] * 12)


def test_no_view_is_refused() -> None:
    with pytest.raises(InvalidValue, match="images"):
        stitch([])
