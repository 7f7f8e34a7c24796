"""Relations, sizes, numbers, places and times decide which of several things is meant, or why none is."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from lastseen.evaluation.referring import Box
from lastseen.memory.memory import Memory
from lastseen.memory.object import Answer
from tests.memory.boxes import remembered
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
        ("the leftmost chair", "far chair"),
        ("the first chair from the left as seen from the bed", "far chair"),
        ("the chair left of the white table as seen from the brown table", "far chair"),
        ("the chair in front of the white table seen from the brown table", "middle chair"),
        (
            "the chair that is not to the left of the white table as seen from the brown table",
            "near chair middle chair",
        ),
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
    answer = memory.find("wooden bed opposite the fridge")
    assert answer.status == "found"
    assert answer.not_understood == ("wooden", "opposite the fridge")
    assert answer.reason.endswith("(not compared: wooden, opposite the fridge)")
    assert memory.find("big bed").not_understood == ("big (there is only one bed to compare)",)
    assert memory.find("bed yesterday").not_understood == ("yesterday (no session has a date)",)


def test_a_place_where_it_does_not_stand_is_refused_and_says_where_it_is() -> None:
    with walk(Memory.open(wall_clock=lambda: 1_800_000_000.0)) as memory:
        unknown = memory.find("bowl in the garage")
        assert (unknown.status, unknown.refused) == ("not_found", "place not known")
        assert unknown.reason.startswith("there is a bowl, but whether any is in the garage is not known: obj-")
        memory.tell("this is the pantry", outline=[(-3, -3), (3, -3), (3, 3), (-3, 3)])
        answer = memory.find("bowl in the garage")
        assert (answer.status, answer.refused) == ("not_found", "place")
        assert answer.reason.startswith("there is a bowl, but none in the garage: obj-")
        assert memory.find("bowl in the pantry").status == "found"
        assert memory.find("bowl not in the pantry").refused == "place"
        assert memory.find("bowl today").status == "found"
        late = memory.find("bowl yesterday")
        assert (late.status, late.refused) == ("not_found", "time")


def test_what_stands_on_a_rug_or_at_the_back_of_a_counter_is_on_it() -> None:
    things = [
        box("1", "rug", (0.0, 0.0, 0.05), (3.0, 2.0, 0.15)),
        box("2", "coffee table", (0.0, 0.0, 0.2), (1.0, 0.6, 0.45)),
        box("3", "counter", (5.0, 0.0, 0.45), (2.0, 0.3, 0.9)),
        box("4", "pot", (5.0, 0.35, 1.0), (0.2, 0.2, 0.2)),
        box("5", "glass", (5.5, 0.0, 0.95), (0.1, 0.1, 0.1)),
    ]
    with remembered(things) as memory:
        assert memory.find("coffee table on the rug").status == "found"
        assert memory.find("pot on the counter").status == "found"
        assert memory.ask("how many glasses are on the counter?").count == 1


def test_hundreds_of_one_name_are_all_counted_and_compared() -> None:
    chairs = [box(str(i), "chair", (2.0 * (i % 20), 2.0 * (i // 20), 0.4), (0.5, 0.5, 0.8)) for i in range(260)]
    lamp = box("lamp", "lamp", (38.5, 24.8, 1.0), (0.2, 0.2, 0.4))
    with remembered([*chairs, lamp]) as memory:
        assert memory.ask("how many chairs are there?").count == 260
        assert memory.find("the chair closest to the lamp").hits[0].position[:2] == pytest.approx((38.0, 24.0))


def test_a_label_with_such_words_is_a_name() -> None:
    with remembered([box("1", "box on wheels", (0.0, 0.0, 0.5), (0.5, 0.5, 0.5))]) as memory:
        assert memory.find("box on wheels").status == "found"
