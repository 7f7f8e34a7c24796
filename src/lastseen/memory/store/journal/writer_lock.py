"""The right to write a journal, held by one process at a time, by whatever name the file is reached.

The lock is on the file itself, not on a helper beside it: a link, another spelling of the path or a deleted helper
all lead to the same lock. It is a ``flock``, which SQLite's own locks know nothing of, and the system frees it when
the process dies. A forked child has neither the lock nor the connections of its parent.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet

from lastseen.errors import JournalChanged, JournalError, JournalLocked, JournalMissing, JournalReadOnly, StorageFull

Inode = tuple[int, int]
"""Device and number of a file: the same for all of its names."""

_TRIES = 10
_SEVERAL_NAMES = (
    "has {count} names (hard links), and what was written last may lie beside another one; "
    "remove the others or make a copy, and open that"
)


class FileConnection(sqlite3.Connection):
    """A connection to a file on disk, known to whoever wants to close that file's descriptor.

    A process that closes any descriptor of a file loses all locks that SQLite holds on it, on whichever connection.
    ``is_outdated`` tells of a connection that cannot see what others write whether they did.
    """

    is_outdated: Callable[[], bool] | None = None
    process: int

    def use(self, path: Path) -> None:
        """Say which file this is a connection to."""
        self.process = os.getpid()
        inode = inode_of(path)
        if inode in _INHERITED:
            problem = "was open when this process was forked, which SQLite does not allow"
            raise JournalError(path, f"{problem}; start the process anew instead (multiprocessing: 'spawn')")
        with _GUARD:
            _CONNECTIONS.setdefault(inode, WeakSet()).add(self)

    def check_process(self, path: object) -> None:
        """Raise in a process that was forked since the connection was made."""
        if self.process != os.getpid():
            problem = f"was opened by process {self.process} before this one was forked from it"
            raise JournalError(path, f"{problem}; open it in the process that uses it")

    def close(self) -> None:
        """Close the connection, and the descriptors that waited for it."""
        if self.process != os.getpid():
            return
        super().close()
        with _GUARD:
            for others in _CONNECTIONS.values():
                others.discard(self)
        _close_waiting()


_GUARD = threading.Lock()
_CONNECTIONS: dict[Inode, WeakSet[FileConnection]] = {}
_WAITING: dict[Inode, list[int]] = {}
_LOCKS: WeakSet[WriterLock] = WeakSet()
_INHERITED: dict[Inode, list[FileConnection]] = {}
"""Connections of the parent process: kept, as closing them here could delete what others still write."""


class WriterLock:
    """The lock of one file, which is made when missing; raises where another process holds it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        self._shown = path
        self._file = -1
        self._wal: Inode | None = None
        for _ in range(_TRIES):
            self._file = _open(self.path, shown=path)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = holder_of(self.path)
                self.release()
                raise JournalLocked(path, holder or "unknown") from None
            if self.leads_here():
                break
            # another file took its place between opening and locking
            self.release()
        self.check()
        _LOCKS.add(self)
        names = os.fstat(self._file).st_nlink
        if names > 1:
            self.release()
            raise JournalReadOnly(path, _SEVERAL_NAMES.format(count=names))

    def watch_wal(self) -> None:
        """Check from now on that the WAL of this moment stays where it is."""
        self._wal = inode_of(wal_of(self.path))

    def check(self) -> None:
        """Raise when the path no longer leads to the file that is locked: what is written would be lost with it."""
        if not self.leads_here():
            problem = "was deleted or replaced by another file while it was open; nothing more is written to it"
            raise JournalChanged(self._shown, f"{problem}, open it again")
        if self._wal is not None and not _is(wal_of(self.path), self._wal):
            problem = f"{wal_of(self.path).name} beside it was deleted or replaced while it was open"
            raise JournalChanged(self._shown, f"{problem}; everything acknowledged is in the file, open it again")

    def release(self) -> None:
        """Let another process write; may be called twice."""
        if self._file >= 0:
            inode = self._inode()
            fcntl.flock(self._file, fcntl.LOCK_UN)
            with _GUARD:
                _WAITING.setdefault(inode, []).append(self._file)
            self._file = -1
            _close_waiting()

    def abandon(self) -> None:
        """Drop the descriptor that a forked child inherited; the lock stays its parent's."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def leads_here(self) -> bool:
        """Whether the path still leads to the file that is locked."""
        return self._file >= 0 and _is(self.path, self._inode())

    def _inode(self) -> Inode:
        status = os.fstat(self._file)
        return status.st_dev, status.st_ino


def wal_of(path: Path) -> Path:
    """Where SQLite keeps what is committed and not yet in the file."""
    file = Path(os.path.realpath(path))
    return file.with_name(file.name + "-wal")


def inode_of(path: Path) -> Inode:
    """Device and number of the file that a path leads to."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _is(path: Path, inode: Inode) -> bool:
    try:
        return inode_of(path) == inode
    except OSError:
        return False


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


def check_regular(path: Path) -> bool:
    """Whether there is a file; raises for a folder, a device, a circle of links or one that is out of reach."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            problem = "cannot be reached (Permission denied); allow this user to enter its folder"
            raise JournalReadOnly(path, problem) from error
        raise JournalMissing(path, f"cannot be reached ({error.strerror}); give a memory file") from error
    if stat.S_ISDIR(mode):
        raise JournalMissing(path, "is a folder; give a memory file")
    if not stat.S_ISREG(mode):
        raise JournalMissing(path, "is a device or a pipe; give a memory file")
    return True


def _open(path: Path, *, shown: Path) -> int:
    check_regular(path)
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
    """Close the descriptors of files that SQLite has no locks on in this process."""
    with _GUARD:
        for inode in [inode for inode, held in _CONNECTIONS.items() if not held]:
            del _CONNECTIONS[inode]
        for inode in [inode for inode in _WAITING if inode not in _CONNECTIONS]:
            for number in _WAITING.pop(inode):
                os.close(number)


def _after_fork() -> None:
    global _GUARD  # noqa: PLW0603 - another thread of the parent may have held it
    _GUARD = threading.Lock()
    for lock in tuple(_LOCKS):
        lock.abandon()
    for numbers in _WAITING.values():
        for number in numbers:
            os.close(number)
    _WAITING.clear()
    for inode, connections in _CONNECTIONS.items():
        _INHERITED.setdefault(inode, []).extend(connections)
    _CONNECTIONS.clear()


os.register_at_fork(after_in_child=_after_fork)
