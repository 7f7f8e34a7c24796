"""``--self-check``: holds the installed code to every rule of the search, in seconds and without a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lastseen.search import retrieval_invariants, search_invariants
from lastseen.search.invariant import INVARIANTS

__all__ = ["Checked", "print_self_check", "retrieval_invariants", "search_invariants", "self_check"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One rule and what became of it; ``problem`` is None when it holds."""

    name: str
    sentence: str
    problem: str | None


def self_check() -> list[Checked]:
    """Check every invariant; a check that breaks in any way has failed."""
    checked = []
    for each in INVARIANTS:
        problem = None
        try:
            each.check()
        except Exception as error:  # noqa: BLE001 - whatever a broken rule raises is the finding
            problem = f"{type(error).__name__}: {error}"
        checked.append(Checked(each.name, each.sentence, problem))
    return checked


def print_self_check(tell: Callable[[str], object] = print) -> int:
    """Print a table of all rules; returns the exit code, 1 when one is broken."""
    checked = self_check()
    width = max(len(each.name) for each in checked)
    for each in checked:
        tell(f"{'pass' if each.problem is None else 'FAIL'}  {each.name:{width}}  {each.sentence}")
        if each.problem is not None:
            tell(f"{'':6}{'':{width}}  {each.problem[:300]}")
    broken = sum(each.problem is not None for each in checked)
    tell(f"{len(checked) - broken} of {len(checked)} invariants hold")
    return 1 if broken else 0
