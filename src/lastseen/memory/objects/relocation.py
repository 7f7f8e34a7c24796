"""Relocation: which objects arrived, and when one that arrived is an absent one, carried elsewhere.

Its appearance and labels are the same; it was seen here only after it was last seen there; and its new place was free
before.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.absence import DOUBTED_SHARE, DOUBTED_VIEWS
from lastseen.memory.objects.appearance import (
    ESTABLISHED_SHARE,
    SAME_APPEARANCE,
    SAME_LABELS,
    SURE_LABELS,
    appearance_cosine,
    label_cosine,
)
from lastseen.memory.objects.association import size_agreement
from lastseen.memory.objects.columns import CONFIRMED, RING, FreeSpace, Rows, State
from lastseen.memory.objects.duplicates import UNMET_HITS
from lastseen.memory.objects.store import ObjectStore

ARRIVAL_HITS = 4
"""Observations from which an object may have arrived: detectors imagine things, at times twice in one place."""
NEWCOMER_HITS = 8
"""Observations from which an object is reported as having come: what is hard to detect is detected late."""
NEWCOMER_RATE = 0.5
"""Detection rate from which it is: what is found in every third view may have been there before."""
SURE_APPEARANCE = 0.95
"""Cosine that a moved thing needs which is called otherwise than before; glasses and bottles of one colour agree to
0.93."""
LIKE_APPEARANCE = 0.9
"""Cosine of a thing in doubt with one of its name that has come, from which it was carried there."""
SAME_SIZE = 0.6
"""Size agreement of a moved thing with itself: it may stand another way round."""


def arrivals(store: ObjectStore) -> Rows:
    """Confirmed objects in places where nothing was known to stand before.

    What was seen a few times only may be imagined: that is no ground for saying that something has come.
    """
    used = slice(store.used)
    new = (store.free_space[used] > 0) & (store.state[used] == State.CONFIRMED)
    return np.flatnonzero(new & (store.hits[used] >= ARRIVAL_HITS))


def just_arrived(store: ObjectStore, rows: Rows) -> list[int]:
    """The numbers of those of these objects that this sighting made arrivals."""
    return _arrivals(store, rows, once=True)


def arrivals_among(store: ObjectStore, rows: Rows) -> list[int]:
    """The numbers of those of these objects that are confirmed, known well enough, and have come."""
    return _arrivals(store, rows, once=False)


def _arrivals(store: ObjectStore, rows: Rows, *, once: bool) -> list[int]:
    rows = rows[store.free_space[rows] > 0]
    hits = store.hits[rows]
    reached = hits == ARRIVAL_HITS if once else hits >= ARRIVAL_HITS
    return store.seq[rows[reached & (store.state[rows] == CONFIRMED)]].tolist()


def newcomers(store: ObjectStore, since: float) -> Rows:
    """Arrivals in places that were seen to be free, first seen at or after a time, by number.

    Only what is found again and again would have been found before, had it been there.
    """
    rows = arrivals(store)
    rate = (store.detected[rows] + 1.0) / (store.expected[rows] + 2.0)
    rows = rows[(store.hits[rows] >= NEWCOMER_HITS) & (rate >= NEWCOMER_RATE)]
    rows = rows[(store.free_space[rows] == FreeSpace.FREE) & (store.first_seen[rows] >= since)]
    return rows[np.argsort(store.seq[rows])]


def relocated_from(store: ObjectStore, arrived: int) -> tuple[int, float] | None:
    """The absent object that an arrived one is, with the cosine: the most alike, the nearest of equal ones.

    Where there is none, one that is there for all that is known, but in doubt.
    """
    state = store.state[: store.used]
    doubt = -math.log(max(store.settings.absence.chance, 1e-9)) * DOUBTED_SHARE
    doubted = (store.doubt[: store.used] >= doubt) & (store.empty_views[: store.used] >= DOUBTED_VIEWS)
    for who, surely in ((state > CONFIRMED, True), ((state == CONFIRMED) & doubted, False)):
        absent = np.flatnonzero(who)
        arrivals = np.full(len(absent), arrived)
        possible = _one_after_the_other(store, absent, arrivals) & (absent != arrived)
        found = _best(store, arrived, absent, arrivals, possible, surely=surely)
        if found is not None:
            return found
    return None


def relocated_to(store: ObjectStore, absent: int, *, surely: bool) -> tuple[int, float] | None:
    """The arrived object that an absent one is, with the cosine: the most alike, the nearest of equal ones.

    ``surely`` is whether it is known to be gone; of one that is in doubt its like must have come.
    """
    found = arrivals(store)
    possible = _one_after_the_other(store, np.full(len(found), absent), found) & (found != absent)
    return _best(store, absent, found, found, possible, surely=surely)


def _one_after_the_other(store: ObjectStore, absent: Rows, arrived: Rows) -> NDArray[np.bool_]:
    """Whether things that went were last seen before those that came, but for one sighting that strayed."""
    after = store.last_seen[absent] < store.first_seen[arrived]
    held = np.arange(RING) < store.ring_n[absent][:, np.newaxis]
    # the first place of the ring holds the first sighting until the ring is full
    first = store.ring_frame[arrived, 0]
    late = held & (store.ring_frame[absent] >= first[:, np.newaxis])
    theirs = np.arange(RING) < store.ring_n[arrived][:, np.newaxis]
    together = (store.ring_frame[absent][:, :, np.newaxis] == store.ring_frame[arrived][:, np.newaxis]) & (
        late[:, :, np.newaxis] & theirs[:, np.newaxis]
    )
    # seen in one frame, they are two; a sighting between those of the other went to the wrong one
    strayed = (late.sum(axis=1) <= 1) & ~together.any(axis=(1, 2))
    strayed &= store.hits[absent] >= UNMET_HITS
    return after | (strayed & (store.ring_n[arrived] <= RING))


def _name_is_established(store: ObjectStore, rows: Rows) -> NDArray[np.bool_]:
    """Whether an object was given its name by hand, or was called so nearly every time."""
    scores = store.label_scores[rows]
    sure = scores.max(axis=1) >= ESTABLISHED_SHARE * scores.sum(axis=1)
    return store.pinned[rows] | (sure & (store.hits[rows] >= ARRIVAL_HITS))


def _best(
    store: ObjectStore, row: int, others: Rows, arrivals: Rows, possible: NDArray[np.bool_], *, surely: bool
) -> tuple[int, float] | None:
    others, arrivals = others[possible], arrivals[possible]
    if not len(others):
        return None
    same = np.full(len(others), row)
    cosine = appearance_cosine(store, same, others)
    size = size_agreement(store.extent[row], store.extent[others])
    # detectors waver: what is called otherwise has to look all the more alike
    name = label_cosine(store, same, others)
    needed = np.where(name < SURE_LABELS, SURE_APPEARANCE, SAME_APPEARANCE)
    # and so has what was perhaps only noticed late where it stands
    late = store.free_space[arrivals] < FreeSpace.FREE
    needed[late] = SURE_APPEARANCE
    # but late and called otherwise are too much; and a thing that is always called pot is not the one that was always
    # called headphones, however alike they look
    named = _name_is_established(store, others) & _name_is_established(store, same)
    needed[(name < SAME_LABELS) & (late | named)] = np.inf
    fits = (cosine >= needed) & (size >= SAME_SIZE)
    if not surely:
        fits &= (name >= SURE_LABELS) & (cosine >= LIKE_APPEARANCE)
    others, cosine = others[fits], cosine[fits]
    if not len(others):
        return None
    distance = np.linalg.norm(store.xyz[others] - store.xyz[row], axis=1)
    best = int(np.lexsort((store.seq[others], distance, -np.round(cosine, 2)))[0])
    return int(others[best]), float(cosine[best])
