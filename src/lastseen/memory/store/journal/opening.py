"""Opening a journal file safely: whose file is it, is it whole, and who else is writing it?

Everything is checked through a read-only connection first, so that a foreign or damaged file is never touched. In a
folder or on a medium that takes no helper files SQLite can read the file but not the WAL beside it, and what is only
in the WAL would seem never to have been: there both are read from a copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from lastseen.errors import (
    JournalDamaged,
    JournalError,
    JournalForeign,
    JournalIncomplete,
    JournalLocked,
    JournalMissing,
    JournalReadOnly,
    StorageFull,
    shorten,
)
from lastseen.memory.store.journal.schema import APPLICATION_ID, expected_schema, migrate, newest, schema_of
from lastseen.memory.store.journal.writer_lock import FileConnection, check_regular, holder_of, wal_of

_PAGE_SIZE = 8192
BUSY_MS = 5000
OPEN_MARK = "writer.open"
"""Stands in the file while a writer has it open: then its WAL belongs to it, and without that it is incomplete."""
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_COPY_TRIES = 20
_UNREADABLE = (
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError),
    *(zlib.error, struct.error),
)
"""What code that reads JSON, packed numbers or compressed bytes raises where they are something else."""
_TICK = 0.02
"""Seconds in which two writes may get the same time stamp: twice the slowest tick of Linux."""


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
        if code == sqlite3.SQLITE_READONLY:
            problem = "cannot be written: SQLite keeps a file beside it, and the folder cannot be written"
            raise JournalReadOnly(
                path, f"{problem}; open it for reading, or allow this user to write there"
            ) from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
            problem = f"cannot be read or written ({error})"
            raise JournalError(
                path, f"{problem}; check the disk and that this user may use file and folder"
            ) from error
        raise
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged bytes in its message, which Python then cannot read
        raise JournalDamaged(path, str(error)) from error


@contextmanager
def decoding(path: object, what: str) -> Iterator[None]:
    """Turn what bytes that are no memory do to the code that reads them into an error that says what they were."""
    try:
        yield
    except _UNREADABLE as error:
        raise JournalDamaged(path, f"{what} cannot be read: {error}") from error


def is_of_disk(error: sqlite3.OperationalError) -> bool:
    """Whether the disk failed or is full, rather than another process being in the way."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    return code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN)


def inspect(path: Path) -> int:
    """The schema version of a lastseen file; raises when it is missing, foreign, damaged or too new."""
    connection = connect_reader(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def is_unborn(path: Path) -> bool:
    """Whether a file holds nothing yet: empty, or of a run that died before it had made the tables."""
    if path.stat().st_size == 0:
        return True
    if path.stat().st_size > 2 * _PAGE_SIZE:
        return False
    if _began_empty(path):
        return True
    try:
        with closing(_read(path)) as connection:
            marks = [
                connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            ]
            return marks == [0, 0] and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    except sqlite3.DatabaseError:
        return False


def _began_empty(path: Path) -> bool:
    """Whether the journal of an unfinished transaction beside a file says that the file was empty before it.

    Only the transaction that makes a file has one, and SQLite takes it back; the first page may be torn until then.
    """
    try:
        with path.with_name(path.name + "-journal").open("rb") as journal:
            head = journal.read(20)
    except OSError:
        return False
    return head[:8] == _JOURNAL_MAGIC and head[16:20] == bytes(4)


def connect_reader(path: Path) -> FileConnection:
    """A read-only connection that sees what is committed, also while another process writes.

    Everything is read through SQLite: opening and closing the file beside it would drop the locks that another
    connection of this process holds.
    """
    if not check_regular(path):
        raise JournalMissing(
            path, "does not exist; give a memory file, as `lastseen run SOURCE --memory FILE` makes one"
        )
    if path.stat().st_size == 0:
        raise JournalForeign(path, "it is empty")
    holder = holder_of(path) if path.stat().st_nlink > 1 and not has_wal(path) else None
    if holder is not None:
        raise JournalError(path, f"process {holder} is writing it by another name (hard link); read it by that one")
    with clear_errors(path):
        connection = None
        try:
            _check_wal(path)
            connection = _read(path)
            _check(connection, path)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                raise JournalForeign(path, "it is not an SQLite file") from error
            raise
    return connection


@contextmanager
def connect_salvage(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to a file that need not be whole; what is there of it is read, its WAL too."""
    if not check_regular(path) or path.stat().st_size == 0:
        raise JournalMissing(path, "does not exist or is empty; give the file to salvage")
    with clear_errors(path), closing(_read(path) if wal_of(path).exists() else _connect_alone(path)) as connection:
        yield connection


def _connect_alone(path: Path) -> FileConnection:
    """A connection that reads the file and makes nothing beside it."""
    return _connect(path, "mode=ro&immutable=1")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    pages, page = (int(connection.execute(f"PRAGMA page_{what}").fetchone()[0]) for what in ("count", "size"))
    if mark == version == 0 and not schema_of(connection, limit=1):
        raise JournalForeign(path, "it is empty")
    if mark != APPLICATION_ID:
        raise JournalForeign(path, "it is another program's SQLite file")
    if version > newest():
        raise JournalForeign(path, f"it is of version {version}, this program reads up to {newest()}")
    if version < 1:
        raise JournalDamaged(path, f"it says it is of version {version}, and versions are 1 to {newest()}")
    _check_schema(connection, path, version)
    # SQLite itself misses only whole pages; what is not in the file yet is in the WAL
    if not has_wal(path) and path.stat().st_size < pages * page:
        raise JournalDamaged(path, f"it has {path.stat().st_size} bytes of {pages * page}: the end is missing")


def _check_schema(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Refuse a file whose tables, indexes, views or triggers are not exactly those of its version.

    A view may never end, a trigger may change what others read: nothing is asked of a file before this.
    """
    expected = expected_schema(version)
    found = set(schema_of(connection, limit=len(expected) + 1))
    if missing := sorted(entry[1] for entry in expected - found):
        raise JournalDamaged(path, f"its table {missing[0]} is missing or is not that of version {version}")
    if strange := sorted(f"{entry[0]} {shorten(entry[1])}" for entry in found - expected):
        raise JournalForeign(path, f"it holds the {strange[0]}, which lastseen did not make")


def _check_wal(path: Path) -> None:
    """Refuse a file that a writer had open and whose WAL is not beside it; reading it would make an empty one."""
    if wal_of(path).exists():
        return
    with closing(_connect_alone(path)) as alone:
        ours = alone.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        try:
            marked = ours and alone.execute("SELECT 1 FROM meta WHERE key = ?", (OPEN_MARK,)).fetchone() is not None
        except sqlite3.OperationalError:
            # its table is not what it should be: the check of the schema says so
            marked = False
    # a writer may have begun meanwhile
    if marked and not wal_of(path).exists():
        raise JournalIncomplete(path, wal_of(path).name)


def _read(path: Path) -> FileConnection:
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
    # a folder or medium that takes no helper files
    then = state_of(path)
    connection = _private_copy(path) if has_wal(path) else _connect_alone(path)
    connection.is_outdated = lambda: state_of(path) != then
    return connection


def connect_writer(path: Path | None) -> sqlite3.Connection:
    """A connection that makes or upgrades the file and commits durably; ``None`` keeps everything in RAM."""
    connection = (
        sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        if path is None
        else _connect(path, "mode=rwc")
    )
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
        mode = str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        if path is not None and mode != "wal":
            # SQLite does not call this an error
            problem = f"SQLite cannot keep {wal_of(path).name} beside it"
            raise JournalError(path, f"{problem}; check the disk and that this user may use file and folder")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # what is forgotten is overwritten with zeros, not only unlinked
        connection.execute("PRAGMA secure_delete = ON")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
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
    connection.process = os.getpid()
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        # a file from elsewhere may not call functions with side effects, and its cells are checked as they are read
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        connection.use(file)
    except BaseException:
        connection.close()
        raise
    return connection


def has_wal(path: Path) -> bool:
    """Whether something is kept in the WAL beside a file."""
    try:
        return wal_of(path).stat().st_size > 0
    except FileNotFoundError:
        return False


def _private_copy(path: Path) -> FileConnection:
    """A connection to a copy of a file and its WAL that nobody else sees and no dead process leaves behind."""
    try:
        with tempfile.TemporaryDirectory(prefix="lastseen-") as folder:
            copy = copy_with_wal(path, Path(folder))
            with closing(sqlite3.connect(copy)) as merged:
                merged.execute("PRAGMA journal_mode = DELETE")
            # the folder goes at once, its one file when the connection ends
            return _connect_alone(copy)
    except OSError as error:
        problem = f"what was written last is in {wal_of(path).name}, and a copy to read it from cannot be made"
        remedy = f"allow reading both, or set TMPDIR to a folder with room (now {tempfile.gettempdir()})"
        raise JournalError(path, f"{problem} ({error.strerror or error}); {remedy}") from error


def copy_with_wal(path: Path, folder: Path) -> Path:
    """Copy a file and its WAL, both of one time, into a folder; raises while somebody keeps writing them."""
    copy, wal = folder / "memory", wal_of(path)
    for _ in range(_COPY_TRIES):
        before = state_of(path)
        newest_change = max((each[2] for each in before if each is not None), default=0)
        if abs(time.time_ns() - newest_change) <= _TICK * 1e9:
            # a change in the same tick would not show
            time.sleep(_TICK)
            continue
        shutil.copyfile(path, copy)
        wal_of(copy).unlink(missing_ok=True)
        if before[1] is not None:
            shutil.copyfile(wal, wal_of(copy))
        if state_of(path) == before:
            return copy
    problem = "is being written, and its folder cannot be written by this user"
    raise JournalError(path, f"{problem}; allow that, or read it when the writer has ended")


def state_of(path: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """What changes when a file or its WAL is written: number, size and time of both."""
    found: list[tuple[int, int, int] | None] = []
    for each in (path, wal_of(path)):
        try:
            status = each.stat()
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return tuple(found)


def _no_space(path: Path | str) -> bool:
    try:
        room = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < 1_000_000
