"""A file that is foreign, cut short or damaged is refused with a clear line and is left as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.memory.homes import walk
from tests.memory.store.records import make_record, same

from lastseen.config import Settings
from lastseen.errors import JournalDamaged, JournalError, JournalForeign
from lastseen.memory.memory import Memory
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.journal.schema import STEPS, VERSION_1, migrate, row_sum
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


def told(memory: Memory) -> list[object]:
    """Everything that can be asked of a memory."""
    states = memory.states(include_tentative=True, include_removed=True)
    ids = [state.id for state in states]
    return [
        [(one.id, one.label_scores, one.xyz_world.tolist()) for one in states],
        [memory.object(object_id).image_crops for object_id in ids],
        [[repr(each) for each in memory.history(object_id)] for object_id in ids],
        [(change.kind, change.object_id, change.stamp) for change in memory.what_changed()],
        [(hit.id, hit.score, hit.place) for hit in memory.find("red mug").hits],
        [[hit.id for hit in memory.find("bowl", as_of=(0, time)).hits] for time in (0.0, 1.0, 3.0)],
        [memory.viewpoints(object_id) for object_id in ids],
        [memory.spatial.to_dict(), memory.floor.free.tolist(), memory.sessions()],
        memory.last_pose() is None,
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("home") / "home.lastseen"
    with walk(Memory.open(path, wall_clock=None), 6) as memory:
        memory.relabel("obj-1", "cup")
        memory.delete("obj-2")
    return path


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.integration)])
def test_a_flipped_bit_is_named_or_changes_nothing(home: Path, tmp_path: Path, soak: int, seed: int) -> None:
    content, copy = home.read_bytes(), tmp_path / "copy.lastseen"
    with Memory.open(home, read_only=True) as memory:
        whole = told(memory)
    # most of a small file is empty pages, where a bit says nothing
    rng, named, used = np.random.default_rng(seed), 0, np.flatnonzero(np.frombuffer(content, dtype=np.uint8))
    flips = (60 if seed == 0 else 500) * soak
    for _ in range(flips):
        broken, at = bytearray(content), int(rng.choice(used))
        broken[at] ^= 1 << int(rng.integers(8))
        copy.write_bytes(broken)
        try:
            with Memory.open(copy, read_only=True) as memory:
                assert told(memory) == whole, f"byte {at}"
        except JournalError:
            named += 1
        for helper in ("-wal", "-shm"):
            copy.with_name(copy.name + helper).unlink(missing_ok=True)
    assert named > flips // 2


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("working.counters", "[]"),
        ("working.counters", '{"dim": 1e9, "next_seq": 1, "now": 0, "frame_id": 1, "version": 1}'),
        ("working.counters", '{"dim": 999999999, "next_seq": 1, "now": 0, "frame_id": 1, "version": 1}'),
        ("working.counters", '{"dim": 72, "next_seq": 1, "now": NaN, "frame_id": 1, "version": 1}'),
        ("working.counters", '{"dim": 72, "next_seq": 1e99, "now": 0, "frame_id": 1, "version": 1}'),
        ("working.layout", '[["seq", "<i8", [1000000000]]]'),
        ("working.layout", "[" * 100_000),
        ("working.layout", '[["seq", "O", []]]'),
        ("working.labels", "3"),
        ("working.views", '[["a", "nonsense", []]]'),
    ],
)
def test_facts_that_cannot_be_are_named(home: Path, tmp_path: Path, key: str, text: str) -> None:
    copy = tmp_path / "copy.lastseen"
    copy.write_bytes(home.read_bytes())
    with closing(sqlite3.connect(copy)) as other, other:
        other.execute("UPDATE meta SET value = ?, checksum = ? WHERE key = ?", (text, row_sum(key, text), key))
    with pytest.raises(JournalDamaged, match="lastseen salvage"):
        Memory.open(copy, read_only=True)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM objects; END",
        "CREATE TABLE extra (a)",
        "CREATE INDEX extra ON objects(label)",
        "ALTER TABLE objects ADD COLUMN mood TEXT",
        "DROP TABLE crops",
        "DROP INDEX events_at",
        "ALTER TABLE sessions RENAME TO seances",
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_a_schema_that_is_not_exactly_ours_is_refused(
    home: Path, tmp_path: Path, statement: str, read_only: bool
) -> None:
    copy = tmp_path / "copy.lastseen"
    copy.write_bytes(home.read_bytes())
    with closing(sqlite3.connect(copy)) as other, other:
        other.execute(statement)
    before = copy.read_bytes()
    with pytest.raises(JournalError, match="nothing was changed"):
        Memory.open(copy, read_only=read_only)
    assert copy.read_bytes() == before


def test_a_view_that_never_ends_is_not_asked(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lastseen"
    copy.write_bytes(home.read_bytes())
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n AS id, n AS body, n FROM c"
    with closing(sqlite3.connect(copy)) as other, other:
        other.execute("DROP TABLE places")
        other.execute(f"CREATE VIEW places AS {endless}")
    with pytest.raises(JournalError, match="table places is missing"):
        Memory.open(copy, read_only=True)


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
