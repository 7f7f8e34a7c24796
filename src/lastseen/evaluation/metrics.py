"""What an episode is judged by, how sure a mean over episodes is, and how much the hints of the context tell.

A hint that stands in every call tells a planner nothing. Each planner call of an episode that has enough steps after
it is one row of its record: STUCK said, NO_PROGRESS said, a new place entered.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.evaluation.arms import Context
from lastseen.pose2d import Pose2D

BOOTSTRAP_DRAWS = 2000
"""Resamples behind an interval: its ends then move by less than a hundredth of its width from seed to seed."""
_STUCK_STEPS = 100
"""Steps: a fifth of the budget at the end without getting anywhere is a cause of failure."""
_STUCK_DISTANCE = 0.5
"""Metres: two forward steps: less is not getting anywhere."""
_REVISIT_CELL = 0.5
"""Metres: the robot with a step around it."""


def spl(*, success: bool, shortest: float, travelled: float) -> float:
    """Success weighted by path length (Anderson et al. 2018): shortest / max(shortest, travelled), 0 on failure.

    An episode that starts at its goal (shortest 0) counts 1 when it succeeds without moving.
    """
    _check_lengths(shortest, travelled)
    if not success:
        return 0.0
    longest = max(shortest, travelled)
    return shortest / longest if longest > 0 else 1.0


def soft_spl(*, start_distance: float, end_distance: float, travelled: float) -> float:
    """Progress towards the goal weighted by path length (Datta et al. 2020); success is not asked for."""
    _check_lengths(start_distance, travelled)
    progress = max(0.0, 1.0 - end_distance / start_distance) if start_distance > 0 else float(end_distance <= 0)
    longest = max(start_distance, travelled)
    return progress * (start_distance / longest if longest > 0 else 1.0)


def unique_ratio(visited: Sequence[object], window: int) -> float:
    """Mean over steps of the share of distinct entries among the last ``window`` ones; 1 for an empty log."""
    if not visited:
        return 1.0
    shares = []
    for end in range(1, len(visited) + 1):
        recent = visited[max(0, end - window) : end]
        shares.append(len(set(recent)) / len(recent))
    return sum(shares) / len(shares)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap 95 % interval."""

    mean: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """The form of summary.json, rounded so that equal runs print equal bytes."""
        return {"mean": round(self.mean, 6), "low": round(self.low, 6), "high": round(self.high, 6)}


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean of the values and the 2.5 and 97.5 percentiles of the mean of seeded resamples."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array) or not np.isfinite(array).all():
        raise InvalidValue("values", array, "must be finite and at least one", remedy="run an episode first")
    rows = np.random.default_rng(0).integers(0, len(array), size=(BOOTSTRAP_DRAWS, len(array)))
    low, high = np.percentile(array[rows].mean(axis=1), [2.5, 97.5])
    return Interval(float(array.mean()), float(low), float(high))


def paired_difference(a: Sequence[float], b: Sequence[float]) -> Interval:
    """The mean of a - b over the same episodes, with its bootstrap interval."""
    if len(a) != len(b):
        raise InvalidValue(
            "paired values", (len(a), len(b)), "differ in number", remedy="compare arms on the same episodes"
        )
    return bootstrap([x - y for x, y in zip(a, b, strict=True)])


def _check_lengths(shortest: float, travelled: float) -> None:
    for name, value in (("shortest", shortest), ("travelled", travelled)):
        if not (value >= 0.0 and np.isfinite(value)):
            raise InvalidValue(name, value, "must be a length", remedy="unreachable goals make no episode")


def path_length(path: Sequence[Pose2D]) -> float:
    """Metres along the poses."""
    return sum(a.distance_to(b) for a, b in itertools.pairwise(path))


def revisited_area(path: Sequence[Pose2D], *, cell: float = _REVISIT_CELL) -> float:
    """Square metres entered again: every entry of a cell after its first counts its area once more."""
    entered: set[tuple[int, int]] = set()
    last: tuple[int, int] | None = None
    again = 0
    for pose in path:
        here = (math.floor(pose.x / cell), math.floor(pose.y / cell))
        if here != last:
            again += here in entered
            entered.add(here)
            last = here
    return again * cell**2


def ended_stuck(path: Sequence[Pose2D]) -> bool:
    """Whether the last fifth of a budget of steps was spent without getting anywhere."""
    tail = path[-_STUCK_STEPS:]
    return len(tail) == _STUCK_STEPS and all(tail[0].distance_to(pose) < _STUCK_DISTANCE for pose in tail)


def drawn(path: Sequence[Pose2D]) -> list[list[float]]:
    """The path to the centimetre, without the turns on the spot."""
    points = [[round(pose.x, 2), round(pose.y, 2)] for pose in path]
    return [point for index, point in enumerate(points) if index == 0 or point != points[index - 1]]


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
