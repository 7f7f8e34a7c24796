from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from lastseen.encoders.image_text import ClipEncoder, ImageTextEncoder, Siglip2Encoder
from lastseen.errors import InvalidValue
from lastseen.models.catalogue import CATALOGUE, Model, known_model

PERMISSIVE = {"MIT", "Apache-2.0", "BSD-3-Clause"}


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=lambda model: model.name)
def test_an_entry_is_complete_and_permissively_licensed(model: Model) -> None:
    assert model.licence in PERMISSIVE
    assert model.size > 0
    assert len({file.path for file in model.files}) == len(model.files)
    for file in model.files:
        assert file.url.startswith("https://")
        assert not PurePosixPath(file.path).is_absolute()
        assert ".." not in PurePosixPath(file.path).parts
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)


def test_weights_are_never_a_format_that_can_hold_code() -> None:
    kinds = {PurePosixPath(file.path).suffix for model in CATALOGUE.values() for file in model.files}
    assert kinds == {".onnx", ".safetensors", ".json", ".txt"}


def test_names_are_sorted_and_an_unknown_one_lists_them() -> None:
    assert list(CATALOGUE) == sorted(CATALOGUE)
    with pytest.raises(InvalidValue, match=r"clip, dfine-n, dfine-s"):
        known_model("yolo")


@pytest.mark.parametrize("encoder", [ClipEncoder, Siglip2Encoder])
def test_an_encoder_finds_all_it_needs_in_its_entry(encoder: type[ImageTextEncoder]) -> None:
    listed = {file.path for file in known_model(encoder.family).files}
    assert set(encoder.vision.paths(needed=True) + encoder.text.paths(needed=True)) <= listed
