"""How much the hints in the navigation context tell: does no new place follow more often where NO_PROGRESS is said?

A hint that stands in every call tells a planner nothing. Each planner call of an episode that has enough steps after
it is one row of its record: STUCK said, NO_PROGRESS said, a new place entered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lastseen.evaluation.arms import Context
from lastseen.evaluation.metrics import BOOTSTRAP_DRAWS

Record = dict[str, Any]
NEXT_STEPS = 20
"""Steps after a planner call within which a hint should tell whether anything new is reached: one place update."""


def hints_of(contexts: Sequence[Context], steps: Sequence[Record]) -> list[list[bool]]:
    """For each planner call with so many steps after it: STUCK, NO_PROGRESS, and whether a new place was entered.

    ``contexts`` are those of the calls, ``steps`` the step records of the log. A place is new that the search had not
    been in before the call.
    """
    place_at = {step["step_id"]: step["current_place_id"] for step in steps}
    first: dict[int | None, int] = {}
    for step_id in sorted(place_at):
        first.setdefault(place_at[step_id], step_id)
    hints = []
    for context in contexts:
        asked = context["localization"]["step"]
        if context["progress"] is None or asked + NEXT_STEPS not in place_at:
            continue
        entered = any(asked < step_id <= asked + NEXT_STEPS for step_id in first.values())
        stuck = "STUCK" in (context["avoid_hint"] or "")
        hints.append([stuck, context["progress"]["no_progress"], entered])
    return hints


def hint_figures(records: Iterable[Record]) -> dict[str, Any]:
    """Shares over the planner calls of these records: with each hint, and without a new place in the steps after.

    ``difference`` is the share without a new place with NO_PROGRESS minus that without it, and its bootstrap 95 %
    interval over episodes, because the calls of one episode are alike; None where one of the two never happened.
    """
    episodes = [record.get("hints", []) for record in records]
    calls = [hint for episode in episodes for hint in episode]
    with_it, without = ([not new for _, slow, new in calls if slow is wanted] for wanted in (True, False))
    return {
        "calls": len(calls),
        "calls_with_no_progress": len(with_it),
        "stuck": _share([stuck for stuck, _, _ in calls]),
        "no_progress": _share([slow for _, slow, _ in calls]),
        "no_new_place_with_no_progress": _share(with_it),
        "no_new_place_without": _share(without),
        "difference": _difference(episodes) if with_it and without else None,
    }


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None


def _difference(episodes: Sequence[Sequence[Sequence[bool]]]) -> dict[str, float] | None:
    counts = np.array([_counts(episode) for episode in episodes], dtype=np.float64)
    rows = np.random.default_rng(0).integers(0, len(counts), size=(BOOTSTRAP_DRAWS, len(counts)))
    drawn = counts[rows].sum(axis=1)
    # a draw without a single call of one kind has no share to compare
    drawn = drawn[(drawn[:, 1] > 0) & (drawn[:, 3] > 0)]
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1] - drawn[:, 2] / drawn[:, 3], [2.5, 97.5])
    vain, said, vain_else, unsaid = counts.sum(axis=0)
    mean = vain / said - vain_else / unsaid
    return {"mean": round(mean, 6), "low": round(float(low), 6), "high": round(float(high), 6)}


def _counts(hints: Sequence[Sequence[bool]]) -> list[int]:
    """Calls with NO_PROGRESS that led nowhere new, all of them, and the same for the calls without."""
    said, unsaid = ([not new for _, slow, new in hints if slow is wanted] for wanted in (True, False))
    return [sum(said), len(said), sum(unsaid), len(unsaid)]
