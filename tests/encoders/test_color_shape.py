from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lastseen.encoders import open_encoder
from lastseen.encoders.color_shape import ColorShapeEncoder, color_shares
from lastseen.encoders.colors import COLORS, name_pixels
from lastseen.errors import InvalidValue

ENCODER = ColorShapeEncoder()
SHOWN = {
    "red": (200, 30, 30),
    "orange": (240, 130, 20),
    "yellow": (240, 220, 40),
    "green": (40, 150, 50),
    "blue": (40, 70, 190),
    "purple": (120, 50, 160),
    "pink": (245, 150, 180),
    "brown": (110, 70, 35),
    "black": (20, 20, 22),
    "white": (240, 240, 238),
    "grey": (128, 128, 130),
}


def patch(color: str, *, light: float = 1.0, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 6, (20, 20, 3))
    return np.clip(np.array(SHOWN[color]) * light + noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("color", SHOWN)
def test_a_plain_patch_has_the_name_people_give_it(color: str) -> None:
    shares = color_shares(ENCODER.encode_image([patch(color)]))[0]
    assert COLORS[int(shares.argmax())] == color


@pytest.mark.parametrize("color", ["red", "green", "blue", "purple", "black"])
def test_the_name_survives_shade(color: str) -> None:
    shares = color_shares(ENCODER.encode_image([patch(color, light=0.6)]))[0]
    assert COLORS[int(shares.argmax())] == color


@given(arrays(np.uint8, (17, 3)))
def test_shares_of_a_pixel_sum_to_one(pixels: np.ndarray) -> None:
    shares = name_pixels(pixels)
    assert (shares >= -1e-6).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-4)


@given(
    st.integers(1, 9).flatmap(lambda h: st.integers(1, 9).flatmap(lambda w: arrays(np.uint8, (h, w, 4)))),
)
def test_every_crop_gives_a_unit_row(image: np.ndarray) -> None:
    row = ENCODER.encode_image([image])
    assert row.shape == (1, ENCODER.dim)
    assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5)


def test_the_same_thing_looks_more_alike_than_another() -> None:
    one, again, other = ENCODER.encode_image([patch("red"), patch("red", light=0.8, seed=1), patch("blue")])
    assert one @ again > 0.85 > 0.4 > one @ other


def test_the_mask_keeps_the_background_out() -> None:
    image = np.zeros((20, 20, 4), np.uint8)
    image[:, :, :3] = patch("blue")
    image[5:15, 5:15, :3] = patch("red")[5:15, 5:15]
    image[5:15, 5:15, 3] = 255
    shares = color_shares(ENCODER.encode_image([image]))[0]
    assert COLORS[int(shares.argmax())] == "red"
    assert shares[COLORS.index("blue")] < 0.01


def test_it_reads_no_words() -> None:
    with pytest.raises(InvalidValue, match="lexicon"):
        ENCODER.encode_text(["the red one"])


def test_a_picture_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(InvalidValue, match="RGB"):
        ENCODER.encode_image([np.zeros((4, 4), np.uint8)])


def test_the_name_that_files_keep_stays_and_opens_it() -> None:
    assert ENCODER.name == "look-v1"
    assert open_encoder("look").name == open_encoder("color-shape").name == ENCODER.name
