from __future__ import annotations

import pytest

from lastseen.memory.rooms.room import Votes, name_of


@pytest.mark.parametrize(
    ("things", "name"),
    [
        (("stove", "refrigerator", "chair"), "kitchen"),
        (("bed", "book", "mug"), "bedroom"),
        (("toilet", "mirror"), "bathroom"),
        (("sofa", "television", "plant"), "living room"),
    ],
)
def test_things_name_the_room_they_stand_in(things: tuple[str, ...], name: str) -> None:
    assert name_of(Votes(furniture=dict.fromkeys(things, 1.0)))[0] == name


def test_too_little_is_unknown() -> None:
    assert name_of(Votes()) == ("unknown", 0.0)
    assert name_of(Votes(furniture={"book": 1.0}))[0] == "unknown"
    assert name_of(Votes(furniture={"contraption": 5.0}))[0] == "unknown"


def test_what_speaks_against_a_room_makes_it_less_sure() -> None:
    sure = name_of(Votes(furniture={"stove": 1.0, "oven": 1.0}))
    mixed = name_of(Votes(furniture={"stove": 1.0, "oven": 1.0, "bed": 1.0}))
    assert sure[0] == mixed[0] == "kitchen"
    assert sure[1] > mixed[1]


def test_many_of_a_kind_are_not_as_many_witnesses() -> None:
    things = {"toilet": 1.0, "bathtub": 1.0, "book": 12.0}
    assert name_of(Votes(furniture=things))[0] == "bathroom"


def test_what_one_carries_counts_less_than_furniture() -> None:
    assert name_of(Votes(furniture={"bed": 1.0}, carried={"remote": 1.0, "laptop": 1.0}))[0] == "bedroom"


def test_a_room_without_anything_that_makes_it_one_is_likely_another() -> None:
    furniture = {"dining table": 1.0, "chair": 4.0, "cabinet": 1.0, "plant": 1.0}
    assert name_of(Votes(furniture=furniture, carried={"bowl": 1.0}))[0] == "dining room"
    assert name_of(Votes(furniture={**furniture, "stove": 1.0, "refrigerator": 1.0}))[0] == "kitchen"


def test_the_scene_analyzer_votes_with_words_of_its_own() -> None:
    assert name_of(Votes(scenes={"winter garden": 6.0}))[0] == "winter garden"
    assert name_of(Votes(scenes={"unknown": 6.0}))[0] == "unknown"


def test_a_long_room_with_doors_is_a_corridor_unless_things_say_otherwise() -> None:
    long = Votes(width=1.3, length=6.0, doors=4)
    assert name_of(long)[0] == "corridor"
    long.furniture = {"stove": 1.0, "refrigerator": 1.0, "sink": 1.0}
    assert name_of(long)[0] == "kitchen"
