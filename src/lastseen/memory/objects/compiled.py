"""Functions compiled to machine code: what runs over every observation and every thing in view, many times a second.

They are written as plain loops over columns. The compiler is loaded with the first call, not with the module: most
commands only ask. Its work is kept on disk (see ``machine_code``), so that only the first frame of all waits for it.
"""

from __future__ import annotations

import functools
import threading
from collections import namedtuple
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Absence, Association
from lastseen.config.section import Section
from lastseen.memory.objects.machine_code import jit

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Section)
_ONE_AT_A_TIME = threading.RLock()


def _tuple_of(kind: type[Section]) -> Any:
    return namedtuple(f"{kind.__name__}Numbers", [field.name for field in fields(kind)])


# machine code on disk refers to them by these names
AbsenceNumbers, AssociationNumbers = _tuple_of(Absence), _tuple_of(Association)
_NUMBERS = {Absence: AbsenceNumbers, Association: AssociationNumbers}


def plain(section: S) -> S:
    """The numbers of a section under the same names, as compiled functions can take them."""
    kind = _NUMBERS[type(section)]
    return cast("S", kind(*(getattr(section, name) for name in kind._fields)))


class Compiled(Generic[P, R]):
    """A function that is compiled when it is first called; ``py_func`` is the function as written."""

    def __init__(self, function: Callable[P, R], *, fastmath: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.fastmath = fastmath
        self.machine_code: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code."""
        return (self.machine_code or self.compile())(*args, **kwargs)

    def compile(self) -> Callable[P, R]:
        """The compiled function, made or taken from disk now."""
        with _ONE_AT_A_TIME:
            if self.machine_code is None:
                self.machine_code = jit(self, self.py_func, fastmath=self.fastmath)
            return self.machine_code


def compiled(function: Callable[P, R]) -> Compiled[P, R]:
    """Compile a function of numbers and arrays; it may call other compiled functions."""
    return Compiled(function, fastmath=False)


def summing(function: Callable[P, R]) -> Compiled[P, R]:
    """The same for sums whose order does not matter: several terms are then added at once."""
    return Compiled(function, fastmath=True)


@summing
def dot(one: NDArray[np.float32], other: NDArray[np.float32]) -> np.float32:
    """The scalar product of two looks."""
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
