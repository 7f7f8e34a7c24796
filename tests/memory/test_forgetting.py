"""After forgetting no byte of a thing is left: not in the file, WAL and free pages, nor in what RAM would write."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lastseen.action import Action
from lastseen.cli.main import app
from lastseen.errors import IndexUnreachable, InvalidValue, JournalReadOnly
from lastseen.memory.memory import Memory
from lastseen.memory.store.journal.forgetting import MARK, READ
from lastseen.memory.store.outbox import Outbox
from lastseen.memory.store.records import EventRecord
from tests.memory.homes import ROOM, Item, stream, walk

TEAPOT = Item("Zanzibar-Teapot", "red", (1.2, -1.2, 0.8))
LABEL, PICTURE, NOTE = b"zanzibar-teapot", b"pattern-of-the-teapot's-picture", b"named-by-hand-zanzibar"
SECRETS = (LABEL, PICTURE, NOTE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home.lastseen"


def remember(file: Path) -> tuple[Memory, str]:
    """A memory of a room with one thing that must be forgotten, and that thing's id."""
    memory = Memory.open(file)
    for frame, observations in stream(6, (*ROOM, TEAPOT), looks="random"):
        seen = observations[-1]
        picture = seen.picture()
        assert picture is not None
        # what follows the end of a JPEG is not read, and stays in it
        object.__setattr__(seen, "crop", picture + PICTURE)
        memory.observe(frame, observations)
    place = memory.spatial.current_place
    assert place is not None
    place.learn(["stove", "Zanzibar-Teapot"], "Here a zanzibar-teapot stands.")
    memory.spatial.step(Action.FORWARD)
    memory.spatial.saw(["zanzibar-teapot", "mug"])
    (teapot,) = memory.objects("zanzibar-teapot")
    memory.relabel(teapot.id, NOTE.decode())
    memory.relabel(teapot.id, "zanzibar-teapot")
    memory.flush()
    assert all(secret in content(file) for secret in SECRETS)
    return memory, teapot.id


def content(file: Path) -> bytes:
    """All bytes that lie on disk for a memory; only for one that no connection of this process may lose locks of."""
    code = (
        "import sys, pathlib; [sys.stdout.buffer.write(p.read_bytes()) for p in pathlib.Path(sys.argv[1]).iterdir()]"
    )
    return subprocess.run([sys.executable, "-c", code, str(file.parent)], check=True, capture_output=True).stdout


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Another process that is in the middle of reading."""
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute('BEGIN'); "
        "db.execute('SELECT count(*) FROM objects').fetchall(); print('reads', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "reads\n"
    try:
        yield
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_no_byte_is_left_when_it_returns(file: Path) -> None:
    memory, teapot = remember(file)
    forgotten = memory.forget(teapot)
    assert (forgotten, forgotten.not_yet) == ([teapot], ())
    assert not any(secret in content(file) for secret in SECRETS)
    memory.close()
    assert not any(secret in content(file) for secret in SECRETS)


def test_while_another_process_reads_it_is_said_and_finished_by_the_next_commit(file: Path) -> None:
    memory, teapot = remember(file)
    with reading(file):
        assert memory.forget(teapot).not_yet == (READ,)
        walk(memory, 1, looks="random", start=10)
        memory.flush()
        assert LABEL in content(file)
    walk(memory, 1, looks="random", start=11)
    memory.flush()
    assert memory.store.journal.not_wiped is None
    assert not any(secret in content(file) for secret in SECRETS)
    memory.close()


def test_or_by_itself_when_nothing_is_written_any_more(file: Path) -> None:
    memory, teapot = remember(file)
    with reading(file):
        assert memory.forget(teapot).not_yet == (READ,)
        assert LABEL in content(file)
    end = time.monotonic() + 60.0
    while memory.store.journal.not_wiped is not None and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(secret in content(file) for secret in SECRETS)
    memory.close()


def test_or_at_the_end(file: Path) -> None:
    memory, teapot = remember(file)
    with reading(file):
        assert memory.forget(teapot).not_yet == (READ,)
    memory.close()
    assert not any(secret in content(file) for secret in SECRETS)


def test_or_by_the_next_run(file: Path) -> None:
    memory, teapot = remember(file)
    with reading(file):
        memory.forget(teapot)
        memory.close()
        with closing(sqlite3.connect(file)) as other:
            mark = dict(other.execute("SELECT key, value FROM meta").fetchall())[MARK]
        assert len(mark) == 1
        assert LABEL in content(file)
    with Memory.open(file) as again:
        assert again.store.journal.not_wiped is None
        assert not any(secret in content(file) for secret in SECRETS)
        assert MARK not in again.store.journal.meta()


def test_a_run_that_dies_before_wiping_is_finished_by_the_next(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, teapot = remember(file)
    with monkeypatch.context() as patch:
        patch.setattr(type(memory.store.journal), "_wipe", lambda *_, **__: None)
        memory.forget(teapot)
        memory.store.journal.close()
    with Memory.open(file) as again:
        assert not any(secret in content(file) for secret in SECRETS)
        assert len(again.objects()) == len(ROOM)


def test_nothing_that_ram_still_holds_names_it(file: Path) -> None:
    memory, teapot = remember(file)
    memory.forget(teapot)
    label = LABEL.decode()
    assert label not in memory._writes.objects.store.labels.names
    assert label not in memory.store.table.label_names
    assert label not in json.dumps(memory.spatial.to_dict()).casefold()
    assert "stove" in json.dumps(memory.spatial.to_dict())
    with pytest.raises(InvalidValue, match="nothing to take back"):
        memory.undo()
    for index in (memory.store.main, memory.store.aside):
        assert index is not None
        assert teapot not in index.keys()  # noqa: SIM118
    memory.close()


def test_the_others_go_on_as_before(file: Path) -> None:
    memory, teapot = remember(file)
    memory.forget(teapot)
    walk(memory, 3, looks="random", start=6)
    known = [(state.id, state.label, state.hits) for state in memory.objects()]
    memory.close()
    with Memory.open(file) as again:
        assert [(state.id, state.label, state.hits) for state in again.objects()] == known
        assert sorted(state.label or "" for state in again.objects()) == sorted(item.label for item in ROOM)
        assert again.find("chair").status == "found"
        walk(again, 3, (*ROOM, Item("lamp", "white", (3.0, 3.0, 0.5))), looks="random", start=9)
        assert again.find("lamp").hits[0].label == "lamp"


def test_a_name_that_another_thing_has_stays(file: Path) -> None:
    with walk(Memory.open(file)) as memory:
        red, _ = memory.objects("mug")
        before = [set(place.objects_list) for place in memory.places()]
        assert any("mug" in names for names in before)
        memory.forget(red.id)
        assert len(memory.objects("mug")) == 1
        assert [place.objects_list for place in memory.places()] == before


def test_what_went_on_as_it_goes_too_and_no_undo_brings_it_back(file: Path) -> None:
    memory, teapot = remember(file)
    bowl, mug = memory.objects("bowl")[0].id, memory.objects("mug")[0].id
    memory.merge(teapot, bowl)
    memory.forget(teapot)
    assert {change.object_id for change in memory.what_changed()}.isdisjoint({teapot, bowl})
    with pytest.raises(InvalidValue, match="nothing to take back"):
        memory.undo()
    assert memory.object(mug).label == "mug"
    memory.close()
    assert b'"bowl"' not in content(file)


def test_the_events_of_others_do_not_name_it(file: Path) -> None:
    memory, teapot = remember(file)
    mug = memory.objects("mug")[0].id
    memory.merge(mug, teapot)
    memory.undo()
    memory.forget(teapot)
    told = [event for event in memory.store.journal.events(object_id=mug) if event.kind == "merged"]
    assert [dict(event.evidence) for event in told] == [{"how": "by hand"}]
    memory.close()


def test_nor_do_they_tell_its_name_however_deep_it_stands(file: Path) -> None:
    memory, teapot = remember(file)
    mug = memory.objects("mug")[0].id
    evidence = {"beside": [{"id": teapot}, "ZANZIBAR-TEAPOT", "bowl"], "why": "the zanzibar-teapot hid it", "n": 3}
    memory.store.stage(events=[EventRecord(1.0, mug, "moved", evidence)])
    memory.flush()
    memory.forget(teapot)
    (told,) = [event for event in memory.store.journal.events(object_id=mug) if event.kind == "moved"]
    assert dict(told.evidence) == {"beside": [{}, "bowl"], "n": 3}
    memory.close()
    assert LABEL not in content(file).lower()


def test_what_is_made_later_does_not_hold_it(file: Path, tmp_path: Path) -> None:
    memory, teapot = remember(file)
    memory.forget(teapot)
    out = tmp_path / "later"
    out.mkdir()
    with closing(sqlite3.connect(out / "copy")) as copy:
        memory.store.journal._db.backup(copy)
    memory.close()
    for ending in (".json", ".csv", ".ply"):
        done = CliRunner().invoke(app, ["export", str(out / f"objects{ending}"), "--memory", str(file)])
        assert done.exit_code == 0, done.output
    assert not any(secret in content(out / "copy").lower() for secret in SECRETS)


def test_a_memory_that_is_only_read_refuses(file: Path) -> None:
    walk(Memory.open(file)).close()
    with Memory.open(file, read_only=True) as memory, pytest.raises(JournalReadOnly, match="to forget"):
        memory.forget("obj-1")


def test_a_shared_index_that_is_away_is_told_later(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object) -> int:
        raise IndexUnreachable("127.0.0.1:1", "connection refused")

    monkeypatch.setattr(Outbox, "drain", away)
    with walk(Memory.open(file, index="milvus://127.0.0.1:1/things")) as memory:
        assert memory.forget("obj-1").not_yet == ("the shared index does not answer",)
        queued = [(key, what) for _, key, what in memory.store.journal.queued()]
        assert [what for key, what in queued if key == "obj-1"] == ["remove"]


def test_a_memory_in_ram_forgets_too() -> None:
    memory = walk(Memory.open())
    assert memory.forget("obj-1").not_yet == ()
    assert "obj-1" not in [state.id for state in memory.objects()]
