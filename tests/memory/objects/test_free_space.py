from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.memory.objects.scenes import Room
from tests.memory.objects.test_absence import Walk

from lastseen.memory.memory import Memory
from lastseen.memory.objects.relocation import NEWCOMER_HITS, newcomers

SHELF, THERE = [2.0, 0.0, 0.8], [2.0, 0.6, 0.8]


def walk_past_a_shelf() -> Walk:
    room = Room()
    room.put("shelf", SHELF)
    walk = Walk(room)
    walk.look(20)
    return walk


def labels_of_newcomers(walk: Walk, since: float) -> list[str | None]:
    store = walk.memory.store
    return [walk.memory.state(store.id(row)).label for row in newcomers(store, since).tolist()]


def test_a_thing_put_where_the_camera_looked_through_has_come() -> None:
    walk = walk_past_a_shelf()
    at = walk.clock
    walk.room.put("vase", THERE)
    walk.look(2 * NEWCOMER_HITS)
    assert labels_of_newcomers(walk, at) == ["vase"]


def test_what_was_seen_a_few_times_only_is_no_news_yet() -> None:
    walk = walk_past_a_shelf()
    at = walk.clock
    walk.room.put("vase", THERE)
    walk.look(NEWCOMER_HITS - 1)
    assert "vase" in {one.label for one in walk.memory.states()}
    assert labels_of_newcomers(walk, at) == []


def test_a_thing_in_a_place_nobody_looked_at_before_has_not_come() -> None:
    walk = walk_past_a_shelf()
    at = walk.clock
    walk.room.put("vase", [-2.0, 0.0, 0.8])
    walk.look(3 * NEWCOMER_HITS, target=[-2.0, 0.0, 0.8])
    assert "vase" in {one.label for one in walk.memory.states()}
    assert labels_of_newcomers(walk, at) == []


def test_a_flat_thing_has_come_where_its_place_was_open_to_view_many_times() -> None:
    room = Room()
    room.put("board", [2.06, 0.0, 0.8], [0.04, 2.0, 2.0])
    walk = Walk(room)
    for eye in np.linspace(-2.5, 2.5, 24):
        frame, sights = room.see(walk.steps, eye=(0.5, float(eye), 1.0), target=SHELF, stamp=walk.clock)
        walk.memory.observe(frame, sights)
        walk.steps, walk.clock = walk.steps + 1, walk.clock + 0.5
    at = walk.clock
    room.put("poster", SHELF, [0.02, 0.3, 0.3])
    walk.look(3 * NEWCOMER_HITS)
    assert labels_of_newcomers(walk, at) == ["poster"]


def test_depth_alone_does_not_tell_that_a_flat_thing_has_come() -> None:
    """What lies flat is nearly as far away as what it lies on: an image that looked there before proves nothing."""
    walk = walk_past_a_shelf()
    at = walk.clock
    walk.room.put("book", THERE, [0.3, 0.3, 0.05])
    walk.look(2 * NEWCOMER_HITS)
    assert "book" in {one.label for one in walk.memory.states()}
    assert labels_of_newcomers(walk, at) == []


def test_what_is_rarely_detected_is_no_news() -> None:
    walk = walk_past_a_shelf()
    at = walk.clock
    walk.room.put("vase", THERE)
    walk.look(NEWCOMER_HITS)
    assert labels_of_newcomers(walk, at) == ["vase"]
    walk.look(2 * NEWCOMER_HITS, unseen=["vase"])
    assert labels_of_newcomers(walk, at) == []


def test_a_user_is_told_what_has_come_and_what_may_only_be_found_late(tmp_path: Path) -> None:
    room, elsewhere = Room(), [-2.0, 0.0, 0.8]
    room.put("shelf", SHELF)
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        for number in range(60):
            if number == 20:
                room.put("vase", THERE)
                room.put("clock", elsewhere)
            target = SHELF if number < 40 else elsewhere
            memory.observe(*room.see(number, eye=(0.0, 1.2 * np.sin(0.7 * number), 1.4), target=target))
    with Memory.open(path, read_only=True) as memory:
        told = {
            one.label: one.evidence.get("place_was_free", False)
            for one in memory.what_changed()
            if one.kind == "appeared"
        }
    assert told == {"shelf": False, "vase": True, "clock": False}
