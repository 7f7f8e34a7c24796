"""A memory with a path: what was seen survives, and the next run meets the same objects."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.config.memory import Store
from lastseen.config.search import Explored
from lastseen.errors import IndexMismatch, InvalidValue, JournalDamaged, JournalReadOnly, StorageFull
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from tests.memory.homes import ROOM, Item, stream, walk
from tests.memory.objects.scenes import Room


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home.lastseen"


def hallway(count: int, *, start: float = 0.0, back: bool = False) -> Iterator[tuple[Frame, list[Observation]]]:
    """A camera that goes 15 cm a frame past things on both sides of a hallway; ``back``: and to its start again."""
    room = Room()
    for number in range(8):
        room.put(f"box-{number}", (1.0 + number, 1.2 * (-1) ** number, 0.6), 0.3)
    for number in range(count):
        x = 0.15 * (min(number, count - 1 - number) if back else number)
        yield room.see(number, eye=(x, 0.0, 1.2), target=(x + 2.0, 0.0, 0.9), stamp=start + 0.5 * number)


def told(memory: Memory) -> list[tuple[object, ...]]:
    """Everything about every object, to compare two memories by."""
    return [
        (
            state.id,
            state.label,
            state.xyz_world.tolist(),
            state.hits,
            state.stability,
            sorted(state.view_bins),
            state.last_seen,
            None if state.emb_mean is None else state.emb_mean.tolist(),
            None if state.emb_gallery is None else state.emb_gallery.tolist(),
            state.state,
        )
        for state in memory.states(include_tentative=True, include_removed=True)
    ]


def space_rows(memory: Memory) -> dict[str, list[tuple[object, ...]]]:
    """The rows that the journal holds of space, to compare two memories by to the byte."""
    memory.flush()
    tables = ("places", "anchors", "viewpoints", "floor")
    database = memory.store.journal._db
    rows = {name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in tables}
    meta = "SELECT key, value FROM meta WHERE key IN ('places.state', 'space.state', 'robot.pose') ORDER BY key"
    return {**rows, "meta": database.execute(meta).fetchall()}


def test_what_was_seen_survives(file: Path) -> None:
    with walk(Memory.open(file)) as memory:
        before, answer = told(memory), memory.find("red mug")
    with Memory.open(file) as again:
        assert told(again) == before
        assert again.find("red mug") == answer


@pytest.mark.parametrize("looks", ["look", "random", "none"])
@pytest.mark.parametrize("half", [1, 2, 7])
def test_half_a_stream_and_the_other_half_equal_one_run(file: Path, looks: str, half: int) -> None:
    items = (*ROOM, Item("lamp", "white", (3.0, -2.0, 0.5)))
    frames = list(stream(14, items, looks=looks))
    one = Memory.open()
    for frame, observations in frames:
        one.observe(frame, observations)
    with Memory.open(file) as first:
        for frame, observations in frames[:half]:
            first.observe(frame, observations)
    with Memory.open(file) as second:
        for frame, observations in frames[half:]:
            second.observe(frame, observations)
        assert told(second) == told(one)
        assert space_rows(second) == space_rows(one)
        assert second.find("red mug").hits[0].position == one.find("red mug").hits[0].position


def test_the_same_stream_writes_the_same_rows(tmp_path: Path) -> None:
    files = [tmp_path / "a.lastseen", tmp_path / "b.lastseen"]
    for path in files:
        walk(Memory.open(path, wall_clock=None), 12).close()
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("half", [1, 2, 17, 40])
def test_a_stream_that_goes_on_in_another_process_lays_the_same_space(file: Path, half: int) -> None:
    one = Memory.open(wall_clock=None)
    for frame, observations in hallway(60):
        one.observe(frame, observations)
    for frames in (range(half), range(half, 60)):
        with Memory.open(file, wall_clock=None) as part:
            for number, (frame, observations) in enumerate(hallway(60)):
                if number in frames:
                    part.observe(frame, observations)
    with Memory.open(file) as again:
        rows = space_rows(again)
        assert rows == space_rows(one)
        assert len(rows["anchors"]) > 10
        assert rows["floor"]
        assert rows["viewpoints"]


def test_a_recording_that_is_played_again_comes_by_the_same_anchors(file: Path) -> None:
    for start in (0.0, 100.0):
        with Memory.open(file, wall_clock=None) as memory:
            for frame, observations in hallway(30, start=start, back=True):
                memory.observe(frame, observations)
            anchors, places = len(memory.spatial.graph.anchors), len(memory.places())
            if start == 0.0:
                first = anchors, places
    assert (anchors, places) == first


def test_the_same_stream_twice_gives_the_same_rows_of_space(tmp_path: Path) -> None:
    rows = []
    for name in ("a.lastseen", "b.lastseen"):
        with Memory.open(tmp_path / name, wall_clock=None) as memory:
            for frame, observations in hallway(40):
                memory.observe(frame, observations)
            rows.append(space_rows(memory))
    assert rows[0] == rows[1]


def test_a_floor_of_another_cell_size_is_refused(file: Path) -> None:
    with Memory.open(file) as memory:
        for frame, observations in hallway(2):
            memory.observe(frame, observations)
    with pytest.raises(InvalidValue, match=r"explored.cell = 0.4: is not the 0.2 of this file's floor"):
        Memory.open(file, settings=Settings(explored=Explored(cell=0.4)))


def test_it_is_written_every_five_seconds_of_frame_time(file: Path) -> None:
    memory = Memory.open(file)
    walk(memory, 5)
    assert list(memory.store.journal.objects()) == []
    walk(memory, 1, start=5)
    assert len(list(memory.store.journal.objects())) == len(ROOM)


def test_a_flush_that_changes_nothing_writes_nothing(file: Path) -> None:
    memory = walk(Memory.open(file), 4)
    assert memory.flush() > 0
    assert memory.flush() == 0


def test_reopening_and_seeing_nothing_writes_nothing(file: Path) -> None:
    walk(Memory.open(file)).close()
    with Memory.open(file) as memory:
        assert memory.flush() == 0


def test_readers_answer_and_cannot_observe(file: Path) -> None:
    writer = walk(Memory.open(file))
    writer.flush()
    reader = Memory.open(file, read_only=True)
    assert reader.find("red mug").status == "found"
    frame, observations = next(stream(1))
    with pytest.raises(JournalReadOnly):
        reader.observe(frame, observations)
    reader.close()
    writer.close()


def test_a_full_disk_keeps_answering_and_is_tried_again(file: Path) -> None:
    memory = Memory.open(file)
    pages = memory.store.journal._db.execute("PRAGMA page_count").fetchone()[0]
    memory.store.journal._db.execute(f"PRAGMA max_page_count = {pages}")
    walk(memory, 4, looks="random")
    with pytest.raises(StorageFull):
        memory.flush()
    assert memory.find("red mug").status == "found"
    memory.store.journal._db.execute("PRAGMA max_page_count = 100000")
    assert memory.flush() > 0
    memory.close()
    assert Memory.open(file, read_only=True).find("red mug").status == "found"


def test_the_past_can_be_asked(file: Path) -> None:
    moved = (Item("mug", "red", (0.0, 0.0, 0.8)), *ROOM[1:])
    memory = walk(Memory.open(file), 6, moved)
    assert memory.find("bowl", as_of=0.5).status == "not_found"
    assert memory.find("bowl", as_of=4.0).status == "found"
    assert memory.find("bowl", as_of=4.0).hits[0].last_seen_memory_time <= 4.0


def test_an_object_tells_its_history(file: Path) -> None:
    memory = walk(Memory.open(file))
    history = memory.history(memory.find("red mug").hits[0].id)
    assert [entry.kind for entry in history][:2] == ["appeared", "confirmed"]
    assert history[-1].kind == "known"
    assert history[-1].position == pytest.approx((0.0, 0.0, 0.8), abs=0.05)


def test_what_changed_lists_events_since_a_time(file: Path) -> None:
    memory = walk(Memory.open(file))
    walk(memory, 2, (*ROOM, Item("lamp", "white", (3.0, 3.0, 0.5))), start=6)
    assert {change.label for change in memory.what_changed(since=5.5)} == {"lamp"}
    assert [change.kind for change in memory.what_changed(since=5.5)] == ["appeared", "confirmed"]


def test_a_second_session_on_another_clock_keeps_the_objects(file: Path) -> None:
    walk(Memory.open(file), 6, start=1000).close()
    with Memory.open(file) as memory:
        walk(memory, 6)
        assert len(memory.objects()) == len(ROOM)
        hit = memory.find("bowl").hits[0]
        assert (hit.session, memory.sessions()[1].stamp(hit.last_seen_memory_time)) == (2, 5.0)
        assert [session.id for session in memory.sessions()] == [1, 2]
        assert memory.find("bowl", as_of=(1, 1004.0)).hits[0].session == 1


def test_pictures_are_kept_in_the_file_and_not_in_ram(file: Path) -> None:
    memory = walk(Memory.open(file), looks="random")
    memory.flush()
    assert memory.object("obj-1").image_crops[0].startswith(b"\xff\xd8")
    memory.close()
    private = Settings(store=Store(store_crops=False))
    other = walk(Memory.open(file.with_name("b"), settings=private), looks="random")
    other.flush()
    assert other.object("obj-1").image_crops == ()


def test_forgetting_an_object_is_for_good(file: Path) -> None:
    memory = walk(Memory.open(file))
    mug = memory.find("red mug").hits[0].id
    assert memory.forget(mug) == [mug]
    assert memory.find("red mug").status == "not_found"
    with pytest.raises(InvalidValue, match="not remembered"):
        memory.object(mug)
    memory.close()
    with Memory.open(file) as again:
        assert len(again.objects()) == len(ROOM) - 1
        assert again.find("red mug").status == "not_found"


def test_forgetting_before_a_time(file: Path) -> None:
    memory = walk(Memory.open(file), 4)
    walk(memory, 4, ROOM[:1], start=4)
    memory.forget(before=5.0)
    assert [state.label for state in memory.objects()] == ["mug"]


def test_vectors_of_two_encoders_are_never_mixed(file: Path) -> None:
    walk(Memory.open(file)).close()
    with pytest.raises(IndexMismatch, match="lastseen reindex"):
        Memory.open(file, image_encoder="clip-1234")
    Memory.open(file, image_encoder="look-v1").close()


def test_the_index_equals_the_journal(file: Path) -> None:
    walk(Memory.open(file)).close()
    memory = Memory.open(file, read_only=True)
    index = memory.store.main
    assert index is not None
    for record in memory.store.journal.objects():
        assert record.embedding is not None
        best = index.search(record.embedding / np.linalg.norm(record.embedding), k=1)[0]
        assert best.score == pytest.approx(1.0, abs=1e-5)
    assert index.keys() == sorted(record.id for record in memory.store.journal.objects())


def test_questions_from_other_threads_never_break_the_stream(file: Path) -> None:
    memory, wrong, ended = Memory.open(file), [], threading.Event()

    def ask() -> None:
        while not ended.is_set():
            try:
                memory.find("red mug")
                memory.objects()
                memory.flush()
            except Exception as error:  # noqa: BLE001
                wrong.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    walk(memory, 20)
    ended.set()
    for thread in threads:
        thread.join()
    memory.close()
    assert wrong == []
    quiet = walk(Memory.open(), 20)
    with Memory.open(file) as again:
        assert told(again) == told(quiet)
        assert len(again.what_changed()) == len(quiet.what_changed())


@pytest.mark.parametrize("column", ["objects.working", "objects.x", "embeddings.mean", "embeddings.gallery"])
def test_a_changed_value_is_noticed_on_opening(file: Path, column: str) -> None:
    walk(Memory.open(file)).close()
    table, name = column.split(".")
    with closing(sqlite3.connect(file)) as other, other:
        row, value = other.execute(f"SELECT num, {name} FROM {table} LIMIT 1 OFFSET 2").fetchone()
        changed = value + 0.5 if name == "x" else bytes([value[0] ^ 1]) + value[1:]
        other.execute(f"UPDATE {table} SET {name} = ? WHERE num = ?", (changed, row))
    with pytest.raises(JournalDamaged, match="does not match its checksum"):
        Memory.open(file)
