from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.encoders.words import parse, singular


@pytest.mark.parametrize(
    ("text", "words", "colors"),
    [
        ("the red mug", ("mug",), ("red",)),
        ("Where is my crimson cup?", ("cup",), ("red",)),
        ("coffee_mug", ("coffee", "mug"), ()),
        ("the blue book on the white shelf", ("book",), ("blue",)),
        ("dark green sofa", ("sofa",), ("green",)),
        ("can you find the trash can?", ("trash", "can"), ()),
        ("an orange", ("orange",), ()),
        ("the orange mug", ("mug",), ("orange",)),
        ("the orange one", (), ("orange",)),
        ("black and white cushion", ("cushion",), ("black", "white")),
        ("빨간 머그", ("빨간", "머그"), ()),
        ("", (), ()),
    ],
)
def test_a_phrase_splits_into_naming_words_and_colours(
    text: str, words: tuple[str, ...], colors: tuple[str, ...]
) -> None:
    parsed = parse(text)
    assert parsed.words == words
    assert parsed.colors == colors


@pytest.mark.parametrize(
    ("plural", "one"),
    [("mugs", "mug"), ("dishes", "dish"), ("knives", "knife"), ("batteries", "battery"), ("boxes", "box")],
)
def test_plurals_become_singular(plural: str, one: str) -> None:
    assert singular(plural) == one


@pytest.mark.parametrize("word", ["glass", "glasses", "bus", "scissors", "tv", "keys", "clothes"])
def test_what_only_looks_like_a_plural_stays(word: str) -> None:
    assert singular(word) == word


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    parse(text)
