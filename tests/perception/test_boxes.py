from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.perception.boxes import Fit, ImageInput, corners, scaling_of


@given(
    width=st.integers(8, 200),
    height=st.integers(8, 200),
    fit=st.sampled_from(["stretch", "letterbox"]),
    seed=st.integers(0, 1000),
)
def test_a_box_goes_into_the_model_and_comes_back(width: int, height: int, fit: Fit, seed: int) -> None:
    fitted = ImageInput(96, 64, fit).prepare(np.zeros((height, width, 3), dtype=np.uint8))
    x, y = np.sort(np.random.default_rng(seed).random((2, 2)), axis=1) * [[width], [height]]
    box = np.array([[x[0], y[0], x[1], y[1]]])
    inside = box.copy()
    inside[:, 0::2] = box[:, 0::2] * fitted.scale_x + fitted.left
    inside[:, 1::2] = box[:, 1::2] * fitted.scale_y + fitted.top
    np.testing.assert_allclose(fitted.to_source(inside), box, atol=1e-6)


def test_a_letterbox_keeps_the_shape_and_fills_with_grey() -> None:
    fitted = ImageInput(64, 64, "letterbox").prepare(np.full((40, 80, 3), 255, dtype=np.uint8))
    assert (fitted.pixels[0, :, 16:48] == 1.0).all()
    assert (fitted.pixels[0, :, :16] < 0.5).all()


def test_values_are_scaled_as_the_preprocessor_says() -> None:
    mean, std = scaling_of({"do_normalize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.5, 1.0]})
    pixels = ImageInput(8, 8, mean=mean, std=std).prepare(np.full((8, 8, 3), 255, dtype=np.uint8)).pixels
    np.testing.assert_allclose(pixels[0, :, 0, 0], [2.0, 1.0, 0.5])
    assert scaling_of({"do_normalize": False, "image_mean": "unused"}) == ((0.0,) * 3, (1.0,) * 3)


@pytest.mark.parametrize("std", [None, [1.0], ["a", "b", "c"], [1.0, 0.0, 1.0]])
def test_an_unfit_scaling_is_refused(std: object) -> None:
    with pytest.raises(InvalidValue, match="image_std"):
        scaling_of({"do_normalize": True, "image_mean": [0.0, 0.0, 0.0], "image_std": std})


def test_corners_of_a_box_given_by_its_middle() -> None:
    np.testing.assert_allclose(corners(np.array([[0.5, 0.5, 0.2, 0.4]])), [[0.4, 0.3, 0.6, 0.7]])
