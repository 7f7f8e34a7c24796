from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lastseen.encoders import open_encoder
from lastseen.errors import InvalidValue
from lastseen.memory.nodes import (
    DeterministicEmbedder,
    EncoderEmbedder,
    Pose2D,
    SemanticMemoryStore,
    cosine_similarity,
    retrieve_candidates,
    seed_demo_store,
    tokenize,
)


@given(st.text())
def test_every_text_has_a_unit_vector_of_plain_floats(text: str) -> None:
    vector = DeterministicEmbedder().embed_text(text)
    assert len(vector) == 64
    assert all(type(value) is float for value in vector)
    assert math.isclose(math.hypot(*vector), 1.0)


def test_these_bits_never_change() -> None:
    pinned = [
        0.4181924689341691,
        -0.4642032899293428,
        0.4120049626487042,
        -0.6632362138019595,
    ]
    assert DeterministicEmbedder(4).embed_text("Red Mug ") == pinned


def test_case_and_outer_spaces_do_not_matter() -> None:
    embedder = DeterministicEmbedder()
    assert embedder.embed_text("  Red MUG\n") == embedder.embed_text("red mug")
    assert embedder.embed_text("red  mug") != embedder.embed_text("red mug")


def test_unrelated_texts_are_nearly_at_right_angles() -> None:
    embedder = DeterministicEmbedder()
    vectors = [embedder.embed_text(f"text {i}") for i in range(60)]
    cosines = [cosine_similarity(u, v) for i, u in enumerate(vectors) for v in vectors[:i]]
    assert abs(sum(cosines) / len(cosines)) < 0.02


@pytest.mark.parametrize("dim", [0, -1, 1.5, True])
def test_an_unfit_size_is_refused(dim: int) -> None:
    with pytest.raises(InvalidValue, match=r"embedder\.dim"):
        DeterministicEmbedder(dim)


class Meaning:
    """An encoder that knows two things, as a real one would: sitting and drinking."""

    name, dim = "meaning", 2

    def encode_text(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [[0.0, 1.0] if {"mug", "drink"} & set(tokenize(text)) else [1.0, 0.0] for text in texts]
        return np.array(rows, dtype=np.float32)

    def encode_image(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        raise InvalidValue("images", len(images), "are not read", remedy="give text")


def test_a_real_encoder_finds_a_paraphrase() -> None:
    store = SemanticMemoryStore()
    store.add_node(Pose2D(0, 0, 0), None, ["mug"], "kitchen")
    store.add_node(Pose2D(0, 0, 0), None, ["sofa"], "living room")
    embedder = EncoderEmbedder(Meaning())
    assert retrieve_candidates("somewhere to sit", store, embedder)[0]["node_id"] == 2
    assert all(type(value) is float for value in embedder.embed_text("mug"))


@pytest.mark.parametrize(("goal", "node_id"), [("somewhere to sit", 3), ("a cup", 2), ("something to read", 4)])
def test_the_default_encoder_knows_what_things_are_for(goal: str, node_id: int) -> None:
    store, embedder = seed_demo_store(), EncoderEmbedder(open_encoder("lexicon"))
    found = retrieve_candidates(goal, store, embedder)
    assert found[0]["node_id"] == node_id
    assert found[0]["score"] > found[1]["score"]
    assert all(type(candidate["score"]) is float for candidate in found)
