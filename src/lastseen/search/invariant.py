"""How a rule of the search is written down so that ``--self-check`` can hold the running code to it.

An invariant is a function whose docstring is the rule. It looks the code up where the code lives, when it runs, so
that a rule which was changed anywhere is caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


class BrokenInvariantError(Exception):
    """What a check says when the rule does not hold; it never leaves the self-check."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A rule by name, the sentence that states it, and the check."""

    name: str
    sentence: str
    check: Callable[[], None]


INVARIANTS: list[Invariant] = []


def invariant(check: Callable[[], None]) -> Callable[[], None]:
    """Register a check under its function's name; its docstring states the rule."""
    INVARIANTS.append(Invariant(check.__name__, (check.__doc__ or check.__name__).rstrip("."), check))
    return check


def expect(holds: bool, what: object = "") -> None:
    """Raise unless it holds; not an assert statement, which ``python -O`` would leave out."""
    if not holds:
        raise BrokenInvariantError(str(what))


def expect_equal(found: object, wanted: object) -> None:
    """Raise unless both are equal, and say both."""
    expect(found == wanted, f"{found!r} is not {wanted!r}")


def expect_all(cases: Iterable[tuple[object, object]]) -> None:
    """Raise at the first pair that differs."""
    for found, wanted in cases:
        expect_equal(found, wanted)
