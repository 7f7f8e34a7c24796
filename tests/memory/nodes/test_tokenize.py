from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.memory.nodes import tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("  The RED mug! ", ["the", "red", "mug"]),
        ("don't re-use", ["dont", "reuse"]),
        ("a  b\tc\nd", ["a", "b", "c", "d"]),
        ("", []),
        ("   ", []),
        ("?!...", []),
        ("___", ["___"]),
        ("snake_case", ["snake_case"]),
        ("🤖 mug 🦾", ["mug"]),
        ("빨간 컵", ["빨간", "컵"]),
        ("كوب أحمر؟", ["كوب", "أحمر"]),
        ("room 12b", ["room", "12b"]),
    ],
)
def test_words(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@given(st.text())
def test_no_token_is_empty_or_holds_a_space(text: str) -> None:
    assert all(token and not any(c.isspace() for c in token) for token in tokenize(text))


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_tokens_of_tokens_are_the_tokens(text: str) -> None:
    assert tokenize(" ".join(tokenize(text))) == tokenize(text)
