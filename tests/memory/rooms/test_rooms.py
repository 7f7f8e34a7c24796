"""Rooms of a memory that walks a simulated home: right, lasting, and the same everywhere."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import JournalDamaged
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.memory.rooms import Room
from lastseen.memory.rooms.room_map import RoomMap
from lastseen.memory.space.storeys import Storey
from lastseen.memory.store.journal.schema import row_sum
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from tests.memory.rooms.plans import NOWHERE, grid_of, outer

_FRAMES = 60
"""Of each storey: enough to see most of two rooms."""
WALL = [*outer(8, 4), (4, 0, 4, 1.5), (4, 2.4, 4, 4)]


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Path]:
    """A home of four rooms and the memory file of one tour."""
    home = generate_home(3, rooms=4)
    path = tmp_path_factory.mktemp("rooms") / "home.lastseen"
    world = SimEnvironment(home, seed=3, senses=Senses.all("typical"))
    detector = SimulatedDetector(world, level="typical", seed=3)
    stops = coverage_stops(world.grid, (world.start.x, world.start.y))
    with Memory.open(path, wall_clock=None) as memory:
        frame = world.reset()
        memory.observe(frame, detections=detector.detect(frame))
        for action in tour(world.agent, stops):
            frame = world.step(action).frame
            memory.observe(frame, detections=detector.detect(frame))
    return home, path


def true_room(home: Home, x: float, y: float) -> str | None:
    return next((room.type for room in home.rooms if room.contains(x, y)), None)


def test_a_tour_finds_the_rooms_and_things_are_in_theirs(walked: tuple[Home, Path]) -> None:
    home, path = walked
    with Memory.open(path, read_only=True) as memory:
        assert sorted(room.name for room in memory.rooms()) == sorted(room.type for room in home.rooms)
        objects = memory.objects()
        right = sum(one.place == true_room(home, *one.position[:2]) for one in objects)
        assert right >= 0.9 * len(objects) > 20


def test_answers_say_the_room_and_its_id(walked: tuple[Home, Path]) -> None:
    with Memory.open(walked[1], read_only=True) as memory:
        rooms = {room.id: room for room in memory.rooms()}
        for one in memory.objects():
            hit = next(hit for hit in memory.find(one.label, k=50).hits if hit.id == one.id)
            assert (hit.place, hit.place_id) == (one.place, one.place_id)
            room = memory.room_of(one.id)
            assert one.place_id == (None if room is None else room.id)
            assert one.place_id is None or rooms[one.place_id].name == one.place


def test_a_file_that_is_opened_again_has_the_same_rooms(walked: tuple[Home, Path]) -> None:
    with Memory.open(walked[1], read_only=True) as one, Memory.open(walked[1], read_only=True) as other:
        assert one.rooms() == other.rooms() != []
        assert [each.place_id for each in one.objects()] == [each.place_id for each in other.objects()]


def test_the_first_question_to_a_closed_file_cuts_nothing(
    walked: tuple[Home, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(walked[1], read_only=True) as memory:
        memory.room_at([(0.0, 0.0, 0.0)])  # a point of no object: everything is cut and named anew
        memory._writes.rooms._settled = None
        cut = memory.rooms(), [each.place_id for each in memory.objects()]
    monkeypatch.setattr(RoomMap, "refresh", lambda *_: pytest.fail("was cut"))
    with Memory.open(walked[1], read_only=True) as memory:
        assert (memory.rooms(), [each.place_id for each in memory.objects()]) == cut


def test_far_from_all_that_was_seen_there_is_no_room(walked: tuple[Home, Path]) -> None:
    with Memory.open(walked[1], read_only=True) as memory:
        inside = memory.rooms()[0]
        assert memory.room_at([(*inside.center, 1.0), (500.0, 0.0, 0.0)]) == [inside, None]
        assert memory.room_at([]) == []
    with Memory.open() as empty:
        assert empty.rooms() == []
        assert empty.room_at([(0.0, 0.0, 0.0)]) == [None]


def test_ids_last_while_rooms_grow_and_new_rooms_get_new_ones() -> None:
    # first only the room on the right is seen, then both
    grid = grid_of([line for line in outer(8, 4) if line[0] == 8 or line[1] == line[3]], 8, 4)
    grid.evidence[grid.cell_of(4.2, 2.0)[0] - 200 : grid.cell_of(4.2, 2.0)[0]] = 0  # type: ignore[index]
    first = RoomMap(Storey(0, 0.0, grid, grid))
    assert first.refresh(0, NOWHERE) == 1
    both_rooms = grid_of(WALL, 8, 4)
    both = RoomMap(Storey(0, 0.0, both_rooms, both_rooms))
    both.restore(first.to_dict())
    assert both.refresh(1, NOWHERE) == 2
    assert both.cut is not None
    assert both.cut.rooms_of(np.array([[6.0, 2.0], [2.0, 2.0]])).tolist() == [0, 1]


def test_a_thing_in_a_wall_is_on_the_side_it_was_seen_from() -> None:
    both_rooms = grid_of(WALL, 8, 4)
    rooms = RoomMap(Storey(0, 0.0, both_rooms, both_rooms))
    rooms.refresh(0, NOWHERE)
    assert rooms.cut is not None
    left, right = rooms.cut.rooms_of(np.array([[2.0, 3.0], [6.0, 3.0]])).tolist()
    picture = np.array([[3.97, 3.0], [4.02, 3.0]])
    seen_from = [[(6.0, 3.0), (6.5, 2.0)], [(2.0, 3.0)]]
    assert rooms.cut.rooms_of_things(picture, seen_from).tolist() == [right, left]


def test_each_storey_has_rooms_of_its_own_and_questions_know_them(tmp_path: Path) -> None:
    path = tmp_path / "house.lastseen"
    with Memory.open(path, wall_clock=None) as memory:
        stamp = _walk(memory, generate_home(12, rooms=4), height=0.0, stamp=0.0)
        below = memory.rooms()
        assert {room.storey for room in below} == {0}
        assert memory.ask("have you been upstairs?").yes is False
        everything = memory.find("all things upstairs")
        assert everything.status == "not_found"
        assert everything.reason == "one storey is known, and whether it is upstairs is not"
        known = next(one.label for one in memory.objects() if one.label)
        assert memory.find(f"the {known} upstairs").not_understood == ("upstairs (one storey is known)",)
        _walk(memory, generate_home(13, rooms=4), height=2.9, stamp=stamp)
        check(memory, below)
    with Memory.open(path, read_only=True) as memory:
        check(memory, below)


def check(memory: Memory, below: list[Room]) -> None:
    """What holds of two homes on top of each other, also when the file is opened again."""
    rooms = memory.rooms()
    assert [room.id for room in rooms if room.storey == 0] == [room.id for room in below]
    assert any(room.storey == 1 for room in rooms)
    storey = {room.id: room.storey for room in rooms}
    placed = [one for one in memory.objects() if one.place_id is not None]
    assert {storey[one.place_id] for one in placed if one.position[2] < 2.0 and one.place_id is not None} == {0}
    assert {storey[one.place_id] for one in placed if one.position[2] > 3.0 and one.place_id is not None} == {1}
    up = memory.find("all things upstairs", k=1000).fitting
    down = memory.find("all things that are not upstairs", k=1000).fitting
    assert min(one.position[2] for one in up) > 2.5 > max(one.position[2] for one in down)
    assert memory.ask("have you been upstairs?").yes is True


def _walk(memory: Memory, home: Home, *, height: float, stamp: float) -> float:
    """Tour a home whose floor is so high; returns the next stamp."""
    world = SimEnvironment(home, seed=1, senses=Senses.all("perfect"))
    detector = SimulatedDetector(world, level="perfect", seed=1)
    stops = coverage_stops(world.grid, (world.start.x, world.start.y))
    frames = [world.reset()]
    walked = chain(frames, (world.step(action).frame for action in tour(world.agent, stops)))
    for frame in islice(walked, _FRAMES):
        pose = frame.T_world_camera
        raised = Pose3D(pose.translation + np.array([0.0, 0.0, height]), pose.quaternion)
        seen = detector.detect(frame)
        memory.observe(replace(frame, T_world_camera=raised, stamp=stamp), detections=seen)
        stamp += 0.5
    return stamp


def test_ids_that_cannot_be_read_are_damage(tmp_path: Path, walked: tuple[Home, Path]) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes(walked[1].read_bytes())
    key, body = "rooms.state", json.dumps({"next_id": 1, "storeys": []})
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = ?, checksum = ? WHERE key = ?", (body, row_sum(key, body), key))
    with pytest.raises(JournalDamaged, match="its rooms cannot be read"):
        Memory.open(path, read_only=True)


def test_a_closed_file_answers_rooms_without_cutting_anew(
    walked: tuple[Home, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(walked[1], read_only=True) as memory:
        before = [(one.id, one.place) for one in memory.objects()]
    monkeypatch.setattr(RoomMap, "refresh", lambda *_: pytest.fail("cut anew"))
    with Memory.open(walked[1], read_only=True) as memory:
        assert [(one.id, one.place) for one in memory.objects()] == before
        assert memory.rooms()
