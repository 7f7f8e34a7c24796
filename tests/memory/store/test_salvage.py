"""A memory file is copied while it is written, checked as a whole, and saved as far as it is whole."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.memory.homes import ROOM, walk
from tests.memory.store.records import make_record
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.config import Settings
from lastseen.errors import JournalError, JournalIncomplete, LastseenError
from lastseen.memory.memory import Memory
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.salvage import backup, check, salvage


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home.lastseen"
    walk(Memory.open(path), 6, looks="random").close()
    return path


def run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    error = f"{done.exception}" if isinstance(done.exception, LastseenError) else ""
    return done.exit_code, done.output + error


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(statement)


def test_a_file_is_copied_while_it_is_written(tmp_path: Path) -> None:
    file, out, ended = tmp_path / "home.lastseen", tmp_path / "copy", threading.Event()
    with closing(Journal.open(file)) as journal:

        def write() -> None:
            number = 0
            while not ended.is_set():
                batch = [make_record(10 * number + i) for i in range(10)]
                journal.write(Batch(time=float(number), objects=batch), settings=Settings())
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(3):
                assert run("backup", file, out.with_name(f"copy{number}"))[0] == 0
        finally:
            ended.set()
            writer.join()
    for number in range(3):
        copy = out.with_name(f"copy{number}")
        assert check(copy).problems == []
        with closing(Journal.open(copy, read_only=True)) as found:
            assert found.count() % 10 == 0
    assert not list(tmp_path.glob("*.part*"))


def test_a_copy_holds_what_the_memory_holds_and_can_be_written(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    with Memory.open(home) as memory:
        known = [(state.id, state.label, state.hits) for state in memory.states()]
        backup(home, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home.lastseen"]
    with Memory.open(out) as again:
        assert [(state.id, state.label, state.hits) for state in again.states()] == known
        walk(again, 2, looks="random", start=10)


def test_a_copy_never_replaces_a_file(home: Path) -> None:
    before = home.read_bytes()
    code, output = run("backup", home, home)
    assert (code, "exists already" in output) == (1, True)
    assert home.read_bytes() == before


def test_a_copy_of_what_is_no_memory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("not a memory")
    assert run("backup", tmp_path / "notes", tmp_path / "out")[0] == 1
    assert not (tmp_path / "out").exists()


def test_a_whole_file_is_called_whole(home: Path) -> None:
    code, output = run("check", home)
    assert (code, "whole: every row matches its checksum" in output) == (0, True)
    facts = json.loads(run("check", home, "--json")[1])
    assert facts["whole"]["objects"] >= len(ROOM)
    assert facts["problems"] == []


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("objects", "UPDATE objects SET x = x + 0.5 WHERE id = 'obj-3'"),
        ("embeddings", "UPDATE embeddings SET mean = zeroblob(length(mean)) WHERE num = 2"),
        ("events", "UPDATE events SET kind = 'moved' WHERE id = 1"),
        ("versions", "UPDATE versions SET z = z + 1 WHERE num = 1"),
        ("crops", "UPDATE crops SET jpeg = x'00' WHERE num = 1"),
        ("sessions", "UPDATE sessions SET last = last + 1"),
        ("meta", "UPDATE meta SET value = '7' WHERE key = 'working.counters'"),
        ("meta", "UPDATE meta SET value = '[]' WHERE key = 'working.labels'"),
        ("meta", "DELETE FROM meta WHERE key LIKE 'working.%'"),
        ("meta", "UPDATE meta SET value = '{}' WHERE key LIKE 'places.%'"),
    ],
)
def test_damage_is_named_and_the_rest_is_saved(home: Path, tmp_path: Path, table: str, statement: str) -> None:
    out = tmp_path / "saved"
    change(home, statement)
    if not statement.startswith("DELETE"):
        code, output = run("check", home)
        assert code == 1
        assert f"damaged: {table}: " in output
        assert "lastseen salvage" in output
    code, output = run("salvage", home, out)
    assert code == 0, output
    assert check(out).problems == []
    with Memory.open(out) as memory:
        lost = 1 if table == "objects" else 0
        assert len(memory.objects()) == len(ROOM) - lost
        assert memory.find("sofa").status == "found"
        walk(memory, 3, looks="random", start=20)
        assert len(memory.objects()) == len(ROOM)


@pytest.mark.parametrize("table", ["views", "floor", "places", "anchors", "viewpoints"])
def test_so_is_damage_of_space(tmp_path: Path, table: str) -> None:
    home, out = tmp_path / "home.lastseen", tmp_path / "saved"
    home.write_bytes((Path(__file__).parent / "journal" / "v3.lastseen").read_bytes())
    change(home, f"UPDATE {table} SET body = substr(body, 2)")
    assert f"damaged: {table}: " in run("check", home)[1]
    assert run("salvage", home, out)[0] == 0
    with Memory.open(out) as memory:
        assert memory.find("stove").status == "found"


def test_an_incomplete_file_is_saved_as_far_as_it_is_there(tmp_path: Path) -> None:
    file, copy, out = (tmp_path / name for name in ("home", "copy", "out"))
    with walk(Memory.open(file), 6) as memory:
        memory.flush()
        memory.store.journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        walk(memory, 2, start=10).flush()
        shutil.copyfile(file, copy)
    with pytest.raises(JournalIncomplete):
        Memory.open(copy)
    salvage(copy, out, Settings())
    with Memory.open(out) as again:
        assert len(again.objects()) == len(ROOM)


def test_broken_pages_cost_their_own_rows(tmp_path: Path, soak: int) -> None:
    file, broken, rng = tmp_path / "home", tmp_path / "broken", np.random.default_rng(0)
    with walk(Memory.open(file), 12) as memory:
        memory.flush()
    content = file.read_bytes()
    saved = []
    for turn in range(8 * soak):
        page = 8192 * int(rng.integers(1, len(content) // 8192))
        broken.write_bytes(content[:page] + rng.bytes(8192) + content[page + 8192 :])
        out = tmp_path / f"out{turn}"
        try:
            salvage(broken, out, Settings())
        except JournalError:
            continue
        assert check(out).problems == []
        with Memory.open(out) as memory:
            saved.append(len(memory.objects()))
    assert len(saved) >= 7 * soak
    assert sum(count == len(ROOM) for count in saved) >= 4 * soak


def test_what_cannot_be_read_at_all_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"not a memory" * 1000)
    code, output = run("salvage", tmp_path / "notes", tmp_path / "out")
    assert code == 1
    assert "damaged" in output
    assert not (tmp_path / "out").exists()
