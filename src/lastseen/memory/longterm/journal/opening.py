"""Opening a journal file safely: whose file is it, is it whole, and who else is writing it?

Everything is checked through a read-only connection first, so that a foreign or damaged file is never touched.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from lastseen.errors import JournalDamaged, JournalForeign, JournalLocked, JournalMissing, StorageFull
from lastseen.memory.longterm.journal.schema import APPLICATION_ID, migrate, newest

_MAGIC = b"SQLite format 3\x00"
_PAGE_SIZE = 8192
_BUSY_MS = 5000


class WriterLock:
    """The right to write a journal, held by one process at a time; the system frees it when the process dies."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise JournalLocked(path, holder) from None
        os.ftruncate(self._file, 0)
        try:
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            # the number only tells others whom to ask: on a full disk the lock holds without it
            if error.errno != errno.ENOSPC:
                self.release()
                raise

    def release(self) -> None:
        """Let another process write; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@contextmanager
def clear_errors(path: Path | str) -> Iterator[None]:
    """Turn SQLite's errors about the file into ones that say what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # Python itself raises without a code when bytes that should be text cannot be read
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_space(path)):
            raise StorageFull(path) from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise JournalDamaged(path, str(error)) from error
        raise
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged bytes in its message, which Python then cannot read
        raise JournalDamaged(path, str(error)) from error


def inspect(path: Path) -> int:
    """The schema version of a lastseen file; raises when it is missing, foreign, damaged or too new."""
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise JournalMissing(path, f"{problem}; give a memory file, as `lastseen run SOURCE --memory FILE` makes one")
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(_MAGIC) or len(header) < 100:
        raise JournalForeign(path, "it is not an SQLite file")
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    wal = path.with_name(path.name + "-wal")
    if path.stat().st_size < pages * page and not (wal.exists() and wal.stat().st_size > 0):
        raise JournalDamaged(path, f"it has {path.stat().st_size} bytes of {pages * page}: the end is missing")
    with clear_errors(path):
        connection = connect_reader(path)
        try:
            mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        finally:
            connection.close()
    if mark != APPLICATION_ID:
        raise JournalForeign(path, "it is another program's SQLite file")
    if version > newest():
        raise JournalForeign(path, f"it is of version {version}, this program reads up to {newest()}")
    if not {"objects", "sessions", "events"} <= tables:
        raise JournalDamaged(path, "tables are missing")
    return version


def connect_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection that sees what is committed, also while another process writes."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        connection = _connect(address)
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # a medium that cannot be written has no writer either
        connection = _connect(address + "&immutable=1")
    return connection


def connect_writer(path: Path | None) -> sqlite3.Connection:
    """A connection that makes or upgrades the file and commits durably; ``None`` keeps everything in RAM."""
    connection = _connect(":memory:" if path is None else f"file:{quote(str(path.absolute()))}?mode=rwc")
    connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # what is forgotten is overwritten with zeros, not only unlinked
    connection.execute("PRAGMA secure_delete = ON")
    migrate(connection)
    return connection


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    return connection


def _no_space(path: Path | str) -> bool:
    try:
        room = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < 1_000_000
