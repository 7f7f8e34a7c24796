"""Whether a session lies where its poses say that it does: the claim that a restart leaves the map where it was.

Three answers, each with its statistic. It agrees where things are met again at their places; it differs where the
session fits elsewhere far better, or where far too few of its things stand where the map has any; otherwise nothing
is decided, and the claim is believed as it was before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.alignment.aligner import MARGIN, NEAR, Alignment, align, apart, judge
from lastseen.memory.alignment.landmarks import Landmarks
from lastseen.memory.alignment.transform import FrameTransform

AGREES, LEAST_MET = 8.0, 3
"""Nats of evidence, and things met again at their places, from which a claim is believed: one transform is tried and
not all, so that chance reaches 8 nats once in some 3,000 sessions."""
FEW_MET = 0.001
"""Chance of so few things met, were half of them still there, below which the session is of another map."""
STILL_THERE = 0.5
"""Share of a session's things that stand near one of the map, whatever its name; detectors and homes change."""

LookedAt = Callable[[NDArray[np.float64]], NDArray[np.bool_]]
"""Whether the map was looked at around each of points (n, 3)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of a claim, and why; ``alignment`` is where the session fits instead, if it does somewhere.

    ``evidence`` is what speaks for the claim, in nats.
    """

    status: Literal["agrees", "differs", "undecided"]
    reason: str
    evidence: float = 0.0
    alignment: Alignment | None = None


def check_claim(
    session: Landmarks,
    known: Landmarks,
    looked_at: LookedAt,
    *,
    sure: NDArray[np.bool_] | None = None,
    search: bool = True,
) -> Claim:
    """Check that a session lies in the map as its poses say.

    Args:
        session: Things of the session, in the map's frame by its own claim.
        known: Things of the map from before the session.
        looked_at: Where the map was looked at before the session: elsewhere a thing is new to it.
        sure: Which of the session's things are confirmed, all unless given: only those may be missing from the map.
        search: Whether to look for a better place, which takes longer.
    """
    if not len(session) or not len(known):
        return Claim("undecided", "there is nothing to compare")
    here = judge(FrameTransform(), session, known)
    if here.score >= AGREES and len(here.pairs) >= LEAST_MET:
        reason = f"{len(here.pairs)} things are met again at their places, evidence {here.score:.0f}"
        return Claim("agrees", reason, here.score)
    if search:
        found = align(session, known)
        elsewhere = [each for each in found.candidates if apart(each.transform, FrameTransform())]
        if found.status != "not_aligned" and len(elsewhere) == len(found.candidates):
            ahead = found.candidates[0].score - here.score
            if ahead >= MARGIN:
                reason = f"{found.reason}; {ahead:.0f} nats better than where it says it is"
                return Claim("differs", reason, here.score, found)
        if found.status == "aligned" and not elsewhere:
            return Claim("agrees", found.reason, max(here.score, AGREES))
    within = looked_at(session.positions) & (True if sure is None else sure)
    gaps = np.linalg.norm(session.positions[within][:, None] - known.positions[None], axis=2)
    count, met = int(within.sum()), int((gaps <= NEAR).any(axis=1).sum()) if within.any() else 0
    chance = sum(math.comb(count, k) for k in range(met + 1)) * STILL_THERE**count
    if chance < FEW_MET:
        reason = f"{met} of {count} things stand where this map has any: chance {chance:.1e}, below {FEW_MET}"
        return Claim("differs", reason, here.score)
    reason = f"{met} of {count} things stand where this map has any, evidence {here.score:.0f}"
    return Claim("undecided", reason, here.score)
