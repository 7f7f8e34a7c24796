"""From scores to an answer: found, ambiguous, or not found, and why.

The best of a bad lot is no answer. A score must pass the threshold of its kind of query; and when several things
fit equally well, and stand apart, the answer says so instead of picking one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lastseen.memory.answer import Answer, id_order
from lastseen.memory.object import Object


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a score must reach, what counts as equally good, and what counts as one place."""

    accept: float
    margin: float
    same_spot: float


def judge(hits: Sequence[Object], *, asked: str, rules: Thresholds, k: int, why_not: Callable[[], str]) -> Answer:
    """Judge scored hits; ``why_not`` is asked for the reason only when nothing fits."""
    ranked = sorted(hits, key=lambda hit: (-_score(hit), id_order(hit.id)))
    fitting = [hit for hit in ranked if _score(hit) >= rules.accept]
    if not fitting:
        return Answer("not_found", why_not())
    best = fitting[0]
    rivals = _apart([hit for hit in fitting if _score(hit) >= _score(best) - rules.margin], rules.same_spot)
    name = best.label or "something"
    if len(rivals) == 1:
        note = " (not seen lately)" if best.stale else ""
        return Answer("found", f"{name} fits {asked}{note}", tuple(fitting[:k]))
    kinds = " and ".join(dict.fromkeys(hit.label or "something" for hit in rivals))
    more = f", {k} of them listed" if len(rivals) > k else ""
    return Answer("ambiguous", f"{len(rivals)} things fit {asked} equally well ({kinds}){more}", tuple(fitting[:k]))


def _score(hit: Object) -> float:
    return 0.0 if hit.score is None else hit.score


def _apart(hits: Sequence[Object], same_spot: float) -> list[Object]:
    """Those that stand apart from all better ones; of one spot only the best counts."""
    spots = np.array([hit.position for hit in hits])
    near = np.linalg.norm(spots[:, None] - spots[None], axis=2) <= same_spot
    taken = np.zeros(len(hits), dtype=bool)
    apart = []
    for at, hit in enumerate(hits):
        if not taken[at]:
            taken |= near[at]
            apart.append(hit)
    return apart
