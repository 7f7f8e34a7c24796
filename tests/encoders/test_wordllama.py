"""WordLlama comes from its wheel alone: these tests run with every socket refused."""

from __future__ import annotations

import socket
import sys
from typing import NoReturn

import numpy as np
import pytest

from lastseen.encoders import open_encoder
from lastseen.encoders.wordllama import WordLlamaEncoder
from lastseen.errors import InvalidValue, MissingExtra
from lastseen.protocols import Encoder


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.mark.usefixtures("no_network")
def test_it_loads_and_encodes_without_the_network() -> None:
    encoder = open_encoder("wordllama")
    assert isinstance(encoder, Encoder)
    rows = encoder.encode_text(["couch", "sofa", "bottle", ""])
    assert rows.shape == (4, encoder.dim)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


def test_its_name_holds_the_hash_of_the_weights() -> None:
    assert open_encoder("wordllama").name == "wordllama-64b47a2dc493"


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"lastseen\[text\]"):
        WordLlamaEncoder()


def test_opening_it_does_not_import_the_package_itself() -> None:
    open_encoder("wordllama")
    assert "wordllama" not in sys.modules


def test_it_reads_no_images() -> None:
    with pytest.raises(InvalidValue, match="color-shape"):
        open_encoder("wordllama").encode_image([])


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidValue, match="clip, color-shape, lexicon, siglip2, wordllama"):
        open_encoder("nothing")
