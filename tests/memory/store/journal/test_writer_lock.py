"""One file has one writer, by whatever name it is reached, and what another process wrote is never overwritten."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.memory.store.records import make_record

from lastseen.config import Settings
from lastseen.errors import JournalChanged, JournalError, JournalLocked, JournalMissing, JournalReadOnly
from lastseen.memory.store.journal import Batch, Journal

SETTINGS = Settings()
READ_LOCK = 0x40000002
"""Where SQLite locks a file that it reads; the same in every version."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "x").mkdir()
    return tmp_path / "home.lastseen"


def by_symlink(file: Path) -> str:
    link = file.parent / "x" / "link"
    link.symlink_to(file)
    return str(link)


def by_hard_link(file: Path) -> str:
    link = file.parent / "x" / "link"
    link.hardlink_to(file)
    return str(link)


def by_detour(file: Path) -> str:
    return f"{file.parent}/./x/../{file.name}"


def by_relative_path(file: Path) -> str:
    return os.path.relpath(file)


def after_deleting_helpers(file: Path) -> str:
    for helper in file.parent.glob("*.lock"):
        helper.unlink()
    return str(file)


WAYS = [by_symlink, by_hard_link, by_detour, by_relative_path, after_deleting_helpers]


def put(journal: Journal, *numbers: int) -> None:
    journal.write(Batch(time=1.0, objects=[make_record(number) for number in numbers]), settings=SETTINGS)


@pytest.mark.parametrize("way", WAYS)
def test_a_second_writer_is_refused_by_every_way_in(file: Path, way: Callable[[Path], str]) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        with pytest.raises(JournalLocked, match=f"process {os.getpid()} is writing"):
            Journal.open(way(file))
        put(journal, 2)
        assert [record.id for record in journal.objects()] == ["obj-1", "obj-2"]


@pytest.mark.parametrize("way", WAYS)
def test_and_from_another_process(file: Path, way: Callable[[Path], str]) -> None:
    with closing(Journal.open(file)) as journal:
        code = f"from lastseen.memory.store.journal import Journal; Journal.open({way(file)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "JournalLocked" in done.stderr
        assert f"process {os.getpid()} is writing" in done.stderr
        put(journal, 1)


def test_nothing_is_left_beside_a_closed_file(file: Path) -> None:
    Journal.open(file).close()
    assert sorted(path.name for path in file.parent.iterdir()) == ["home.lastseen", "x"]


def test_the_next_writer_may_come_by_a_link(file: Path) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
    with closing(Journal.open(by_symlink(file))) as journal:
        put(journal, 2)
    with closing(Journal.open(file)) as journal:
        assert journal.count() == 2


def test_a_file_of_two_names_is_not_written(file: Path) -> None:
    Journal.open(file).close()
    by_hard_link(file)
    with pytest.raises(JournalReadOnly, match="has 2 names"):
        Journal.open(file)


def test_a_write_by_another_program_is_not_overwritten(file: Path) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        with closing(sqlite3.connect(file)) as other, other:
            other.execute("UPDATE objects SET label = 'theirs'")
        with pytest.raises(JournalChanged, match="another process wrote it"):
            put(journal, 1, 2)
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("SELECT label FROM objects").fetchall() == [("theirs",)]


@pytest.mark.parametrize("replacement", [True, False])
def test_a_file_that_was_taken_away_is_not_written(file: Path, *, replacement: bool) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        if replacement:
            with closing(Journal.open(file.with_name("new"))) as new:
                put(new, 7)
            file.with_name("new").replace(file)
        else:
            file.unlink()
        with pytest.raises(JournalChanged, match="deleted or replaced"):
            put(journal, 2)


def test_a_link_that_leads_elsewhere_by_now_does_not_matter(file: Path) -> None:
    link = Path(by_symlink(file))
    with closing(Journal.open(link)) as journal:
        link.unlink()
        put(journal, 1)
    with closing(Journal.open(file)) as journal:
        assert journal.count() == 1


def reads_are_locked(file: Path) -> bool:
    """Whether a process holds SQLite's lock for reading; asked by another one, for one's own are not told."""
    code = (
        "import fcntl, os, struct, sys; "
        f"fd = os.open({str(file)!r}, os.O_RDWR); "
        f"ask = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, {READ_LOCK}, 510, 0); "
        "sys.exit(struct.unpack('hhqqi4x', fcntl.fcntl(fd, fcntl.F_GETLK, ask))[0] != fcntl.F_UNLCK)"
    )
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 1


def test_opening_a_file_twice_in_one_process_keeps_the_locks_of_sqlite(file: Path) -> None:
    with closing(Journal.open(file)) as journal, closing(Journal.open(file, read_only=True)) as reader:
        put(journal, 1)
        assert reader.count() == 1
        Journal.open(file, read_only=True).close()
        with pytest.raises(JournalLocked):
            Journal.open(file)
        assert reads_are_locked(file)
        journal.close()
        assert reads_are_locked(file)
    assert not reads_are_locked(file)


def test_the_files_numbers_are_given_back(file: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with closing(Journal.open(file)), pytest.raises(JournalLocked):
            Journal.open(file)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_busy_file_says_who_is_writing(file: Path) -> None:
    with closing(Journal.open(file)) as journal:
        journal._db.execute("PRAGMA busy_timeout = 0")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalLocked, match="is writing this memory"):
                put(journal, 1)


@pytest.mark.parametrize("name", ["x", "nowhere/home.lastseen"])
def test_what_cannot_be_made_says_why(file: Path, name: str) -> None:
    with pytest.raises(JournalMissing, match="folder"):
        Journal.open(file.with_name(name) if "/" not in name else file.parent / name)


def test_a_file_that_others_may_not_write_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(JournalError, match=r"Permission denied.*open it for reading"):
        Journal.open(file)
