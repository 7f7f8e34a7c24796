from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.memory.objects.scenes import Room, seen, unit
from tests.memory.objects.test_absence import MUG, Walk

from lastseen.memory.memory import Memory
from lastseen.memory.objects import EventKind, ObjectMemory
from lastseen.memory.objects import memory as memory_module
from lastseen.memory.objects.columns import FreeSpace

ELSEWHERE = [2.0, 0.9, 0.8]


@pytest.fixture
def walk() -> Walk:
    room = Room()
    room.put("mug", MUG)
    walk = Walk(room)
    walk.look(20)
    return walk


def test_a_thing_that_moved_keeps_its_id_and_history(walk: Walk) -> None:
    hits = walk.memory.state("obj-1").hits
    walk.room.put("mug", ELSEWHERE)
    walk.look(30)
    (event,) = [event for event in walk.events if event.kind is EventKind.MOVED]
    assert event.object_id == "obj-1"
    assert event.evidence["before"] == pytest.approx(MUG, abs=0.01)
    assert event.evidence["after"] == pytest.approx(ELSEWHERE, abs=0.01)
    (mug,) = walk.memory.states(include_tentative=True, include_absent=True)
    assert (mug.id, mug.state) == ("obj-1", "confirmed")
    assert mug.xyz_world == pytest.approx(ELSEWHERE, abs=0.01)
    assert mug.hits > hits
    assert mug.first_seen == 0.0


def test_a_thing_found_after_it_was_missed_is_the_same(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(10)
    assert walk.told(EventKind.MISSING) == [(EventKind.MISSING, "obj-1")]
    walk.room.put("mug", ELSEWHERE)
    walk.look(15)
    assert walk.told(EventKind.MOVED) == [(EventKind.MOVED, "obj-1")]
    assert [one.id for one in walk.memory.states(include_tentative=True)] == ["obj-1"]


def test_a_look_alike_while_the_first_still_stands_is_another(walk: Walk) -> None:
    walk.room.put("mug/second", ELSEWHERE)
    walk.look(40)
    assert walk.told(EventKind.MOVED) == []
    assert [one.label for one in walk.memory.states()] == ["mug", "mug"]


@pytest.mark.parametrize(("doubted", "moved"), [([0], ["obj-1"]), ([], [])])
def test_a_thing_in_doubt_is_the_one_of_its_kind_that_came_elsewhere(
    walk: Walk, monkeypatch: pytest.MonkeyPatch, doubted: list[int], moved: list[str]
) -> None:
    """Its old place was seen too little to say that it is gone; without a doubt it still stands there."""
    monkeypatch.setattr(memory_module, "find_absent", lambda *_, **__: ([], doubted))
    walk.room.put("mug", ELSEWHERE)
    walk.look(30)
    assert [event.object_id for event in walk.events if event.kind is EventKind.MOVED] == moved


def test_a_different_thing_that_appears_is_not_the_missing_one(walk: Walk) -> None:
    walk.room.take("mug")
    walk.room.put("vase", ELSEWHERE)
    walk.look(40)
    assert walk.told(EventKind.MOVED) == []
    assert [one.label for one in walk.memory.states()] == ["vase"]


def test_a_look_alike_in_a_place_never_seen_before_is_not_the_missing_one(walk: Walk) -> None:
    walk.room.take("mug")
    walk.room.put("mug", [-2.0, 0.0, 0.8])
    walk.look(10)
    walk.look(20, target=[-2.0, 0.0, 0.8])
    assert walk.told(EventKind.MISSING) == [(EventKind.MISSING, "obj-1")]
    assert walk.told(EventKind.MOVED) == []
    assert [one.id for one in walk.memory.states()] == ["obj-2"]


def test_without_looks_a_thing_that_moved_is_gone_there_and_new_here() -> None:
    room = Room()
    room.put("mug", MUG)
    memory = ObjectMemory()
    kinds = []
    for number in range(60):
        if number == 20:
            room.put("mug", ELSEWHERE)
        eye = (0.0, 0.3 * (number % 8) - 1.2, 1.4)
        frame, observations = room.see(number, eye=eye, target=MUG, looks=False)
        kinds += [event.kind for event in memory.observe(frame, observations)]
    assert EventKind.MOVED not in kinds
    assert [one.id for one in memory.states()] == ["obj-2"]


def test_a_twin_seen_beside_a_thing_is_another_when_the_thing_is_taken(walk: Walk) -> None:
    walk.room.put("mug/second", ELSEWHERE)
    walk.look(1)
    walk.room.take("mug")
    walk.look(40)
    assert walk.told(EventKind.MOVED) == []
    assert walk.told(EventKind.MISSING) == [(EventKind.MISSING, "obj-1")]


@pytest.mark.parametrize(("name", "moved"), [("mug", True), ("bottle", False)])
def test_what_is_called_otherwise_has_to_look_all_the_more_alike(walk: Walk, name: str, moved: bool) -> None:
    """Two things of one colour look much alike; the name they go by asks for a surer look, and forbids nothing."""
    look = walk.memory.store.emb_mean[walk.memory.store.row("obj-1")].copy()
    aside = np.zeros_like(look)
    aside[int(np.abs(look).argmin())] = 1.0
    alike = 0.9 * look / np.linalg.norm(look) + 0.436 * aside
    walk.room.take("mug")
    walk.look(10)
    for _ in range(12):
        side = 1.2 * np.sin(0.7 * walk.steps)
        eye = (0.0, side, 1.4)
        frame, _ = walk.room.see(walk.steps, eye=eye, target=MUG, stamp=walk.clock)
        thing = seen(ELSEWHERE, eye=eye, embedding=alike / np.linalg.norm(alike), labels={name: 1.0}, size=0.3)
        walk.events += walk.memory.observe(frame, [thing])
        walk.steps, walk.clock = walk.steps + 1, walk.clock + 0.5
    assert bool(walk.told(EventKind.MOVED)) is moved


@pytest.mark.parametrize("cosine", [0.96, 0.99])
def test_a_thing_with_a_well_established_other_name_is_not_the_missing_one(walk: Walk, cosine: float) -> None:
    walk.room.take("mug")
    walk.look(10)
    assert walk.told(EventKind.MISSING) == [(EventKind.MISSING, "obj-1")]
    look = walk.memory.state("obj-1").emb_mean
    assert look is not None
    aside = unit(99) - float(unit(99) @ look) * look
    alike = cosine * look + np.sqrt(1.0 - cosine**2) * aside / np.linalg.norm(aside)
    walk.room.put("pot", ELSEWHERE)
    for number in range(100, 120):
        frame, (one,) = walk.room.see(number, eye=(0.0, 0.3 * (number % 8) - 1.0, 1.4))
        walk.events += walk.memory.observe(frame, [dataclasses.replace(one, embedding=alike)])
    assert walk.told(EventKind.MOVED) == []
    assert walk.memory.state("obj-1").label == "mug"
    assert [one.label for one in walk.memory.states()] == ["pot"]


@pytest.mark.parametrize(("free_space", "moved"), [(FreeSpace.FREE, True), (FreeSpace.UNNOTICED, False)])
def test_what_was_perhaps_noticed_late_and_is_called_otherwise_is_not_the_missing_one(
    walk: Walk, monkeypatch: pytest.MonkeyPatch, free_space: FreeSpace, moved: bool
) -> None:
    monkeypatch.setattr(memory_module, "evidence_at_confirmation", lambda *_: free_space)
    walk.room.take("mug")
    walk.look(10)
    name = {"bottle": 0.5, "glass": 0.5}
    for number in range(100, 104):
        frame, _ = walk.room.see(number, eye=(0.0, 0.3 * (number % 8) - 1.0, 1.4), stamp=walk.clock)
        eye = frame.T_world_camera.translation.tolist()
        thing = seen(ELSEWHERE, eye=eye, embedding=walk.memory.state("obj-1").emb_mean, labels=name, size=0.2)
        walk.events += walk.memory.observe(frame, [thing])
        walk.clock += 0.5
    assert bool(walk.told(EventKind.MOVED)) is moved


def test_events_keep_the_name_that_the_thing_had() -> None:
    with Memory.open(None) as memory:
        for number, eye in enumerate([(0.0, 0.0, 1.0), (4.0, 0.0, 1.0)]):
            memory.observe(Room().see(number)[0], [seen([2, 0, 1], eye=eye, labels={"mug": 0.9})])
        memory.relabel("obj-1", "vase")
        told = {change.kind: change.label for change in memory.what_changed()}
    assert (told["confirmed"], told["corrected"]) == ("mug", "vase")


def test_pictures_are_there_before_they_are_written() -> None:
    with Memory.open(None) as memory:
        memory.observe(Room().see(0)[0], [seen([2, 0, 1], crop=b"\xff\xd8\xff first", quality=0.5)])
        assert memory.object("obj-1").image_crops == (b"\xff\xd8\xff first",)
        memory.flush()
        assert memory.object("obj-1").image_crops == (b"\xff\xd8\xff first",)
