"""Files of every version that people have are read by this program; an older one becomes a newer one in one step."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.memory.objects.scenes import Room
from tests.memory.store.journal.make_golden import NOTE, walk
from tests.memory.store.records import make_record, same

from lastseen.errors import JournalDamaged, JournalForeign
from lastseen.memory.memory import Memory
from lastseen.memory.store.journal import Journal
from lastseen.memory.store.journal.schema import newest, row_sum

GOLDEN = Path(__file__).parent
ROOMS = ("stove", "refrigerator", "sink", "bed", "wardrobe", "pillow")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of version 1 with objects and places."""
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v1_places.lastseen").read_bytes())
    return path


def version(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as other:
        return int(other.execute("PRAGMA user_version").fetchone()[0])


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(statement, values)


def told(memory: Memory) -> dict[str, Any]:
    """What all versions know: objects by what a search says of them, and everything about places and anchors.

    Walls, from which rooms are cut, and what was said of scenes came with version 4.
    """
    hits = [memory.find(label, include_tentative=True).hits[0] for label in (*ROOMS, "vase")]
    last = memory.last_pose()
    spatial = memory.spatial.to_dict()
    for anchor in spatial["graph"]["anchors"]:
        del anchor["scenes"]
    return {
        "objects": [(hit.id, hit.label, hit.position, hit.state, hit.last_seen_memory_time) for hit in hits],
        "spatial": spatial,
        "pose": None if last is None else (last.pose.translation.tolist(), last.time),
        "history": [entry.kind for entry in memory.history("obj-1")],
    }


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_of_version_1_says_what_its_own_program_said(file: Path, read_only: bool) -> None:
    now = Memory.open()
    walk(now)
    with Memory.open(file, read_only=read_only) as memory:
        assert told(memory) == told(now)
        assert [place.place_type for place in memory.places()] == ["kitchen", "bedroom"]
        assert memory.find("vase", include_tentative=True).hits[0].state == "tentative"
        assert memory.room_of("obj-1") is not None


def test_read_only_leaves_an_older_file_as_it_is(file: Path) -> None:
    before = file.read_bytes()
    with Memory.open(file, read_only=True) as memory:
        assert memory.find("bed").status == "found"
    assert file.read_bytes() == before
    assert version(file) == 1


def test_opened_for_writing_an_older_file_becomes_a_newer_one_and_goes_on(file: Path) -> None:
    with Memory.open(file) as memory:
        before = told(memory)
    assert version(file) == newest()
    with Memory.open(file) as again:
        assert told(again) == before
        again.new_session()
        walk(again)
        assert again.find("bed").hits[0].id == "obj-4"
        assert len(again.places()) == 2
        assert again.viewpoints("obj-4") != ()
        assert again.floor.free.any()


def test_records_of_the_first_program_are_read_without_writing(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v1.lastseen").read_bytes())
    before = hashlib.sha256(path.read_bytes()).digest()
    journal = Journal.open(path, read_only=True)
    assert all(same(record, make_record(i)) for i, record in enumerate(journal.objects()))
    assert journal.count() == 5
    journal.close()
    assert hashlib.sha256(path.read_bytes()).digest() == before


@pytest.mark.parametrize("number", range(2, newest() + 1))
def test_a_file_from_version_2_on_holds_space_too(tmp_path: Path, number: int) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / f"v{number}.lastseen").read_bytes())
    now = Memory.open()
    walk(now)
    for read_only in (True, False):
        with Memory.open(path, read_only=read_only) as memory:
            assert told(memory) == told(now)
            assert (memory.floor.free == now.floor.free).all()
            assert (memory.floor.occupied == now.floor.occupied).all()
            kept, made = ([each.viewpoints(f"obj-{n}") for n in range(1, 8)] for each in (memory, now))
            # files before version 8 were written when spots were chosen by another rule
            assert kept == made if number >= 8 else any(kept)


def test_a_file_of_version_4_holds_walls_and_the_ids_of_rooms(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v4.lastseen").read_bytes())
    now = Memory.open()
    walk(now)
    for read_only in (True, False):
        with Memory.open(path, read_only=read_only) as memory:
            assert told(memory) == told(now)
            assert memory.rooms() == now.rooms()
            assert memory.room_of("obj-1") == now.room_of("obj-1") is not None


def test_a_file_of_version_6_holds_what_was_told(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    for number, expected in ((5, []), (6, [("fact-1", "note", "told", NOTE)])):
        path.write_bytes((GOLDEN / f"v{number}.lastseen").read_bytes())
        for read_only in (True, False):
            with Memory.open(path, read_only=read_only) as memory:
                found = [(fact.id, fact.kind, fact.provenance, fact.text) for fact in memory.facts()]
                assert found == expected


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"kind": "note"}', '{"unknown": 1}', '{"outline": [[1]]}'])
def test_a_fact_that_cannot_be_read_is_named(tmp_path: Path, body: str) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v6.lastseen").read_bytes())
    change(path, "UPDATE facts SET body = ?, checksum = ?", body, row_sum(1, body))
    with pytest.raises(JournalDamaged, match="its facts cannot be read"):
        Memory.open(path)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_changed_value_of_an_older_file_is_noticed_and_nothing_is_written(file: Path, read_only: bool) -> None:
    change(file, "UPDATE objects SET x = x + 0.5 WHERE id = 'obj-3'")
    before = file.read_bytes()
    with pytest.raises(JournalDamaged, match="the row of obj-3 does not match its checksum"):
        Memory.open(file, read_only=read_only)
    assert file.read_bytes() == before


@pytest.mark.parametrize("table", ["places", "anchors", "viewpoints", "floor", "views"])
def test_a_changed_body_of_a_file_of_version_2_is_noticed(tmp_path: Path, table: str) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v2.lastseen").read_bytes())
    change(path, f"UPDATE {table} SET body = substr(body, 2)")
    before = path.read_bytes()
    with pytest.raises(JournalDamaged, match=f"the row of {table} .* does not match its checksum"):
        Memory.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "[]", '{"graph": {"places": [{}]}}', '{"graph": 3}'])
def test_places_of_an_older_file_that_cannot_be_read_are_named_and_kept(file: Path, text: str) -> None:
    change(file, "UPDATE meta SET value = ? WHERE key = 'places.state'", text)
    before = file.read_bytes()
    with pytest.raises(JournalDamaged, match="its places cannot be read"):
        Memory.open(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_of_an_unknown_newer_version_is_refused_and_kept(file: Path, read_only: bool) -> None:
    change(file, f"PRAGMA user_version = {newest() + 1}")
    before = file.read_bytes()
    with pytest.raises(JournalForeign, match=f"it is of version {newest() + 1}, this program reads up to {newest()}"):
        Memory.open(file, read_only=read_only)
    assert file.read_bytes() == before


def test_the_places_of_an_older_file_stand_in_tables_of_their_own(file: Path) -> None:
    graph = json.loads(_meta(file)["places.state"])["graph"]
    Memory.open(file).close()
    assert "graph" not in json.loads(_meta(file)["places.state"])
    with closing(sqlite3.connect(file)) as other:
        for table, name in (("places", "place_id"), ("anchors", "anchor_id")):
            rows = other.execute(f"SELECT id, body FROM {table} ORDER BY id").fetchall()
            assert [(number, json.loads(body)) for number, body in rows] == [(one[name], one) for one in graph[table]]


def _meta(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as other:
        return dict(other.execute("SELECT key, value FROM meta").fetchall())


def test_boxes_of_before_version_9_lie_along_the_axes_and_newer_ones_keep_their_yaw(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v8.lastseen").read_bytes())
    with Memory.open(path) as memory:
        assert {one.yaw for one in memory.objects()} == {0.0}
        memory.new_session()
        room = Room()
        room.put("shelf", (40.0, 0.0, 0.6), 0.3)
        for number in range(3):
            frame, seen = room.see(number, eye=(38.0, 0.8 * number, 1.2), target=(40.0, 0.0, 0.6))
            memory.observe(frame, [replace(one, yaw=0.3) for one in seen])
    with Memory.open(path) as again:
        assert {one.label: one.yaw for one in again.objects(include_tentative=True)}["shelf"] == pytest.approx(0.3)
        assert again.states()[0].yaw == 0.0
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT yaw FROM objects WHERE label = 'shelf'").fetchone()[0] == pytest.approx(0.3)


def test_columns_of_before_version_10_are_read_by_their_names_of_today(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v9.lastseen").read_bytes())
    now = Memory.open()
    walk(now)
    expected = now._writes.objects.export_rows()
    for read_only in (True, False):
        with Memory.open(path, read_only=read_only) as memory:
            rows = memory._writes.objects.export_rows()
            for name in ("free_space", "neighbours", "neighbour_hits"):
                assert (rows.columns[name] == expected.columns[name]).all()
    assert {"rivals", "rival_hits", "newness"}.isdisjoint(
        name for name, *_ in json.loads(_meta(path)["working.layout"])
    )
    assert expected.columns["free_space"].any()


@pytest.mark.parametrize("text", ["[", "3", "[3]", "[[[]]]"])
def test_a_layout_of_an_older_file_that_cannot_be_read_is_named_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "home.lastseen"
    path.write_bytes((GOLDEN / "v9.lastseen").read_bytes())
    key = "working.layout"
    change(path, "UPDATE meta SET value = ?, checksum = ? WHERE key = ?", text, row_sum(key, text), key)
    before = path.read_bytes()
    with pytest.raises(JournalDamaged, match="the layout of its objects cannot be read"):
        Memory.open(path)
    assert path.read_bytes() == before
