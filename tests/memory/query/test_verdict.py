"""What the reason of a refusal says."""

from __future__ import annotations

import pytest

from lastseen.encoders.words import parse
from lastseen.memory.query.verdict import did_you_mean


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("televison", "television"),
        ("red televison", "red television"),
        ("coffe maker", "coffee maker"),
        # "tower" is like "mower", but nothing of the kind is known: half a phrase is no name
        ("lawn mower", None),
        ("television", None),
        ("xyzzy", None),
    ],
)
def test_a_misspelt_name_is_put_right_only_where_the_whole_is_one(asked: str, meant: str | None) -> None:
    assert did_you_mean(parse(asked), ["coffee maker", "tower"]) == meant
