from __future__ import annotations

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.memory import Memory
from tests.memory.homes import ROOM, Item, picture, walk


@pytest.fixture(scope="module")
def memory() -> Memory:
    return walk(Memory.open())


def test_the_class_is_found(memory: Memory) -> None:
    answer = memory.find("bowl")
    assert answer.status == "found"
    assert answer.hits[0].label == "bowl"
    assert answer.hits[0].position == pytest.approx((0.0, 1.0, 0.8), abs=0.05)


def test_the_colour_decides_between_two_of_a_kind(memory: Memory) -> None:
    for color, x in (("red", 0.0), ("blue", 1.0)):
        answer = memory.find(f"the {color} mug")
        assert answer.status == "found"
        assert answer.hits[0].color == color
        assert answer.hits[0].position[0] == pytest.approx(x, abs=0.05)


def test_two_that_fit_alike_are_ambiguous(memory: Memory) -> None:
    answer = memory.find("mug")
    assert answer.status == "ambiguous"
    assert [hit.label for hit in answer.hits] == ["mug", "mug"]
    assert "2 things fit 'mug'" in answer.reason


def test_a_colour_that_was_not_seen_is_refused_with_the_reason(memory: Memory) -> None:
    answer = memory.find("green mug")
    assert answer.status == "not_found"
    assert answer.fitting == ()
    assert "mug is remembered, but" in answer.reason


def test_what_was_never_seen_is_refused(memory: Memory) -> None:
    answer = memory.find("piano")
    assert answer.status == "not_found"
    assert "nothing remembered is like 'piano'" in answer.reason


def test_a_synonym_and_a_use_are_understood(memory: Memory) -> None:
    assert memory.find("couch").hits[0].label == "sofa"
    assert {hit.label for hit in memory.find("somewhere to sit").hits} == {"chair", "sofa"}


def test_a_colour_alone_is_a_question(memory: Memory) -> None:
    assert memory.find("the red one").hits[0].label == "mug"


def test_a_region_limits_and_the_reason_says_so(memory: Memory) -> None:
    assert memory.find("mug", near=(1.0, 0.0, 0.8), radius=0.5).hits[0].color == "blue"
    answer = memory.find("bowl", near=(5.0, 5.0, 0.0), radius=1.0)
    assert answer.status == "not_found"
    assert answer.reason == "bowl is remembered, but not within 1 m of (5, 5, 0)"
    assert memory.find("mug", within=((-0.5, -0.5, 0.0), (0.5, 0.5, 2.0))).hits[0].color == "red"


def test_a_place_alone_lists_what_is_there_nearest_first(memory: Memory) -> None:
    answer = memory.find(near=(0.0, 0.0, 0.8), radius=1.2)
    assert answer.status == "found"
    assert answer.hits[0].color == "red"
    assert len(answer.hits) == 3


def test_a_label_alone_lists_its_objects(memory: Memory) -> None:
    assert [hit.color for hit in memory.find(label="Mug").hits] == ["red", "blue"]


def test_a_picture_is_a_question(memory: Memory) -> None:
    answer = memory.find(image=picture("red", seed=99))
    assert answer.status == "found"
    assert answer.hits[0].color == "red"


def test_an_embedding_of_another_length_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidValue, match="shape"):
        memory.find(embedding=np.ones(7, np.float32))


def test_an_embedding_unlike_everything_is_refused(memory: Memory) -> None:
    query = -np.ones(72, np.float32)
    assert memory.find(embedding=query).status == "not_found"


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "mug", "embedding": np.ones(72, np.float32)},
        {"text": "mug", "radius": 1.0},
        {"text": "mug", "near": (0, 0), "radius": 1.0},
        {"text": "mug", "near": (0, 0, 0), "radius": -1.0},
        {"text": "mug", "within": ((1, 1, 1), (0, 0, 0))},
        {"text": "mug", "k": 0},
        {"text": "mug", "since": "noon"},
    ],
)
def test_a_question_that_makes_no_sense_is_refused(memory: Memory, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        memory.find(**wrong)  # type: ignore[arg-type]


def test_an_empty_memory_says_so() -> None:
    assert Memory.open().find("mug").reason == "memory is empty"


def test_a_question_that_names_nothing_is_refused(memory: Memory) -> None:
    assert memory.find("   ").status == "not_found"


def test_what_was_seen_once_answers_only_when_asked_for() -> None:
    memory = walk(Memory.open(), 1)
    answer = memory.find("bowl")
    assert answer.status == "not_found"
    assert "not confirmed" in answer.reason
    assert memory.find("bowl", include_tentative=True).status == "found"
    assert memory.find(image=picture("white"), include_tentative=True).hits[0].label == "bowl"


def test_times_bound_the_last_sighting() -> None:
    memory = walk(Memory.open(), 4)
    walk(memory, 4, ROOM[:1], start=4)
    assert memory.find("mug", since=5.0).hits[0].color == "red"
    assert memory.find("mug", before=5.0).hits[0].color == "blue"


def test_stale_objects_are_flagged_and_can_be_left_out() -> None:
    memory = walk(Memory.open(), 4)
    walk(memory, 1, ROOM[:1], start=1000)
    assert memory.find("bowl").hits[0].stale
    assert "not seen lately" in memory.find("bowl").reason
    assert memory.find("bowl", include_stale=False).status == "not_found"
    assert not memory.find("red mug").hits[0].stale


def test_as_many_are_listed_as_were_asked_for_when_many_fit() -> None:
    items = [Item("mug", "red", (float(i), 0.0, 0.8)) for i in range(6)]
    memory = walk(Memory.open(), 4, items)
    answer = memory.find("mug")
    assert answer.status == "ambiguous"
    assert (len(answer.hits), answer.reason) == (5, "6 things fit 'mug' equally well (mug), 5 of them listed")
    assert len(memory.find("mug", k=10).hits) == 6


def test_two_entries_at_one_spot_are_one_answer() -> None:
    items = [Item("mug", "red", (0.0, 0.0, 0.8)), Item("mug", "red", (0.25, 0.0, 0.8))]
    assert walk(Memory.open(), 4, items).find("mug").status == "found"


def test_wordllama_gives_words_meaning_too() -> None:
    memory = walk(Memory.open(encoder="wordllama"))
    assert memory.find("couch").hits[0].label == "sofa"
    assert memory.find("red mug").hits[0].color == "red"
    assert memory.find("elephant").status == "not_found"


def test_colours_come_from_pictures_where_looks_do_not_tell_them() -> None:
    memory = walk(Memory.open(), looks="random")
    assert memory.find("red mug").hits[0].color == "red"


def test_things_without_any_look_are_found_by_name() -> None:
    memory = walk(Memory.open(), looks="none")
    assert memory.find("bowl").status == "found"
    assert memory.find("white bowl").status == "found"
    assert memory.find(embedding=np.ones(4, np.float32)).status == "not_found"


def test_the_number_of_hits_is_a_setting() -> None:
    assert Settings().find.k == 5
