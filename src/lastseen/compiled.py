"""Functions compiled to machine code by numba: what runs over every pixel, observation and object in view.

They are written as plain loops over columns: numba's array functions take the compiler longer than all the loops.
numba is imported with the first call and not with the module, because queries need none of it.

Compiled code is kept in a private folder of the user's cache, one per state of the sources, so that only the first
frames on a machine wait for the compiler. Code and constants of several files go into one compiled function, and
numba itself compares one file only; so the folder is named after the content of all of them. Machine code is run as
it is found: the folder is used only where nobody else can have put anything into it.
"""

from __future__ import annotations

import fcntl
import functools
import gc
import hashlib
import logging
import os
import pickle
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

STATES_KEPT = 4
"""Folders of other states of the sources that stay although nothing used them lately: a user has one, a developer a
few."""
IN_USE = 24 * 3600.0
"""Seconds since its last use in which a folder stays: other checkouts and processes of this user may run from it."""
TOUCH_EVERY = 600.0
"""Seconds after which a use is noted again."""
LONGEST_COMPILE = 60.0
"""Seconds that a process waits for another to compile a function before it does so itself: a loaded machine is slow,
and a process may have been stopped."""
_LOOK_AGAIN = 0.01
"""Seconds between two looks at whether the other process is done."""
_COMPLETE = "complete"
"""File in the folder of kept code that says that nothing is left to compile."""
_PACKAGE = Path(__file__).parent
_log = logging.getLogger(__name__)


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=np.generic)
_UNREADABLE = (
    OSError,
    EOFError,
    pickle.UnpicklingError,
    AttributeError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
)
"""What numba raises for a file that it cannot write, or that a power cut left damaged: it unpickles what it finds."""


class Compiled(Generic[P, R]):
    """A function that is compiled when it is first called; ``py_func`` is the function as written.

    The folder of kept code is given up for the process when it cannot be used a second time.
    """

    _all: ClassVar[list[Compiled[Any, Any]]] = []
    _lock: ClassVar[threading.RLock] = threading.RLock()
    _attempts_left: ClassVar[int] = 2
    """Times that code is kept on disk: as found, and once more in an emptied folder."""

    def __init__(self, function: Callable[P, R], *, fastmath: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.fastmath = fastmath
        self.machine_code: Callable[P, R] | None = None
        self._inner: Callable[P, R] | None = None
        self._all.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code, after compiling it or reading it from disk where this has not been done."""
        try:
            if self.machine_code is not None:
                return self.machine_code(*args, **kwargs)
            with _alone(f"{self.py_func.__module__}.{self.py_func.__qualname__}"), _without_collector():
                return self.compile()(*args, **kwargs)
        except _UNREADABLE:
            # loading failed before anything ran: the compiled functions themselves raise nothing
            if not self._start_anew():
                raise
            return self(*args, **kwargs)

    def compile(self) -> Callable[P, R]:
        """The function as numba's dispatcher, which compiles or loads when it is called."""
        with self._lock:
            if self.machine_code is None:
                folder = code_folder() if Compiled._attempts_left else None
                self.machine_code = _dispatcher(self.py_func, folder, fastmath=self.fastmath)
            return self.machine_code

    def inner(self) -> Callable[P, R]:
        """The function for calls from other compiled functions: part of their code, without an entry from Python."""
        with self._lock:
            if self._inner is None:
                self._inner = _njit(self.py_func, fastmath=self.fastmath, no_cpython_wrapper=True)
            return self._inner

    @classmethod
    def _start_anew(cls) -> bool:
        """Empty the folder of kept code, or use none; false where none was used."""
        with cls._lock:
            if not cls._attempts_left:
                return False
            cls._attempts_left -= 1
            folder = code_folder()
            if folder is not None:
                for kept in Path(folder).iterdir():
                    shutil.rmtree(kept, ignore_errors=True)
            for function in cls._all:
                function.machine_code = None
            return True


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Wait until no other process compiles this function: its code is then read from disk and not made twice."""
    folder = code_folder() if Compiled._attempts_left else None
    if folder is None:
        yield
        return
    with Path(folder, f"{name}.lock").open("wb") as file:
        given_up = time.monotonic() + LONGEST_COMPILE
        while time.monotonic() < given_up:
            try:
                # let go when the file is closed, and when the process ends in whatever way
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_LOOK_AGAIN)
        yield


@contextmanager
def _without_collector() -> Iterator[None]:
    """Let the garbage collector rest: it takes an eighth of the compiler's time to find that all is still in use."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def is_complete() -> bool:
    """Whether all code is kept on disk, or none can be."""
    folder = code_folder()
    return folder is None or Path(folder, _COMPLETE).exists()


def note_complete() -> None:
    """Write down that all code is kept on disk, by whoever has just called every function."""
    folder = code_folder() if Compiled._attempts_left else None
    if folder is not None:
        Path(folder, _COMPLETE).touch(mode=0o600)


def _dispatcher(function: Callable[..., Any], folder: str | None, *, fastmath: bool) -> Callable[..., Any]:
    import numba

    if folder is not None:
        config: Any = numba.config
        before = config.CACHE_DIR
        # NUMBA_CACHE_DIR for this function alone: numba reads it where a function is decorated
        config.CACHE_DIR = folder
        try:
            cached: Any = _njit(function, fastmath=fastmath, cache=True)
            # where it cannot write, numba falls back to folders that were not checked
            if cached.stats.cache_path.startswith(folder):
                return cached
        except RuntimeError:
            # numba found no folder at all
            pass
        finally:
            config.CACHE_DIR = before
    return _njit(function, fastmath=fastmath)


def _njit(function: Callable[..., Any], *, fastmath: bool, **options: bool) -> Callable[..., Any]:
    import numba

    _let_numba_find_compiled()
    njit: Any = numba.njit
    # nobody calls them through C pointers: that entry alone takes a tenth of the compiler's time
    return njit(function, error_model="numpy", fastmath=fastmath, no_cfunc_wrapper=True, **options)


@functools.cache
def _let_numba_find_compiled() -> None:
    """Tell numba what a ``Compiled`` is that it meets as a global of another function."""
    import numba
    from numba.extending import typeof_impl

    typeof: Any = numba.typeof
    typeof_impl.register(Compiled)(lambda one, _: typeof(one.inner()))


def compiled(function: Callable[P, R]) -> Compiled[P, R]:
    """Compile a function of numbers and arrays; it may call other compiled functions."""
    return Compiled(function, fastmath=False)


def summing(function: Callable[P, R]) -> Compiled[P, R]:
    """The same for sums whose order does not matter: several terms are then added at once."""
    return Compiled(function, fastmath=True)


def one_layout(array: NDArray[S]) -> NDArray[S]:
    """The same values in rows one after the other and not writable: other forms would each be compiled for."""
    plain = np.ascontiguousarray(array).view()
    plain.flags.writeable = False
    return plain


@summing
def dot(one: NDArray[np.float32], other: NDArray[np.float32]) -> np.float32:
    """The scalar product of two embeddings."""
    total = np.float32(0.0)
    for at in range(len(one)):
        total += one[at] * other[at]
    return total


@compiled
def half_to_float(bits: np.uint16) -> np.float32:
    """The value of a half-precision number given by its bits; infinities and NaN are not kept in memory."""
    magnitude = np.int32((np.int32(bits) & np.int32(0x7FFF)) << np.int32(13)).view(np.float32)
    value = magnitude * np.float32(2.0**112)
    return -value if bits & 0x8000 else value


@compiled
def float_to_half(value: np.float32) -> np.uint16:
    """The bits of the nearest half-precision number, even ones on ties; what is too large becomes the largest."""
    bits = np.float32(abs(value)).view(np.int32)
    # the exponent's offset drops from 127 to 15; below it numbers lose digits until nothing is left
    if bits >= 0x477FF000:
        half = np.int32(0x7BFF)
    elif bits >= 0x38800000:
        half = np.int32((bits - 0x38000000 + 0xFFF + ((bits >> 13) & 1)) >> 13)
    else:
        half = np.int32(np.rint(np.float32(abs(value)) * np.float32(2.0**24)))
    return np.uint16(half | 0x8000 if value < 0.0 else half)


def _digest() -> str | None:
    """Names the state of all sources whose code or constants are compiled; None where they cannot be read."""
    digest = hashlib.sha256()
    folders = (_PACKAGE / "memory" / "objects", _PACKAGE / "perception", _PACKAGE / "config")
    try:
        for file in (
            *(file for folder in folders for file in sorted(folder.glob("*.py"))),
            *(_PACKAGE / name for name in ("compiled.py", "lift.py", "observation.py", "encoders/color_shape.py")),
        ):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()[:16]


# now and not at the first call: these are the sources that this process has read
_STATE = _digest()


def code_folder() -> str | None:
    """The folder to keep compiled code in, made if need be; None where code must be compiled in every process.

    It is ``lastseen/compiled/STATE`` in ``XDG_CACHE_HOME`` or ``~/.cache``. It must belong to this user and be
    writable by nobody else, and every folder above it must belong to this user or to root and be writable by nobody
    else, or have the sticky bit. Links above the cache are resolved first; below it none is followed.
    """
    if _STATE is None:
        return None
    try:
        home = Path(os.path.realpath(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()))
        folder = home / "lastseen" / "compiled" / _STATE
        new = not folder.exists()
        if new:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unsafe = next((each for each in (folder, *folder.parents) if not _is_private(each, own=each == folder)), None)
        if unsafe is not None:
            _log.warning("compiled code is not kept: %s is a link, or others can write there", unsafe)
            return None
        if new:
            _log.warning("compiling perception and object memory for this processor: some seconds, only this once")
            _remove_old_states(folder)
        elif time.time() - folder.stat().st_mtime > TOUCH_EVERY:
            os.utime(folder)
    except (OSError, RuntimeError):
        # nothing can be made there, or the user has no home
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def _is_private(folder: Path, *, own: bool) -> bool:
    """Whether nobody but this user and root can change what a folder holds; ``own``: nor root own it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ({os.getuid()} if own else {os.getuid(), 0}):
        return False
    by_others = bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return not by_others or (not own and bool(found.st_mode & stat.S_ISVTX))


def _remove_old_states(folder: Path) -> None:
    since = time.time() - IN_USE
    used = {other: other.lstat().st_mtime for other in folder.parent.iterdir() if other != folder}
    unused = sorted((other for other in used if used[other] < since), key=lambda other: used[other])
    for other in unused[:-STATES_KEPT]:
        shutil.rmtree(other, ignore_errors=True)
