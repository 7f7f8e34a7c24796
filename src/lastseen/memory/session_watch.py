"""A session under watch: a small memory sees the same frames, and is compared with what was known before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.memory.alignment import Landmarks, landmarks_of
from lastseen.memory.alignment.claim import Claim, LookedAt, check_claim
from lastseen.memory.alignment.landmarks import landmarks
from lastseen.memory.places.tracker import Step
from lastseen.memory.write_path import WritePath
from lastseen.observation import Observation

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory

WATCHED = 60.0
"""Seconds of looking for which a session can be taken back: what has not differed by then goes on unverified."""
CHECKED_EVERY, SEARCHED_EVERY = 0.5, 5.0
"""Seconds of looking between comparisons with the map, and between searches of it for another place."""
COMPARED_EVERY = 15.0
"""Seconds of looking between comparisons of the surfaces, which take as long as many of the things."""
CERTAIN = 4.0
"""Nats of evidence below which a robot does not set out by what it remembers: two things at their places are more."""
WORTH_CHECKING = 12
"""Things of a map from which it is worth a look around to check a pose; few of a small one are in view at a time."""
SEEN_TWICE = 2
"""Sightings from which a thing that is not confirmed yet is compared with the map."""
_LOOKED_AROUND = 0.6
"""Metres around a thing in which floor must have been seen for the map to have looked there."""


class Watch:
    """A session under watch.

    Args:
        home: The memory, as it was before the session.
        alone: An empty memory, for what the session alone sees.
        since: The stamp at which the session began.
    """

    def __init__(self, home: Memory, alone: Memory, *, since: float) -> None:
        self.alone, self.since = alone, since
        self._known = landmarks_of(home, home._writes.space)
        if self._known.surface is not None:
            # read now: what the session sees goes into the same surface until it is known to be elsewhere
            self._known.surface()
        self._looked_at = _looked_at(home._writes, self._known)
        self._checked = self._searched = self._compared = since
        self._evidence = 0.0

    @property
    def pose_uncertain(self) -> bool:
        """Whether nothing speaks yet for where the session says it is, though the map holds enough to."""
        return len(self._known) >= WORTH_CHECKING and self._evidence < CERTAIN

    def is_over(self, stamp: float) -> bool:
        """Whether the session was watched for long enough to go on unverified."""
        return stamp - self.since > WATCHED

    def see(self, frame: Frame, observations: Sequence[Observation], step: Step | None) -> Claim | None:
        """See a frame that the memory took; returns what became of the claim where it was checked at this frame."""
        self.alone.observe(frame, observations, step=step)
        if frame.stamp - self._checked < CHECKED_EVERY:
            return None
        self._checked = frame.stamp
        search = frame.stamp - self._searched >= SEARCHED_EVERY
        self._searched = frame.stamp if search else self._searched
        compare = search and frame.stamp - self._compared >= COMPARED_EVERY
        self._compared = frame.stamp if compare else self._compared
        return self._check(search=search, compare=compare)

    def last_check(self) -> Claim:
        """Check the claim of a session that ends before it was watched for long enough, with all there is."""
        return self._check(search=True, compare=True)

    def _check(self, *, search: bool, compare: bool) -> Claim:
        # from one spot nothing is seen from two sides, and so nothing is confirmed: twice seen is enough to compare
        seen = [one for one in self.alone.states(include_tentative=True) if one.confirmed or one.hits >= SEEN_TWICE]
        sure = np.array([one.confirmed for one in seen], dtype=np.bool_)
        session = landmarks(seen, self.alone._writes.space if compare else None)
        claim = check_claim(session, self._known, self._looked_at, sure=sure, search=search)
        self._evidence = claim.evidence
        return claim


def _looked_at(writes: WritePath, known: Landmarks) -> LookedAt:
    """Where the map was looked at until now: floor seen near a point, or a thing where no floor was seen at all."""
    storeys = [(storey.number, storey.floor.copy()) for storey in writes.space.storeys]
    floors, numbers = dict(storeys), writes.space.storeys.numbers
    if not any(floor.evidence.any() for floor in floors.values()):
        return lambda points: np.array(
            [bool((np.linalg.norm(known.positions - point, axis=1) <= 2 * _LOOKED_AROUND).any()) for point in points]
        )

    def looked_at(points: NDArray[np.float64]) -> NDArray[np.bool_]:
        on = numbers(points[:, 2]).tolist()
        return np.array(
            [
                number in floors and floors[number].knows_around(float(x), float(y), radius=_LOOKED_AROUND)
                for number, (x, y, _) in zip(on, points.tolist(), strict=True)
            ],
            dtype=np.bool_,
        )

    return looked_at
