"""One file has one writer, by whatever name it is reached, and what another process wrote is never overwritten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.memory.store.records import make_record

from lastseen.config import Settings
from lastseen.errors import (
    JournalChanged,
    JournalError,
    JournalIncomplete,
    JournalLocked,
    JournalMissing,
    JournalReadOnly,
)
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


def by_link_to_a_link(file: Path) -> str:
    (file.parent / "x" / "one").symlink_to(file)
    (file.parent / "x" / "two").symlink_to("one")
    return str(file.parent / "x" / "two")


def by_linked_folder(file: Path) -> str:
    (file.parent / "x" / "folder").symlink_to(file.parent)
    return str(file.parent / "x" / "folder" / file.name)


def by_open_descriptor(file: Path) -> str:
    return f"/proc/{os.getpid()}/cwd/{os.path.relpath(file)}"


WAYS = [
    by_link_to_a_link,
    by_linked_folder,
    by_open_descriptor,
    by_symlink,
    by_hard_link,
    by_detour,
    by_relative_path,
    after_deleting_helpers,
]


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


def in_child(act: Callable[[], object]) -> str:
    """What a forked child gets who does something: its result or its error."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = str(act())
        except JournalError as error:
            told = f"{type(error).__name__}: {error}"
        os.write(write, told.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


def by_another_program(file: Path) -> str:
    """The last line that another process prints who opens the file for writing and counts its objects."""
    opened = f"j = Journal.open({str(file)!r}); print(j.count()); j.close()"
    code = f"from lastseen.memory.store.journal import Journal; {opened}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()[-1]


def test_a_forked_child_neither_reads_nor_writes(file: Path) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        assert "before this one was forked from it" in in_child(lambda: put(journal, 2))
        assert "before this one was forked from it" in in_child(journal.count)
        assert "was open when this process was forked" in in_child(lambda: Journal.open(file, read_only=True))
        put(journal, 3)
        assert [record.id for record in journal.objects()] == ["obj-1", "obj-3"]


def test_a_forked_child_that_closes_lets_nobody_in(file: Path) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        assert in_child(journal.close) == "None"
        assert "JournalLocked" in by_another_program(file)
        put(journal, 2)


def test_a_forked_child_that_lives_on_keeps_no_lock(file: Path) -> None:
    read, write = os.pipe()
    journal = Journal.open(file)
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    journal.close()
    assert by_another_program(file) == "0"
    os.close(write)
    os.waitpid(child, 0)


def test_of_many_threads_that_open_at_once_one_gets_in(file: Path) -> None:
    got: list[Journal] = []
    refused: list[JournalLocked] = []
    start = threading.Barrier(8)

    def enter() -> None:
        start.wait()
        try:
            got.append(Journal.open(file))
        except JournalLocked as error:
            refused.append(error)

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(refused)) == (1, 7)
    got[0].close()


def test_threads_of_one_writer_take_turns(file: Path) -> None:
    with closing(Journal.open(file)) as journal:
        threads = [threading.Thread(target=put, args=(journal, number)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert journal.count() == 12


def test_a_wal_that_is_deleted_takes_nothing_acknowledged_with_it(file: Path) -> None:
    journal = Journal.open(file)
    put(journal, 1)
    file.with_name("home.lastseen-wal").unlink()
    with pytest.raises(JournalChanged, match=r"home\.lastseen-wal beside it was deleted"):
        put(journal, 2)
    journal.close()
    assert by_another_program(file) == "1"


def test_a_copy_without_its_wal_is_called_that(file: Path) -> None:
    copy = file.with_name("copy")
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        put(journal, 2)
        shutil.copyfile(file, copy)
    for read_only in (True, False, True):
        with pytest.raises(JournalIncomplete, match="copy-wal, which holds what was written last, is not beside it"):
            Journal.open(copy, read_only=read_only)
    assert sorted(path.name for path in file.parent.iterdir()) == ["copy", "home.lastseen", "x"]


def test_also_of_a_file_that_was_never_closed_and_moved(file: Path) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        file.rename(file.with_name("moved"))
        with pytest.raises(JournalIncomplete):
            Journal.open(file.with_name("moved"), read_only=True)
        with pytest.raises(JournalLocked):
            Journal.open(file.with_name("moved"))


@contextmanager
def mounted(file: Path, at: Path) -> Iterator[None]:
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("only root may mount")
    at.touch()
    if subprocess.run([mount, "--bind", str(file), str(at)], check=False, capture_output=True).returncode:
        pytest.skip("a file cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run([umount, "--lazy", str(at)], check=True)


def test_a_file_mounted_elsewhere_without_its_wal_is_neither_read_nor_written(file: Path) -> None:
    at = file.parent / "x" / "mounted"
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
        with mounted(file, at):
            with pytest.raises(JournalLocked):
                Journal.open(at)
            with pytest.raises(JournalIncomplete):
                Journal.open(at, read_only=True)


def test_a_run_that_died_while_it_made_the_file_leaves_one_that_can_be_used(file: Path) -> None:
    with closing(sqlite3.connect(file)) as born:
        born.execute("PRAGMA page_size = 8192")
        born.execute("PRAGMA journal_mode = WAL")
    assert file.stat().st_size > 0
    with pytest.raises(JournalError, match="it is empty"):
        Journal.open(file, read_only=True)
    with closing(Journal.open(file)) as journal:
        put(journal, 1)


@pytest.mark.parametrize("version", [-5, 0])
def test_a_version_that_never_was_is_refused(file: Path, version: int) -> None:
    with closing(Journal.open(file)) as journal:
        put(journal, 1)
    with closing(sqlite3.connect(file)) as other:
        other.execute(f"PRAGMA user_version = {version}")
    before = file.read_bytes()
    for read_only in (True, False):
        with pytest.raises(JournalError, match=f"it says it is of version {version}"):
            Journal.open(file, read_only=read_only)
    assert file.read_bytes() == before


def test_what_is_no_file_is_refused(file: Path) -> None:
    file.symlink_to(file)
    for path in (file, Path("/dev/null")):
        for read_only in (True, False):
            with pytest.raises(JournalMissing, match="give a memory file"):
                Journal.open(path, read_only=read_only)
