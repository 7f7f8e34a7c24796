"""The query parser reads a question into a noun, relations, places, times and what it does not understand."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from lastseen.memory.query.parser import parse_question
from lastseen.memory.query.times import match_time
from lastseen.memory.query.vocabulary import ALL


@pytest.mark.parametrize(
    ("text", "noun", "kind", "rank", "anchors", "negated"),
    [
        ("the red mug on the table, please", "red mug", "on", 1, ["table"], False),
        ("the sofa that is second closest to the small table", "sofa", "closest", 2, ["table"], False),
        ("the table that is third most distant from the television", "table", "farthest", 3, ["television"], False),
        ("second nearest sofa to the window", "sofa", "closest", 2, ["window"], False),
        ("chair second from the window", "chair", "closest", 2, ["window"], False),
        ("nearest mug", "mug", "closest", 1, [], False),
        (
            "rug in between the sofa and the television",
            "rug",
            "between",
            1,
            ["sofa", "television"],
            False,
        ),
        (
            "rug in the middle of both of the orange tables",
            "rug",
            "between",
            1,
            ["orange tables"],
            False,
        ),
        ("mug that is not on the table", "mug", "on", 1, ["table"], True),
        ("the table isn't next to the door", "table", "next to", 1, ["door"], True),
        ("book in the kitchen cabinet", "book", "in", 1, ["kitchen cabinet"], False),
        ("chest of drawers underneath the window", "chest of drawers", "under", 1, ["window"], False),
        ("the thing on top of the shelf", "", "on", 1, ["shelf"], False),
    ],
)
def test_relations(text: str, noun: str, kind: str, rank: int, anchors: list[str], negated: bool) -> None:
    thing = parse_question(text)
    (relation,) = thing.relations
    assert (thing.noun, relation.kind, relation.rank, relation.negated) == (noun, kind, rank, negated)
    assert [anchor.noun for anchor in relation.anchors] == anchors
    assert thing.not_understood == ()


def test_sizes_numbers_and_colours_belong_to_their_noun() -> None:
    thing = parse_question("both small red mugs near the big black table")
    assert (thing.number, thing.size, thing.phrase.colors) == (2, "small", ("red",))
    (anchor,) = thing.relations[0].anchors
    assert (anchor.size, anchor.phrase.colors, anchor.phrase.words) == ("big", ("black",), ("table",))
    assert parse_question("all chairs").number == ALL


@pytest.mark.parametrize(
    ("text", "place", "negated"),
    [
        ("kettle in the garage", "garage", False),
        ("mug that is not in the living room", "living room", True),
        ("keys in the hallway", "corridor", False),
        ("box in the winter garden", "winter garden", False),
    ],
)
def test_places(text: str, place: str, negated: bool) -> None:
    (term,) = parse_question(text, ["winter garden"]).places
    assert (term.name, term.negated) == (place, negated)


@pytest.mark.parametrize(
    ("text", "kind", "anchors", "rank", "viewed"),
    [
        ("the lamp left of the sofa", "left", ["sofa"], 1, False),
        ("the lamp to the right of the sofa as seen from the door", "right", ["sofa", "door"], 1, True),
        ("the mug in front of the tv from here", "front", ["tv"], 1, False),
        ("the chair that is behind the table when viewed from the bed", "behind", ["table", "bed"], 1, True),
        ("the second chair from the left", "leftmost", [], 2, False),
        ("the rightmost book seen from the sofa", "rightmost", ["sofa"], 1, True),
        ("the second chair from the window", "closest", ["window"], 2, False),
        ("the table that is near the other table", "near", ["table"], 1, False),
    ],
)
def test_relations_as_seen_from_somewhere(text: str, kind: str, anchors: list[str], rank: int, viewed: bool) -> None:
    thing = parse_question(text)
    (relation,) = thing.relations
    assert (relation.kind, relation.rank, relation.viewed) == (kind, rank, viewed)
    assert [anchor.noun for anchor in relation.anchors] == anchors
    assert thing.not_understood == ()


@pytest.mark.parametrize(
    ("text", "storey", "negated"),
    [
        ("mug upstairs", "upstairs", False),
        ("the chair that is not downstairs", "downstairs", True),
        ("beds on the top floor", "top floor", False),
    ],
)
def test_storeys(text: str, storey: str, negated: bool) -> None:
    (term,) = parse_question(text).places
    assert (term.name, term.negated, term.storey) == (storey, negated, True)


def test_two_relations_are_both_said_of_the_first_thing() -> None:
    thing = parse_question("the cup next to the red book on the kitchen table in the office")
    assert [(one.kind, one.anchors[0].noun) for one in thing.relations] == [
        ("next to", "red book"),
        ("on", "kitchen table"),
    ]
    assert [place.name for place in thing.places] == ["office"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lamp opposite the sofa", "opposite the sofa"),
        ("the first chair", "first"),
        ("the mug my aunt gave me", "my aunt gave me"),
        ("wooden table", "wooden"),
        ("chair with arms", "with arms"),
    ],
)
def test_what_is_not_understood_is_kept_by_its_words(text: str, words: str) -> None:
    assert parse_question(text).not_understood == (words,)


@pytest.mark.parametrize("text", ["somewhere to sit", "something to sit on", "the red one", "where is it", "", "?!"])
def test_a_phrase_without_relations_has_none(text: str) -> None:
    assert not parse_question(text).limited


NOW = datetime(2026, 5, 6, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("yesterday", "2026-05-05T00", "2026-05-06T00"),
        ("today", "2026-05-06T00", None),
        ("this morning", "2026-05-06T05", "2026-05-06T12"),
        ("since this morning", "2026-05-06T05", None),
        ("yesterday evening", "2026-05-05T18", "2026-05-06T00"),
        ("last night", "2026-05-05T18", "2026-05-06T06"),
        ("in the last 3 hours", "2026-05-06T12", None),
        ("two days ago", "2026-05-04T15", None),
    ],
)
def test_times(text: str, since: str, before: str | None) -> None:
    found = match_time(text.split(), 0)
    assert found is not None
    term, after = found
    assert after == len(text.split())
    start, end = term.bounds(NOW)
    assert start.isoformat()[:13] == since
    assert (None if end is None else end.isoformat()[:13]) == before


def test_any_text_is_read() -> None:
    text = "the second closest to from between and both not in on last 10 minutes ago all mug Ünïcode 椅子 ' -"
    draw = random.Random(5)
    for _ in range(3000):
        parse_question(" ".join(draw.choices([*text.split(), "\x00"], k=draw.randrange(25))))
    parse_question("on the " * 5000)
