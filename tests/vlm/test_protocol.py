from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from lastseen.errors import BackendError, InvalidValue
from lastseen.vlm import EncodedImage, check_answer
from lastseen.vlm.protocol import MediaType

RGB = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


@pytest.mark.parametrize("media_type", ["image/jpeg", "image/png"])
def test_a_picture_is_encoded_and_reads_back(media_type: MediaType) -> None:
    encoded = EncodedImage.from_rgb(RGB, media_type=media_type)
    assert Image.open(io.BytesIO(encoded.data)).size == (5, 4)
    assert encoded == EncodedImage.from_rgb(RGB.copy(), media_type=media_type)


def test_png_keeps_every_pixel() -> None:
    data = EncodedImage.from_rgb(RGB, media_type="image/png").data
    assert (np.asarray(Image.open(io.BytesIO(data))) == RGB).all()


def test_bytes_that_are_no_picture_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"image\.data = 4 bytes"):
        EncodedImage(b"GIF8", "image/png")


def test_arrays_that_are_no_picture_are_refused() -> None:
    with pytest.raises(InvalidValue, match="uint8"):
        EncodedImage.from_rgb(RGB.astype(np.float32))


@pytest.mark.parametrize("answer", ["", "  \n", None, 3])
def test_an_empty_answer_is_an_error_that_names_the_backend(answer: object) -> None:
    with pytest.raises(BackendError, match="gemini gave an empty answer"):
        check_answer("gemini", answer)
