from __future__ import annotations

import itertools
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lastseen.errors import JournalDamaged
from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event, EventKind
from lastseen.memory.space.viewpoints import MOST, SEEN_WELL, Viewpoints
from lastseen.pose2d import Pose2D
from tests.memory.homes import ROOM, walk
from tests.memory.objects.scenes import frame_at, seen, unit

THING = (0.0, 0.0, 0.8)


def see(spots: Viewpoints, *poses: tuple[float, float], object_id: str = "obj-1") -> None:
    for x, y in poses:
        spots.note(Pose2D(x, y, 0.0), [seen(THING)], [object_id])


def happened(kind: EventKind, object_id: str, absorbed: str) -> Event:
    return Event(1.0, 1, kind, object_id, {"absorbed": absorbed})


def test_few_are_kept_and_they_lie_apart() -> None:
    spots = Viewpoints()
    see(spots, *((2.5 * math.cos(0.05 * n), 2.5 * math.sin(0.05 * n)) for n in range(126)))
    kept = spots.of("obj-1")
    assert len(kept) == MOST
    assert all(math.dist(one, other) >= 0.4 for one, other in itertools.combinations(kept, 2))


def test_walking_up_to_a_thing_leaves_a_trail_of_spots() -> None:
    spots = Viewpoints()
    see(spots, *((2.5 - 0.125 * n, 0.0) for n in range(18)))
    assert spots.of("obj-1") == ((2.5, 0.0), (2.0, 0.0), (1.5, 0.0), (1.0, 0.0), (0.5, 0.0))


def test_where_there_are_enough_a_nearer_one_takes_the_place_of_the_farthest() -> None:
    spots = Viewpoints()
    see(spots, *((2.8 * math.cos(n), 2.8 * math.sin(n)) for n in range(MOST)), (2.9, 0.5))
    assert (2.9, 0.5) not in spots.of("obj-1")
    see(spots, (1.0, 0.0))
    assert (1.0, 0.0) in spots.of("obj-1")
    assert len(spots.of("obj-1")) == MOST


def test_from_too_far_one_spot_is_kept_the_nearest_until_the_thing_is_seen_well() -> None:
    spots = Viewpoints()
    see(spots, (SEEN_WELL + 2.0, 0.0), (SEEN_WELL + 1.0, 0.0), (SEEN_WELL + 1.5, 1.0))
    assert spots.of("obj-1") == ((SEEN_WELL + 1.0, 0.0),)
    see(spots, (SEEN_WELL - 0.5, 0.0), (SEEN_WELL + 2.0, 0.0))
    assert spots.of("obj-1") == ((SEEN_WELL - 0.5, 0.0),)


def test_what_is_of_no_object_leaves_no_spot() -> None:
    spots = Viewpoints()
    spots.note(Pose2D(1.0, 0.0, 0.0), [seen(THING)], [None])
    assert spots.of("obj-1") == ()
    assert spots.drain_changed() == {}


def test_a_thing_that_moved_is_seen_from_where_it_was_found_again() -> None:
    spots = Viewpoints()
    see(spots, (1.0, 0.0), (2.0, 0.0))
    see(spots, (0.0, 2.0), object_id="obj-7")
    spots.on_events([happened(EventKind.MOVED, "obj-1", "obj-7")])
    assert (spots.of("obj-1"), spots.of("obj-7")) == (((0.0, 2.0),), ())
    assert list(spots.drain_changed()) == ["obj-1", "obj-7"]


def test_things_that_are_one_share_their_spots_and_these_stay_apart() -> None:
    spots = Viewpoints()
    see(spots, (1.0, 0.0))
    see(spots, (1.1, 0.0), (0.0, 2.0), object_id="obj-2")
    spots.on_events([happened(EventKind.MERGED, "obj-1", "obj-2")])
    assert (spots.of("obj-1"), spots.of("obj-2")) == (((1.0, 0.0), (0.0, 2.0)), ())


def test_they_are_restored_to_the_bit() -> None:
    spots, again = Viewpoints(), Viewpoints()
    see(spots, (1.23, -0.07), (-2.01, 0.33))
    again.restore(spots.drain_changed())
    assert again.of("obj-1") == spots.of("obj-1") == ((1.23, -0.07), (-2.01, 0.33))
    assert again.drain_changed() == {}


@pytest.mark.parametrize("body", [b"1234", bytes(8 * (MOST + 1)), b"\xff" * 8])
def test_what_cannot_be_read_is_named(body: bytes) -> None:
    with pytest.raises(JournalDamaged, match="the viewpoints of obj-1"):
        Viewpoints().restore({"obj-1": body}, "home.lastseen")


def test_a_changed_byte_in_the_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        memory.observe(frame_at(0), [seen([2.0, 0.0, 0.8], embedding=unit(1))])
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE viewpoints SET body = randomblob(8)")
    with pytest.raises(JournalDamaged, match="the row of viewpoints 1 does not match its checksum"):
        Memory.open(path)


def test_what_is_forgotten_has_none_in_ram_and_file(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    near = [seen([1.0, y, 0.8], embedding=unit(y)) for y in (0, 1)]
    with Memory.open(path) as memory:
        for number in range(4):
            memory.observe(frame_at(number, stamp=float(number)), near)
        memory.flush()
        assert len(memory.store.journal.viewpoints()) == 2
        memory.forget("obj-1")
        assert memory.viewpoints("obj-1") == ()
        assert list(memory.store.journal.viewpoints()) == ["obj-2"]
    with Memory.open(path, read_only=True) as again:
        assert (again.viewpoints("obj-1"), again.viewpoints("obj-2")) == ((), ((0.0, 0.0),))


def test_what_was_merged_by_hand_is_shared_in_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        for number, y in enumerate((0.0, 1.0)):
            thing = seen([1.0, y * 2.0, 0.8], stamp=float(number), embedding=unit(number))
            memory.observe(frame_at(number, eye=(0.0, y, 1.2)), [thing])
        memory.merge("obj-1", "obj-2")
    with Memory.open(path, read_only=True) as again:
        assert again.viewpoints("obj-1") == ((0.0, 0.0), (0.0, 1.0))


def test_walks_around_a_room_keep_some_for_what_is_near_enough() -> None:
    memory = walk(Memory.open(), 12)
    spots = {hit.label: memory.viewpoints(hit.id) for hit in memory.find("sofa").hits}
    assert spots["sofa"]
    assert all(math.dist(spot, ROOM[4].xyz[:2]) <= SEEN_WELL for spot in spots["sofa"])
