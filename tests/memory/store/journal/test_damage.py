"""A file that is foreign, cut short or damaged is refused with a clear line and is left as it is."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from tests.memory.store.records import make_record, same

from lastseen.config import Settings
from lastseen.errors import JournalDamaged, JournalError, JournalForeign
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.journal.schema import STEPS, VERSION_1, migrate
from lastseen.memory.store.records import ObjectRecord

GOLDEN = Path(__file__).parent / "v1.lastseen"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "home.lastseen"
    journal = Journal.open(path)
    journal.write(Batch(time=1.0, objects=[make_record(i, dim=64) for i in range(60)]), settings=Settings())
    journal.close()
    return path


def read(path: Path) -> list[ObjectRecord]:
    journal = Journal.open(path)
    try:
        return list(journal.objects())
    finally:
        journal.close()


@pytest.mark.parametrize("content", [b"not a memory", b"x" * 5000, b"SQLite format 3\x00"])
def test_another_kind_of_file_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(JournalForeign, match="nothing was changed"):
        Journal.open(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE objects (a)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(JournalForeign, match="another program"):
        Journal.open(path)
    assert path.read_bytes() == before


def test_a_newer_file_is_refused(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(JournalForeign, match="version 99"):
        Journal.open(file)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.99])
def test_a_file_cut_short_is_refused(file: Path, share: float) -> None:
    content = file.read_bytes()
    cut = content[: int(len(content) * share)]
    file.write_bytes(cut)
    with pytest.raises(JournalDamaged, match="restore it from a copy"):
        Journal.open(file)
    assert file.read_bytes() == cut


def test_a_damaged_file_is_refused_or_reads_as_before(file: Path, soak: int) -> None:
    content = file.read_bytes()
    whole = read(file)
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(60 * soak):
        broken = bytearray(content)
        start = int(rng.integers(100, len(content) - 64))
        broken[start : start + 64] = rng.bytes(64)
        file.write_bytes(broken)
        try:
            again = read(file)
        except JournalError:
            refused += 1
            assert file.read_bytes() == bytes(broken)
            continue
        assert len(again) == len(whole)
        assert all(same(one, other) for one, other in zip(whole, again, strict=True))
    assert refused > 10 * soak


def test_a_file_of_the_first_version_opens(tmp_path: Path) -> None:
    copy = tmp_path / "copy.lastseen"
    copy.write_bytes(GOLDEN.read_bytes())
    records = read(copy)
    assert len(records) == 5
    assert all(same(record, make_record(i)) for i, record in enumerate(records))
    assert STEPS[1] == VERSION_1


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    steps = {1: VERSION_1, 2: "ALTER TABLE objects ADD COLUMN mood TEXT; CREATE TABLE extra (a)"}
    migrate(connection, steps={1: VERSION_1})
    migrate(connection, steps=steps)
    migrate(connection, steps=steps)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert "mood" in [row[1] for row in connection.execute("PRAGMA table_info(objects)")]


def test_a_failed_migration_leaves_the_old_file_whole(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    migrate(connection, steps={1: VERSION_1})
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, steps={1: VERSION_1, 2: "CREATE TABLE extra (a); NONSENSE"})
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'extra'").fetchall() == []
