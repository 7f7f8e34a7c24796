"""Relocation: when an object that arrived is an absent one, carried elsewhere.

Its appearance and labels are the same; it was seen here only after it was last seen there; and its new place was free
before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.appearance import (
    MERGE_APPEARANCE,
    SAME_APPEARANCE,
    appearance_cosine,
    label_cosine,
)
from lastseen.memory.objects.association import size_agreement
from lastseen.memory.objects.duplicates import UNMET_HITS
from lastseen.memory.objects.grid import Rows
from lastseen.memory.objects.store import RING, FreeSpace, ObjectStore

SURE_APPEARANCE = 0.95
"""Cosine that a moved thing needs which is called otherwise than before; glasses and bottles of one colour agree to
0.93."""
SURE_LABELS = 0.9
"""Cosine of label scores from which a moved thing is called just what it was before and needs ``MERGE_APPEARANCE``
only: it stands in other light and shows another side."""
SAME_SIZE = 0.6
"""Size agreement of a moved thing with itself: it may stand another way round."""


def relocated_from(store: ObjectStore, arrived: int, absent: Rows) -> tuple[int, float] | None:
    """The absent object that an arrived one is, with the cosine: the most alike, the nearest of equal ones."""
    arrivals = np.full(len(absent), arrived)
    return _best(store, arrived, absent, arrivals, _one_after_the_other(store, absent, arrivals))


def relocated_to(store: ObjectStore, absent: int, arrivals: Rows) -> tuple[int, float] | None:
    """The arrived object that an absent one is, with the cosine: the most alike, the nearest of equal ones."""
    possible = _one_after_the_other(store, np.full(len(arrivals), absent), arrivals)
    return _best(store, absent, arrivals, arrivals, possible)


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
    possible: NDArray[np.bool_] = after | (strayed & (store.ring_n[arrived] <= RING))
    return possible


def _best(
    store: ObjectStore, row: int, others: Rows, arrivals: Rows, possible: NDArray[np.bool_]
) -> tuple[int, float] | None:
    others, arrivals = others[possible], arrivals[possible]
    if not len(others):
        return None
    same = np.full(len(others), row)
    cosine = appearance_cosine(store, same, others)
    size = np.array([size_agreement(store.extent[row], store.extent[other]) for other in others.tolist()])
    # a label forbids nothing, for detectors waver: what is called otherwise has to look all the more alike
    name = label_cosine(store, same, others)
    needed = np.where(name >= SURE_LABELS, MERGE_APPEARANCE, SURE_APPEARANCE)
    needed[np.isnan(name)] = SAME_APPEARANCE
    # and so has what was perhaps only noticed late where it stands
    needed[store.newness[arrivals] < FreeSpace.FREE] = SURE_APPEARANCE
    fits = (cosine >= needed) & (size >= SAME_SIZE)
    others, cosine = others[fits], cosine[fits]
    if not len(others):
        return None
    distance = np.linalg.norm(store.xyz[others] - store.xyz[row], axis=1)
    best = int(np.lexsort((store.seq[others], distance, -np.round(cosine, 2)))[0])
    return int(others[best]), float(cosine[best])
