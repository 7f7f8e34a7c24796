"""The right to write a journal, held by one process at a time, by whatever name the file is reached.

The lock is on the file itself, not on a helper beside it: a link, another spelling of the path or a deleted helper
all lead to the same lock. It is a ``flock``, which SQLite's own locks know nothing of, and the system frees it when
the process dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet

from lastseen.errors import JournalChanged, JournalLocked, JournalMissing, JournalReadOnly, StorageFull

Inode = tuple[int, int]
"""Device and number of a file: the same for all of its names."""

_TRIES = 10
_SEVERAL_NAMES = (
    "has {count} names (hard links), and what was written last may lie beside another one; "
    "remove the others or make a copy, and open that"
)


class FileConnection(sqlite3.Connection):
    """A connection to a file on disk, known to whoever wants to close that file's number.

    A process that closes any number of a file loses all locks that SQLite holds on it, on whichever connection.
    ``at_end`` is called when the connection is closed. ``is_outdated`` tells of one that cannot see what others
    write whether they did.
    """

    at_end: Callable[[], None] | None = None
    is_outdated: Callable[[], bool] | None = None

    def use(self, path: Path) -> None:
        """Say which file this is a connection to."""
        with _GUARD:
            _CONNECTIONS.setdefault(inode_of(path), WeakSet()).add(self)

    def close(self) -> None:
        """Close the connection, and the numbers that waited for it."""
        super().close()
        with _GUARD:
            for others in _CONNECTIONS.values():
                others.discard(self)
        _close_waiting()
        if self.at_end is not None:
            self.at_end()
            self.at_end = None


_GUARD = threading.Lock()
_CONNECTIONS: dict[Inode, WeakSet[FileConnection]] = {}
_WAITING: dict[Inode, list[int]] = {}


class WriterLock:
    """The lock of one file, which is made when missing; raises where another process holds it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        self._shown = path
        self._file = -1
        for _ in range(_TRIES):
            self._file = _open(self.path, shown=path)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = holder_of(self.path)
                self.release()
                raise JournalLocked(path, holder or "unknown") from None
            if self._leads_here():
                break
            # another file took its place between opening and locking
            self.release()
        self.check()
        names = os.fstat(self._file).st_nlink
        if names > 1:
            self.release()
            raise JournalReadOnly(path, _SEVERAL_NAMES.format(count=names))

    def check(self) -> None:
        """Raise when the path no longer leads to the file that is locked: what is written would be lost with it."""
        if not self._leads_here():
            problem = "was deleted or replaced by another file while it was open; nothing more is written to it"
            raise JournalChanged(self._shown, f"{problem}, open it again")

    def release(self) -> None:
        """Let another process write; may be called twice."""
        if self._file >= 0:
            inode = self._inode()
            fcntl.flock(self._file, fcntl.LOCK_UN)
            with _GUARD:
                _WAITING.setdefault(inode, []).append(self._file)
            self._file = -1
            _close_waiting()

    def _leads_here(self) -> bool:
        try:
            return self._file >= 0 and inode_of(self.path) == self._inode()
        except FileNotFoundError:
            return False

    def _inode(self) -> Inode:
        status = os.fstat(self._file)
        return status.st_dev, status.st_ino


def inode_of(path: Path) -> Inode:
    """Device and number of the file that a path leads to."""
    status = path.stat()
    return status.st_dev, status.st_ino


def holder_of(path: Path) -> str | None:
    """The process that may write a file; None where none may, or where the system does not tell."""
    try:
        device, number = inode_of(path)
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    wanted = f"{os.major(device):02x}:{os.minor(device):02x}:{number}"
    found = (words for words in map(str.split, lines) if words[1] == "FLOCK" and words[-3] == wanted)
    return next((words[-4] for words in found), None)


def _open(path: Path, *, shown: Path) -> int:
    if path.is_dir():
        raise JournalMissing(shown, "is a folder; give a memory file")
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        raise JournalMissing(shown, "lies in a folder that does not exist; make the folder first") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageFull(shown) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            problem = f"cannot be written ({error.strerror}); open it for reading, or allow this user to write it"
            raise JournalReadOnly(shown, problem) from error
        raise


def _close_waiting() -> None:
    """Close the numbers of files that SQLite has no locks on in this process."""
    with _GUARD:
        for inode in [inode for inode, held in _CONNECTIONS.items() if not held]:
            del _CONNECTIONS[inode]
        for inode in [inode for inode in _WAITING if inode not in _CONNECTIONS]:
            for number in _WAITING.pop(inode):
                os.close(number)
