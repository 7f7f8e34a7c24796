"""A disk that fails on purpose, under the very SQLite library that the journal uses.

SQLite reaches the disk through a VFS. Here its own one is copied, with the calls that change files replaced: each is
written down, and one of them can be made to fail. Out of what was written down ``PowerLoss`` makes the files that a
power loss may leave: what was synced is there, of the rest any part, with sectors torn.
"""

from __future__ import annotations

import _sqlite3
import ctypes as c
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SECTOR = 512
FULL, CANTOPEN = 13, 14
ERRORS = {
    "write": 778,
    "read": 266,
    "sync": 1034,
    "truncate": 1546,
    "delete": 2570,
    "open": CANTOPEN,
    "shm": 4874,
}
"""What SQLite's own VFS answers when the system answers EIO to such a call."""
_CREATE, _MAIN, _WAL, _JOURNAL = 0x4, 0x100, 0x80000, 0x800
_P = c.c_void_p
_XOPEN = c.CFUNCTYPE(c.c_int, _P, _P, _P, c.c_int, _P)
_XDELETE = c.CFUNCTYPE(c.c_int, _P, _P, c.c_int)
_XCLOSE = c.CFUNCTYPE(c.c_int, _P)
_XBLOCK = c.CFUNCTYPE(c.c_int, _P, _P, c.c_int, c.c_int64)
_XTRUNCATE = c.CFUNCTYPE(c.c_int, _P, c.c_int64)
_XSYNC = c.CFUNCTYPE(c.c_int, _P, c.c_int)
_XSHMMAP = c.CFUNCTYPE(c.c_int, _P, c.c_int, c.c_int, c.c_int, _P)


def _pointers(*names: str, others: range = range(0)) -> list[tuple[str, type[c.c_void_p]]]:
    return [(name, _P) for name in (*names, *(f"other{i}" for i in others))]


class _Vfs(c.Structure):
    _fields_ = (
        ("version", c.c_int),
        ("file_size", c.c_int),
        ("path_size", c.c_int),
        ("next", _P),
        ("name", c.c_char_p),
        *_pointers("data", "open", "delete", others=range(14)),
    )


class _Methods(c.Structure):
    _fields_ = (
        ("version", c.c_int),
        *_pointers("close", "read", "write", "truncate", "sync", others=range(7)),
        *_pointers("shm", others=range(7, 12)),
    )


@dataclass(frozen=True, slots=True)
class Call:
    """One call that changed a file, or ``ack``: something was acknowledged here."""

    what: str
    file: str
    at: int = 0
    data: bytes = b""
    kept: bool = False
    """Of a sync or a deletion: whether the folder was synced with it."""


@dataclass
class Fault:
    """Fail one call: the ``number``-th of those counted, and all after it where ``lasting``.

    ``how`` is eio, full (ENOSPC) or short (half of it is written, then ENOSPC).
    """

    number: int
    how: str = "eio"
    lasting: bool = False
    kinds: frozenset[str] = frozenset({"write", "sync", "truncate", "delete", "open", "shm"})
    failed: list[str] = field(default_factory=list)


class FaultyDisk:
    """What SQLite did to the files of this process while it was in use."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.counted = 0
        self.fault: Fault | None = None
        self._names: dict[int, str] = {}
        self._methods: dict[int, tuple[_Methods, _Methods]] = {}
        self._of_file: dict[int, _Methods] = {}
        self._made: set[int] = set()
        self._keep: list[Any] = []

    def inject(self, fault: Fault | None) -> None:
        """Count calls from here on, and fail as said."""
        self.fault, self.counted = fault, 0

    def acknowledge(self, number: int) -> None:
        """Note that everything up to a number is promised to be on disk."""
        self.calls.append(Call("ack", "", number))

    def _fails(self, what: str, name: str) -> int:
        """The error that a call is to answer with, or 0."""
        fault = self.fault
        if fault is None or what not in fault.kinds:
            return 0
        self.counted += 1
        if self.counted < fault.number or (self.counted > fault.number and not fault.lasting):
            return 0
        fault.failed.append(f"{what} {name}")
        return FULL if fault.how != "eio" and what == "write" else ERRORS[what]

    def _open(self, vfs: int, path: int | None, file: int, flags: int, out: int | None) -> int:
        name = "temporary" if path is None else Path(c.string_at(path).decode()).name
        if not flags & (_MAIN | _WAL | _JOURNAL):
            name = "temporary"
        if error := self._fails("open", name):
            # SQLite closes a file whose methods are set, also one that could not be opened
            c.cast(file, c.POINTER(_P))[0] = None
            return error
        answer = self._real_open(self._real, path, file, flags, out)
        slot = c.cast(file, c.POINTER(_P))
        if answer == 0 and slot[0]:
            original = int(slot[0])
            if original not in self._methods:
                self._methods[original] = self._wrap(c.cast(original, c.POINTER(_Methods)).contents)
            real, ours = self._methods[original]
            self._names[file], self._of_file[file] = name, real
            slot[0] = c.addressof(ours)
            if flags & _CREATE and flags & (_WAL | _JOURNAL):
                self._made.add(file)
        return int(answer)

    def _wrap(self, real: _Methods) -> tuple[_Methods, _Methods]:
        ours = _Methods.from_buffer_copy(real)
        for name, kind, call in (
            ("close", _XCLOSE, self._close),
            ("read", _XBLOCK, self._read),
            ("write", _XBLOCK, self._write),
            ("truncate", _XTRUNCATE, self._truncate),
            ("sync", _XSYNC, self._sync),
            ("shm", _XSHMMAP, self._shm),
        ):
            self._put(ours, name, kind(call))
        return real, ours

    def _put(self, structure: c.Structure, name: str, function: Any) -> None:
        self._keep.append(function)
        setattr(structure, name, c.cast(function, _P))

    def _call(self, kind: Any, name: str, file: int, *values: Any) -> int:
        return int(kind(getattr(self._of_file[file], name))(file, *values))

    def _close(self, file: int) -> int:
        answer = self._call(_XCLOSE, "close", file)
        del self._of_file[file], self._names[file]
        self._made.discard(file)
        return answer

    def _read(self, file: int, into: int, size: int, at: int) -> int:
        return self._fails("read", self._names[file]) or self._call(_XBLOCK, "read", file, into, size, at)

    def _write(self, file: int, source: int, size: int, at: int) -> int:
        name = self._names[file]
        error = self._fails("write", name)
        if error and self.fault is not None and self.fault.how == "short":
            size //= 2
        elif error:
            return error
        self.calls.append(Call("write", name, at, c.string_at(source, size)))
        return self._call(_XBLOCK, "write", file, source, size, at) or error

    def _truncate(self, file: int, size: int) -> int:
        if error := self._fails("truncate", self._names[file]):
            return error
        self.calls.append(Call("truncate", self._names[file], size))
        return self._call(_XTRUNCATE, "truncate", file, size)

    def _sync(self, file: int, flags: int) -> int:
        if error := self._fails("sync", self._names[file]):
            return error
        # SQLite syncs the folder with the first sync of a journal or WAL that it may have made
        self.calls.append(Call("sync", self._names[file], kept=file in self._made))
        self._made.discard(file)
        # nothing has to reach the real disk
        return 0

    def _shm(self, file: int, region: int, size: int, extend: int, out: int) -> int:
        return self._fails("shm", self._names[file]) or self._call(_XSHMMAP, "shm", file, region, size, extend, out)

    def _delete(self, vfs: int, path: int, sync: int) -> int:
        name = Path(c.string_at(path).decode()).name
        if error := self._fails("delete", name):
            return error
        self.calls.append(Call("delete", name, kept=bool(sync)))
        return int(self._real_delete(self._real, path, 0))

    @contextmanager
    def in_use(self) -> Iterator[FaultyDisk]:
        """Every file that SQLite opens in this process meanwhile goes through here."""
        library = c.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = _P
        library.sqlite3_vfs_register.argtypes = [_P, c.c_int]
        library.sqlite3_vfs_unregister.argtypes = [_P]
        self._real = library.sqlite3_vfs_find(None)
        real = c.cast(self._real, c.POINTER(_Vfs)).contents
        self._real_open: Callable[..., int] = _XOPEN(real.open)
        self._real_delete: Callable[..., int] = _XDELETE(real.delete)
        ours = _Vfs.from_buffer_copy(real)
        ours.name = b"faulty"
        self._put(ours, "open", _XOPEN(self._open))
        self._put(ours, "delete", _XDELETE(self._delete))
        library.sqlite3_vfs_register(c.addressof(ours), 1)
        try:
            yield self
        finally:
            library.sqlite3_vfs_unregister(c.addressof(ours))
            library.sqlite3_vfs_register(self._real, 1)
        assert not self._of_file, f"still open: {sorted(self._names.values())}"


class PowerLoss:
    """The files of a folder as a disk may hold them: ``durable`` for certain, ``pending`` perhaps."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.durable: dict[str, bytes | None] = dict(files)
        self.pending: dict[str, list[Call]] = {}

    def take(self, call: Call) -> None:
        """Go on by one call."""
        if call.file == "temporary" or call.what == "ack":
            return
        waiting = self.pending.setdefault(call.file, [])
        waiting.append(call)
        if call.what == "sync" or (call.what == "delete" and call.kept):
            self.durable[call.file] = _apply(self.durable.get(call.file), waiting)
            waiting.clear()
        if call.kept:
            for name, others in self.pending.items():
                deleted = max((at for at, other in enumerate(others) if other.what == "delete"), default=-1)
                if deleted >= 0:
                    self.durable[name] = None
                    del others[: deleted + 1]

    def files(self, rng: np.random.Generator) -> dict[str, bytes]:
        """What is left by a power loss now: some of what was not synced, with torn sectors."""
        left = dict(self.durable)
        for name, waiting in self.pending.items():
            some = [part for call in waiting for part in _torn(rng, call)]
            if some:
                left[name] = _apply(left.get(name), some)
        return {name: content for name, content in left.items() if content is not None}


def _torn(rng: np.random.Generator, call: Call) -> Iterator[Call]:
    """What arrived of one call: each sector of a write by itself, whole, not at all, or half of it."""
    if call.what != "write":
        if rng.random() < 0.5:
            yield call
        return
    end = call.at + len(call.data)
    share = rng.choice([0.0, 0.5, 0.9, 1.0])
    start = call.at
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        if rng.random() < share:
            some = call.data[start - call.at : stop - call.at]
            if rng.random() < 0.05:
                some = some[: len(some) // 2] + rng.bytes(len(some) - len(some) // 2)
            yield Call("write", call.file, start, some)
        start = stop


def _apply(content: bytes | None, calls: list[Call]) -> bytes | None:
    result = None if content is None else bytearray(content)
    for call in calls:
        if call.what == "delete":
            result = None
            continue
        result = bytearray() if result is None else result
        if call.what == "truncate":
            del result[call.at :]
            result.extend(bytes(call.at - len(result)))
        elif call.what == "write":
            result.extend(bytes(max(0, call.at + len(call.data) - len(result))))
            result[call.at : call.at + len(call.data)] = call.data
    return None if result is None else bytes(result)
