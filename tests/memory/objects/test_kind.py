from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.errors import InvalidValue
from lastseen.memory.memory import Memory
from lastseen.memory.objects import EventKind, ObjectMemory
from lastseen.observation import SURFACE, Observation

HERE, BEHIND = (0.0, 0.0, 1.2), (4.0, 0.0, 1.2)
TABLE = [2.0, 0.0, 0.7]


def table(eye: tuple[float, float, float], *, kind: str = SURFACE) -> Observation:
    return seen(TABLE, eye=eye, size=(0.8, 1.2, 0.04), labels={"table": 0.9}, embedding=unit(1), kind=kind)


def mug(eye: tuple[float, float, float]) -> Observation:
    return seen([2.0, 0.1, 0.77], eye=eye, labels={"mug": 0.9}, embedding=unit(2))


def test_a_surface_is_listed_apart_and_is_no_object() -> None:
    memory = ObjectMemory()
    for number, eye in enumerate((HERE, BEHIND)):
        memory.observe(frame_at(number), [table(eye), mug(eye)])
    assert [one.label for one in memory.states()] == ["mug"]
    assert [(one.label, one.kind) for one in memory.states(kind=SURFACE)] == [("table", SURFACE)]
    assert len(memory.states(kind=None)) == 2


def test_a_thing_lies_on_a_surface() -> None:
    memory = ObjectMemory()
    for number, eye in enumerate((HERE, BEHIND)):
        memory.observe(frame_at(number), [table(eye), mug(eye)])
    (surface,), (thing,) = memory.states(kind=SURFACE), memory.states()
    assert [(str(one.kind), one.other_id) for one in memory.relations(thing.id)] == [("on", surface.id)]


def test_most_sightings_decide_what_kind_it_is() -> None:
    memory = ObjectMemory()
    for number, kind in enumerate(("object", SURFACE, SURFACE)):
        memory.observe(frame_at(number), [table((HERE, BEHIND)[number % 2], kind=kind)])
    assert [one.kind for one in memory.states(kind=None)] == [SURFACE]


def test_a_thing_is_no_piece_of_the_surface_it_stands_on_however_alike_they_look() -> None:
    memory = ObjectMemory()
    for number in range(12):
        eye = (HERE, BEHIND)[number % 2]
        pot = seen([2.1, 0.2, 0.8], eye=eye, size=(0.2, 0.2, 0.15), embedding=unit(1))
        memory.observe(frame_at(number), [pot] if number > 3 else [table(eye)])
    (surface,), (thing,) = memory.states(kind=SURFACE), memory.states()
    assert (surface.hits, thing.hits) == (4, 8)


def test_a_cabinet_is_no_sighting_of_the_floor_that_it_stands_on() -> None:
    memory = ObjectMemory()
    floor = seen([2.4, 0.3, 0.0], eye=HERE, size=(4.6, 3.2, 0.1), embedding=unit(1), kind=SURFACE)
    cabinet = seen([1.7, 0.0, 0.26], eye=BEHIND, size=(1.2, 1.3, 0.6), labels={"cabinet": 0.6}, embedding=unit(1))
    memory.observe(frame_at(0), [floor])
    memory.observe(frame_at(1), [cabinet])
    sizes = sorted(one.extent.max() for one in memory.states(kind=None, include_tentative=True))
    assert sizes == pytest.approx([1.3, 4.6])


def test_a_surface_never_goes_missing() -> None:
    memory = ObjectMemory()
    points = seen(TABLE).position + [[x, y, 0.02] for x in (-0.3, 0.0, 0.3) for y in (-0.3, 0.0, 0.3)]
    for number, eye in enumerate((HERE, BEHIND)):
        one = seen(TABLE, eye=eye, size=(0.8, 1.2, 0.04), points=points.astype("f4"), kind=SURFACE)
        memory.observe(frame_at(number), [one])
    kinds = []
    for number in range(2, 20):
        eye = (0.0, 0.3 * (number % 6) - 0.9, 1.4)
        kinds += [event.kind for event in memory.observe(frame_at(number, eye=eye, target=TABLE, depth=6.0), [])]
    assert EventKind.MISSING not in kinds


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"observation\.kind"):
        seen(TABLE, kind="ghost")


def test_a_file_keeps_the_kind_and_finds_a_surface(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        for number, eye in enumerate((HERE, BEHIND)):
            memory.observe(frame_at(number), [table(eye), mug(eye)])
    with Memory.open(path, read_only=True) as memory:
        assert [one.label for one in memory.objects()] == ["mug"]
        assert [(one.label, one.kind) for one in memory.objects(kind=SURFACE)] == [("table", SURFACE)]
        answer = memory.find("table")
        assert (answer.status, answer.hits[0].kind) == ("found", SURFACE)
        counts = memory.browse.counts()
        assert (counts["confirmed"], counts["surfaces"]) == (1, 1)
