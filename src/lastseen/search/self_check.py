"""``--self-check``: holds the installed code to every rule of the search, in seconds and without a network.

An invariant is a function whose docstring is the rule. It looks the code up where the code lives, when it runs, so
that a rule which was changed anywhere is caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


class BrokenInvariantError(Exception):
    """What a check says when the rule does not hold; it never leaves the self-check."""


INVARIANTS: list[Callable[[], None]] = []


def invariant(check: Callable[[], None]) -> Callable[[], None]:
    """Register a check, by its name; its docstring states the rule."""
    INVARIANTS.append(check)
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


@dataclass(frozen=True, slots=True)
class Checked:
    """One rule and what became of it; ``problem`` is None when it holds."""

    name: str
    sentence: str
    problem: str | None


def self_check() -> list[Checked]:
    """Check every invariant; a check that breaks in any way has failed."""
    # importing them registers their rules; at the top it would be a circle
    from lastseen.search import invariants  # noqa: F401

    checked = []
    for each in INVARIANTS:
        problem = None
        try:
            each()
        except Exception as error:  # noqa: BLE001 - whatever a broken rule raises is the finding
            problem = f"{type(error).__name__}: {error}"
        checked.append(Checked(each.__name__, (each.__doc__ or "").rstrip("."), problem))
    return checked


def print_self_check(write: Callable[[str], object] = print) -> int:
    """Print a table of all rules; returns the exit code, 1 when one is broken."""
    checked = self_check()
    width = max(len(each.name) for each in checked)
    for each in checked:
        write(f"{'pass' if each.problem is None else 'FAIL'}  {each.name:{width}}  {each.sentence}")
        if each.problem is not None:
            write(f"{'':6}{'':{width}}  {each.problem[:300]}")
    broken = sum(each.problem is not None for each in checked)
    write(f"{len(checked) - broken} of {len(checked)} invariants hold")
    return 1 if broken else 0
