"""Opening a journal file safely: whose file is it, is it whole, and who else is writing it?

Everything is checked through a read-only connection first, so that a foreign or damaged file is never touched.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from lastseen.errors import (
    JournalDamaged,
    JournalError,
    JournalForeign,
    JournalLocked,
    JournalMissing,
    StorageFull,
)
from lastseen.memory.store.journal.private_copy import copy_with_wal, has_wal, state_of
from lastseen.memory.store.journal.schema import APPLICATION_ID, migrate, newest
from lastseen.memory.store.journal.writer_lock import FileConnection, holder_of

_PAGE_SIZE = 8192
BUSY_MS = 5000


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
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise JournalLocked(path, holder_of(Path(path)) or "unknown") from error
        raise
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged bytes in its message, which Python then cannot read
        raise JournalDamaged(path, str(error)) from error


def inspect(path: Path) -> int:
    """The schema version of a lastseen file; raises when it is missing, foreign, damaged or too new."""
    connection = connect_reader(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def connect_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection that sees what is committed, also while another process writes.

    Everything is read through SQLite: opening and closing the file beside it would drop the locks that another
    connection of this process holds.
    """
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise JournalMissing(path, f"{problem}; give a memory file, as `lastseen run SOURCE --memory FILE` makes one")
    if path.stat().st_size == 0:
        raise JournalForeign(path, "it is empty")
    holder = holder_of(path) if path.stat().st_nlink > 1 and not has_wal(path) else None
    if holder is not None:
        raise JournalError(path, f"process {holder} is writing it by another name (hard link); read it by that one")
    with clear_errors(path):
        connection = None
        try:
            connection = _read(path)
            _check(connection, path)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                raise JournalForeign(path, "it is not an SQLite file") from error
            raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    pages, page = (int(connection.execute(f"PRAGMA page_{what}").fetchone()[0]) for what in ("count", "size"))
    if mark != APPLICATION_ID:
        raise JournalForeign(path, "it is another program's SQLite file")
    if version > newest():
        raise JournalForeign(path, f"it is of version {version}, this program reads up to {newest()}")
    if not {"objects", "sessions", "events"} <= tables:
        raise JournalDamaged(path, "tables are missing")
    # SQLite itself misses only whole pages; what is not in the file yet is in the WAL
    if not has_wal(path) and path.stat().st_size < pages * page:
        raise JournalDamaged(path, f"it has {path.stat().st_size} bytes of {pages * page}: the end is missing")


def _read(path: Path) -> sqlite3.Connection:
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
    # a folder or medium that takes no helper files: the file can be read as it stands, but not the WAL beside it
    then = state_of(path)
    if has_wal(path):
        folder = tempfile.TemporaryDirectory(prefix="lastseen-")
        try:
            connection = _connect(copy_with_wal(path, Path(folder.name)), "mode=ro")
        except BaseException:
            folder.cleanup()
            raise
        connection.at_end = folder.cleanup
    else:
        connection = _connect(path, "mode=ro&immutable=1")
    connection.is_outdated = lambda: state_of(path) != then
    return connection


def connect_writer(path: Path | None) -> sqlite3.Connection:
    """A connection that makes or upgrades the file and commits durably; ``None`` keeps everything in RAM."""
    connection = (
        sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        if path is None
        else _connect(path, "mode=rwc")
    )
    connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # what is forgotten is overwritten with zeros, not only unlinked
    connection.execute("PRAGMA secure_delete = ON")
    migrate(connection)
    return connection


def _connect(path: Path, how: str) -> FileConnection:
    """A connection to a file that was found to work; ``how`` is the query of SQLite's address."""
    # links are followed first: the WAL lies beside the file itself
    file = Path(os.path.realpath(path))
    connection = sqlite3.connect(
        f"file:{quote(str(file))}?{how}",
        uri=True,
        factory=FileConnection,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        connection.use(file)
    except BaseException:
        connection.close()
        raise
    return connection


def _no_space(path: Path | str) -> bool:
    try:
        room = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < 1_000_000
