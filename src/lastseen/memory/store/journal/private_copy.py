"""Reading a file whose newest part lies in its WAL where SQLite cannot read that: from a copy of both.

SQLite needs a helper file beside the WAL. In a folder or on a medium that takes none, it can read the file alone, and
everything that is only in the WAL would seem never to have been.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from lastseen.errors import JournalError

_TRIES = 20
_TICK = 0.02
"""Seconds in which two writes may get the same time stamp: twice the slowest tick of Linux."""

State = tuple[tuple[int, int, int] | None, ...]


def wal_of(path: Path) -> Path:
    """Where SQLite keeps what is committed and not yet in the file."""
    file = Path(os.path.realpath(path))
    return file.with_name(file.name + "-wal")


def has_wal(path: Path) -> bool:
    """Whether something is kept in the WAL beside a file."""
    try:
        return wal_of(path).stat().st_size > 0
    except FileNotFoundError:
        return False


def copy_with_wal(path: Path, folder: Path) -> Path:
    """Copy a file and its WAL, both of one moment, into a folder; raises while somebody keeps writing them."""
    copy, wal = folder / "memory", wal_of(path)
    try:
        for _ in range(_TRIES):
            before = state_of(path)
            if _is_fresh(before):
                # a change in the same tick would not show
                time.sleep(_TICK)
                continue
            shutil.copyfile(path, copy)
            wal_of(copy).unlink(missing_ok=True)
            if before[1] is not None:
                shutil.copyfile(wal, wal_of(copy))
            if state_of(path) == before:
                return copy
    except OSError as error:
        problem = f"what was written last is in {wal.name}, and a copy to read it from cannot be made"
        remedy = f"allow reading both, or set TMPDIR to a folder with room (now {tempfile.gettempdir()})"
        raise JournalError(path, f"{problem} ({error.strerror or error}); {remedy}") from error
    problem = "is being written, and its folder cannot be written by this user"
    raise JournalError(path, f"{problem}; allow that, or read it when the writer has ended")


def state_of(path: Path) -> State:
    """What changes when a file or its WAL is written: number, size and time of both."""
    found: list[tuple[int, int, int] | None] = []
    for each in (path, wal_of(path)):
        try:
            status = each.stat()
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return tuple(found)


def _is_fresh(state: State) -> bool:
    """Whether one of the files was written within the last tick."""
    newest = max((each[2] for each in state if each is not None), default=0)
    return abs(time.time_ns() - newest) <= _TICK * 1e9
