"""Images for models, answers checked, backends by name."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue
from lastseen.vlm import Backend, EncodedImage, backend_names, check_answer, open_backend, protocol, register_backend
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


def test_a_backend_opens_by_name_with_an_argument() -> None:
    backend = open_backend("mock:garbage", Planner(), seed=3)
    assert isinstance(backend, Backend)
    assert backend.name == "mock:garbage"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidValue, match=r"backend = 'oracle'.*choose one of .*mock"):
        open_backend("oracle")


def test_names_are_sorted() -> None:
    assert backend_names() == sorted(backend_names())


def test_a_backend_of_ones_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_BACKENDS", dict(protocol._BACKENDS))
    register_backend("mine", "lastseen.vlm.mock:from_settings")
    assert open_backend("mine:down").name == "mock:down"


@pytest.mark.parametrize(("name", "factory"), [("", "a:b"), ("a:b", "a:b"), ("mine", "a"), ("mock", "a:b")])
def test_unfit_registrations_are_refused(name: str, factory: str) -> None:
    with pytest.raises(InvalidValue):
        register_backend(name, factory)


def test_the_seam_loads_no_backend_and_no_numpy() -> None:
    code = "import sys, lastseen.vlm; sys.exit(any(m in sys.modules for m in ('numpy', 'openai', 'PIL')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
