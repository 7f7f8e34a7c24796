"""Relations, sizes, numbers, places and times decide which of several things is meant, or why none is."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from lastseen.evaluation.referring import Box, remembered
from lastseen.memory.memory import Memory
from lastseen.memory.object import Answer
from tests.memory.homes import walk

Point = tuple[float, float, float]


def box(index: str, label: str, center: Point, extent: Point, color: str = "grey") -> Box:
    return Box(index, "0", label, center, extent, {color: 1.0})


ROOM = [
    box("table", "table", (0.0, 0.0, 0.4), (1.2, 0.8, 0.8), "brown"),
    box("desk table", "table", (5.0, 0.0, 0.3), (0.6, 0.5, 0.6), "white"),
    box("mug on table", "mug", (0.2, 0.1, 0.86), (0.1, 0.1, 0.12), "red"),
    box("mug on floor", "mug", (3.0, 2.0, 0.06), (0.1, 0.1, 0.12), "blue"),
    box("bed", "bed", (0.0, 5.0, 0.5), (2.0, 1.6, 1.0), "white"),
    box("book on bed", "book", (0.2, 5.0, 0.58), (0.2, 0.3, 0.06), "green"),
    box("book elsewhere", "book", (5.0, 5.0, 1.2), (0.2, 0.3, 0.06), "green"),
    box("box", "box", (0.0, 0.1, 0.2), (0.4, 0.4, 0.4), "brown"),
    box("near chair", "chair", (1.3, 0.0, 0.45), (0.5, 0.5, 0.9), "black"),
    box("middle chair", "chair", (2.5, 0.0, 0.45), (0.5, 0.5, 0.9), "black"),
    box("far chair", "chair", (5.0, 3.0, 0.45), (0.5, 0.5, 0.9), "black"),
    box("fridge", "fridge", (-3.0, 0.0, 0.9), (0.7, 0.7, 1.8), "white"),
    box("milk", "bottle", (-3.0, 0.0, 1.0), (0.1, 0.1, 0.25), "white"),
]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with remembered(ROOM) as opened:
        yield opened


def names(answer: Answer) -> list[str]:
    """The boxes that an answer takes for what was asked."""
    return [min(ROOM, key=lambda one: math.dist(one.center, hit.position)).index for hit in answer.fitting]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("mug on the table", "mug on table"),
        ("the mug that is not on the table", "mug on floor"),
        ("book on the bed", "book on bed"),
        ("box under the table", "box"),
        ("bottle in the fridge", "milk"),
        ("chair next to the brown table", "near chair"),
        ("closest chair to the brown table", "near chair"),
        ("chair second closest to the big table", "middle chair"),
        ("the chair that is farthest from the bed", "middle chair"),
        ("the chair third closest to the big table", "far chair"),
        ("the chair between the brown table and the white table", "near chair middle chair"),
        ("the big table", "table"),
        ("the smaller table", "desk table"),
        ("the table closest to the small table", "table"),
        ("mug near the bed and", ""),
        ("the thing on the bed", "book on bed"),
    ],
)
def test_the_thing_meant_is_found(memory: Memory, question: str, meant: str) -> None:
    found = names(memory.find(question))
    assert " ".join(found) == meant, memory.find(question).reason


@pytest.mark.parametrize(
    ("question", "part", "reason"),
    [
        ("mug on the bed", "relation", "there are 2 mugs, but none on the bed: obj-6 is in the kitchen on the table"),
        ("mug on the piano", "anchor", "'on the piano' cannot be: no piano is remembered"),
        (
            "mug on the purple table",
            "anchor colour",
            "'on the purple table' cannot be: table is remembered, but none is purple",
        ),
        ("fourth closest chair to the bed", "relation", "there are 3 chairs: none is fourth closest to the bed"),
        ("piano on the table", "thing", "nothing remembered is like 'piano on the table'"),
        ("yellow bed near the mug", "colour", "bed is remembered, but white, not yellow"),
        ("three mugs", "number", "there are 2 mugs, not 3: obj-6 is in the kitchen on the table"),
        ("both mugs on the table", "number", "there is a mug, not 2: obj-6 is in the kitchen on the table"),
    ],
)
def test_a_false_presupposition_is_refused_with_its_reason(
    memory: Memory, question: str, part: str, reason: str
) -> None:
    answer = memory.find(question)
    assert (answer.status, answer.refused, answer.reason) == ("not_found", part, reason)


def test_several_that_were_asked_for_are_found_and_not_ambiguous(memory: Memory) -> None:
    assert memory.find("mugs").status == "ambiguous"
    for question in ("both mugs", "all mugs", "two mugs"):
        assert (memory.find(question).status, len(memory.find(question).fitting)) == ("found", 2)


def test_what_could_not_be_compared_is_named(memory: Memory) -> None:
    answer = memory.find("wooden bed left of the fridge")
    assert answer.status == "found"
    assert answer.not_understood == ("wooden", "left of the fridge")
    assert answer.reason.endswith("(not compared: wooden, left of the fridge)")
    assert memory.find("big bed").not_understood == ("big (there is only one bed to compare)",)
    assert memory.find("bed yesterday").not_understood == ("yesterday (no session has a date)",)


def test_a_place_where_it_does_not_stand_is_refused_and_says_where_it_is() -> None:
    with walk(Memory.open(wall_clock=lambda: 1_800_000_000.0)) as memory:
        answer = memory.find("bowl in the garage")
        assert (answer.status, answer.refused) == ("not_found", "place")
        assert answer.reason.startswith("there is a bowl, but none in the garage: obj-")
        (bowl,) = memory.find("bowl").hits
        if bowl.place is not None:
            assert memory.find(f"bowl in the {bowl.place}").status == "found"
            assert memory.find(f"bowl not in the {bowl.place}").refused == "place"
        assert memory.find("bowl today").status == "found"
        late = memory.find("bowl yesterday")
        assert (late.status, late.refused) == ("not_found", "time")


def test_a_label_with_such_words_is_a_name() -> None:
    with remembered([box("1", "box on wheels", (0.0, 0.0, 0.5), (0.5, 0.5, 0.5))]) as memory:
        assert memory.find("box on wheels").status == "found"
