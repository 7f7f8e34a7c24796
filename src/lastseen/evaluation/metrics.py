"""What an episode is judged by, and how sure a mean over episodes is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastseen.errors import InvalidValue

BOOTSTRAP_DRAWS = 2000
"""Resamples behind an interval: its ends then move by less than a hundredth of its width from seed to seed."""


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


def bootstrap(values: Sequence[float], *, seed: int = 0) -> Interval:
    """The mean of the values and the 2.5 and 97.5 percentiles of the mean of seeded resamples."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array) or not np.isfinite(array).all():
        raise InvalidValue("values", array, "must be finite and at least one", remedy="run an episode first")
    rows = np.random.default_rng(seed).integers(0, len(array), size=(BOOTSTRAP_DRAWS, len(array)))
    low, high = np.percentile(array[rows].mean(axis=1), [2.5, 97.5])
    return Interval(float(array.mean()), float(low), float(high))


def paired_difference(a: Sequence[float], b: Sequence[float], *, seed: int = 0) -> Interval:
    """The mean of a - b over the same episodes, with its bootstrap interval."""
    if len(a) != len(b):
        raise InvalidValue(
            "paired values", (len(a), len(b)), "differ in number", remedy="compare arms on the same episodes"
        )
    return bootstrap([x - y for x, y in zip(a, b, strict=True)], seed=seed)


def _check_lengths(shortest: float, travelled: float) -> None:
    for name, value in (("shortest", shortest), ("travelled", travelled)):
        if not (value >= 0.0 and np.isfinite(value)):
            raise InvalidValue(name, value, "must be a length", remedy="unreachable goals make no episode")
