"""CLIP and SigLIP 2 from a folder: tiny weights, the real loading code, every socket refused."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.config.perception import Encoding
from lastseen.encoders import open_encoder
from lastseen.encoders.image_text import ClipEncoder, ImageTextEncoder, Siglip2Encoder
from lastseen.encoders.registry import reads_both
from lastseen.errors import InvalidValue, MissingExtra
from lastseen.protocols import Encoder
from tests.encoders.tiny_towers import DIM, tiny_clip, tiny_siglip2

FAMILIES: list[tuple[str, Callable[[Path], Path], type[ImageTextEncoder]]] = [
    ("clip", tiny_clip, ClipEncoder),
    ("siglip2", tiny_siglip2, Siglip2Encoder),
]


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: str(family[0]))
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    name, make, _ = request.param
    folder = make(tmp_path_factory.mktemp(name))
    patch = pytest.MonkeyPatch()

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the network was touched")

    for call in ("socket", "getaddrinfo", "create_connection"):
        patch.setattr(socket, call, refuse)
    try:
        opened = open_encoder(f"{name}:{folder}", Encoding(batch=2, threads=1))
        # both towers load here, while the network is away
        opened.encode_text(["red"])
        opened.encode_image([plain(255, 0, 0)])
    finally:
        patch.undo()
    return opened


def plain(red: int, green: int, blue: int, *, size: tuple[int, int] = (24, 40)) -> NDArray[np.uint8]:
    image = np.zeros((*size, 3), dtype=np.uint8)
    image[:] = (red, green, blue)
    return image


def test_it_is_an_encoder_of_unit_vectors(encoder: Encoder) -> None:
    assert isinstance(encoder, Encoder)
    assert encoder.dim == DIM
    rows = encoder.encode_text(["red mug", "a photo of a chair", "words that are not known"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_words_and_pictures_share_one_space(encoder: Encoder) -> None:
    pictures = encoder.encode_image([plain(255, 0, 0), plain(0, 255, 0), plain(0, 0, 255)])
    words = encoder.encode_text(["red", "green", "blue"])
    assert (words @ pictures.T).argmax(axis=1).tolist() == [0, 1, 2]


def test_a_batch_gives_what_one_by_one_gives(encoder: Encoder) -> None:
    crops = [plain(10 * i, 200, 255 - 10 * i, size=(8 + i, 30)) for i in range(5)]
    together = encoder.encode_image(crops)
    np.testing.assert_allclose(together, np.concatenate([encoder.encode_image([crop]) for crop in crops]), atol=1e-6)
    texts = ["red", "a photo of a blue mug", "green chair"]
    one_by_one = np.concatenate([encoder.encode_text([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode_text(texts), one_by_one, atol=1e-6)


def test_nothing_gives_no_rows(encoder: Encoder) -> None:
    assert encoder.encode_image([]).shape == (0, DIM)
    assert encoder.encode_text([]).shape == (0, DIM)


def test_a_mask_is_left_aside(encoder: Encoder) -> None:
    crop = plain(200, 10, 10)
    masked = np.dstack([crop, np.zeros(crop.shape[:2], dtype=np.uint8)])
    np.testing.assert_array_equal(encoder.encode_image([crop]), encoder.encode_image([masked]))


def test_what_is_no_crop_is_refused(encoder: Encoder) -> None:
    with pytest.raises(InvalidValue, match="uint8 RGB"):
        encoder.encode_image([np.zeros((4, 4), dtype=np.uint8)])


@pytest.mark.parametrize(("name", "make", "kind"), FAMILIES)
def test_its_name_changes_with_its_files(
    name: str, make: Callable[[Path], Path], kind: type[ImageTextEncoder], tmp_path: Path
) -> None:
    first = kind(make(tmp_path / "a")).name
    assert first == kind(make(tmp_path / "b")).name
    assert first.startswith(f"{name}-")
    assert reads_both(first)
    config = next((tmp_path / "b").rglob("preprocessor_config.json"))
    config.write_text(config.read_text() + " ")
    assert kind(tmp_path / "b").name != first


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    tiny_clip(tmp_path)
    (tmp_path / "text" / "tokenizer.json").unlink()
    with pytest.raises(InvalidValue, match=r"has no text/tokenizer\.json"):
        ClipEncoder(tmp_path)


@pytest.mark.parametrize("broken", ["text/model.onnx", "text/tokenizer.json", "text/tokenizer_config.json"])
def test_a_broken_file_is_one_line(broken: str, tmp_path: Path) -> None:
    tiny_clip(tmp_path)
    (tmp_path / broken).write_text('{"nothing": true}')
    with pytest.raises(InvalidValue, match="cannot run text") as caught:
        ClipEncoder(tmp_path).encode_text(["red"])
    assert "\n" not in str(caught.value)


def test_without_weights_the_error_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTSEEN_MODELS", str(tmp_path))
    with pytest.raises(InvalidValue, match="lastseen models pull clip"):
        open_encoder("clip")


def test_weights_in_the_models_folder_must_be_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTSEEN_MODELS", str(tmp_path))
    tiny_clip(tmp_path / "clip")
    with pytest.raises(InvalidValue, match="which must be c68d3d9a200d"):
        open_encoder("clip")


def test_without_fastembed_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingExtra, match=r"lastseen\[clip\]"):
        ClipEncoder(tmp_path)


def test_a_folder_is_for_models_only() -> None:
    with pytest.raises(InvalidValue, match="is not an encoder"):
        open_encoder("lexicon:somewhere")
