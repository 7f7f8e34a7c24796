"""Functions compiled to machine code by numba: what runs over every observation and every object in view.

They are written as plain loops over columns. numba is imported with the first call and not with the module, because
queries need none of it. Compiled code is kept on disk (see ``code_folder``), so that only the first frame on a
machine waits for the compiler.
"""

from __future__ import annotations

import functools
import pickle
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.code_folder import code_folder

P = ParamSpec("P")
R = TypeVar("R")
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
        self._all.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code, after compiling it or reading it from disk where this has not been done."""
        try:
            return (self.machine_code or self.compile())(*args, **kwargs)
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


def _dispatcher(function: Callable[..., Any], folder: str | None, *, fastmath: bool) -> Callable[..., Any]:
    import numba

    _let_numba_find_compiled()
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": fastmath}
    made: Callable[..., Any]
    if folder is not None:
        config: Any = numba.config
        before = config.CACHE_DIR
        # NUMBA_CACHE_DIR for this function alone: numba reads it where a function is decorated
        config.CACHE_DIR = folder
        try:
            cached = numba.njit(function, cache=True, **options)
            made = cached
            # where it cannot write, numba falls back to folders that were not checked
            if cached.stats.cache_path.startswith(folder):
                return made
        except RuntimeError:
            # numba found no folder at all
            pass
        finally:
            config.CACHE_DIR = before
    made = numba.njit(function, **options)
    return made


@functools.cache
def _let_numba_find_compiled() -> None:
    """Tell numba what a ``Compiled`` is that it meets as a global of another function."""
    import numba
    from numba.extending import typeof_impl

    typeof: Any = numba.typeof
    typeof_impl.register(Compiled)(lambda one, _: typeof(one.compile()))


def compiled(function: Callable[P, R]) -> Compiled[P, R]:
    """Compile a function of numbers and arrays; it may call other compiled functions."""
    return Compiled(function, fastmath=False)


def summing(function: Callable[P, R]) -> Compiled[P, R]:
    """The same for sums whose order does not matter: several terms are then added at once."""
    return Compiled(function, fastmath=True)


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
