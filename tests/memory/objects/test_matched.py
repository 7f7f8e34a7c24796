from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.memory.objects.scenes import CAMERA, Room, frame_at, seen, unit

from lastseen.config import Settings
from lastseen.config.memory import Lifecycle
from lastseen.memory.objects import EventKind, ObjectMemory

MUG, TABLE, LAMP = [2.0, 0.0, 0.8], [2.0, 0.6, 0.4], [2.0, -0.6, 1.0]


def test_every_observation_has_the_id_of_its_object_in_the_order_given() -> None:
    memory = ObjectMemory()
    assert list(memory.matched) == []
    memory.observe(frame_at(0), [seen(MUG), seen(TABLE), seen(LAMP)])
    by_place = dict(zip(["mug", "table", "lamp"], memory.matched, strict=True))
    assert sorted(map(str, by_place.values())) == ["obj-1", "obj-2", "obj-3"]
    memory.observe(frame_at(1), [seen(LAMP), seen([2.0, 1.5, 0.5]), seen(MUG), seen(TABLE)])
    assert memory.matched == (by_place["lamp"], "obj-4", by_place["mug"], by_place["table"])
    for state in memory.states(include_tentative=True):
        assert state.hits == (1 if state.id == "obj-4" else 2)
    memory.observe(frame_at(2), [])
    assert list(memory.matched) == []


def test_what_is_left_out_has_none() -> None:
    memory = ObjectMemory()
    body = np.zeros((CAMERA.height, CAMERA.width), dtype=np.bool_)
    body[: CAMERA.height // 3] = True
    memory.set_body_mask(body)
    arm, twice = seen([2.0, 0.3, 1.5]), seen(MUG, embedding=unit(1), quality=0.5)
    memory.observe(
        frame_at(0), [twice, seen(TABLE, labels={"person": 0.9}), arm, seen(MUG, embedding=unit(1)), seen(TABLE)]
    )
    ids = memory.matched
    assert ids[:3] == (None, None, None)
    assert sorted(map(str, ids[3:])) == ["obj-1", "obj-2"]


def test_one_observation_given_twice_counts_twice() -> None:
    memory = ObjectMemory()
    point = seen(MUG, size=0.0)
    memory.observe(frame_at(0), [point, point])
    assert sorted(map(str, memory.matched)) == ["obj-1", "obj-2"]


def test_what_was_merged_in_the_frame_has_the_id_that_stayed() -> None:
    memory = ObjectMemory()
    for start, y in ((0, 0.0), (2, 0.38)):
        for number, eye in enumerate([(0.0, 0.0, 1.0), (4.0, 0.0, 1.0)]):
            thing = seen([2.0, y, 0.5], eye=eye, size=(0.4, 0.4, 0.4), embedding=unit(1))
            memory.observe(frame_at(start + number), [thing])
            assert memory.matched == (f"obj-{1 + start // 2}",)
    for number in range(4, 24):
        grown = seen([2.0, 0.3, 0.5], size=(0.4, 0.8, 0.4), embedding=unit(1))
        events = memory.observe(frame_at(number), [grown])
        if any(event.kind is EventKind.MERGED for event in events):
            # it had gone to the younger one until this frame
            assert memory.matched == ("obj-1",)
            break
        assert memory.matched == ("obj-2",)
    else:
        raise AssertionError("nothing was merged")


def test_what_moved_has_the_id_of_the_thing_it_is() -> None:
    room, memory = Room(), ObjectMemory()
    room.put("mug", [2.0, 0.0, 0.8])
    moved = False
    for number in range(60):
        if number == 20:
            room.put("mug", [2.0, 0.9, 0.8])
        frame, observations = room.see(number, eye=(0.0, 0.3 * (number % 8) - 1.2, 1.4))
        moved |= any(event.kind is EventKind.MOVED for event in memory.observe(frame, observations))
        assert len(memory.matched) == len(observations)
        assert set(memory.matched) == ({"obj-1"} if number < 20 or moved else {"obj-2"})
    assert moved


def test_what_expired_at_once_has_none() -> None:
    memory = ObjectMemory(Settings(lifecycle=Lifecycle(max_tentative=1)))
    memory.observe(frame_at(0), [seen(MUG), seen(TABLE), seen(LAMP)])
    (kept,) = memory.states(include_tentative=True)
    assert sorted(map(str, memory.matched)) == ["None", "None", kept.id]


def test_corrections_after_the_frame_leave_it_as_it_was() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen(MUG), seen(TABLE)])
    before = memory.matched
    memory.merge("obj-1", "obj-2")
    assert memory.matched == before
    memory.observe(frame_at(1), [seen(LAMP)])
    assert memory.matched == ("obj-3",)


@pytest.mark.parametrize("turn", [0.4, 2.0, -2.6])
def test_followed_things_are_numbered_alike_however_the_map_is_turned(turn: float) -> None:
    cosine, sine = np.cos(turn), np.sin(turn)

    def turned(xyz: list[float]) -> list[float]:
        return [cosine * xyz[0] - sine * xyz[1] + 3.0, sine * xyz[0] + cosine * xyz[1] - 1.0, xyz[2]]

    here, there = ObjectMemory(), ObjectMemory()
    eye, target = turned([0.0, 0.0, 1.2]), turned([2.0, 0.0, 0.8])
    things = [[2.0, 0.0, 0.8], [2.3, 0.6, 0.4], [1.6, -0.6, 1.0]]
    here.observe(frame_at(0), [replace(seen(one), thing=1 + at) for at, one in enumerate(things)])
    moved = [replace(seen(turned(one), eye=eye), thing=1 + at) for at, one in enumerate(things)]
    there.observe(frame_at(0, eye=eye, target=target), moved)
    assert there.matched == here.matched
