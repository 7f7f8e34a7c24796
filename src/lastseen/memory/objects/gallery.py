"""What an object looks like: the running mean of its embeddings, and a few looks that differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.compiled import compiled, dot, float_to_half, half_to_float
from lastseen.memory.objects.grid import Rows
from lastseen.memory.objects.store import COUNTS, GAUGES, ObjectStore

Looks = NDArray[np.float32]
Halves = NDArray[np.uint16]
"""Looks in half precision, by their bits."""
_EMB_HITS, _GALLERY_N = COUNTS.first("emb_hits"), COUNTS.first("gallery_n")
_STABILITY, _GALLERY_NEAR = GAUGES.first("stability"), GAUGES.first("gallery_near")


def add_looks(store: ObjectStore, batch: Batch, rows: Rows, index: Rows, fresh: NDArray[np.bool_]) -> None:
    """Take one embedding per row into the mean; looks from a view not had before compete for the gallery.

    Stability is the length of the mean of unit embeddings: 1 when all agree, near 0 when they point anywhere.
    """
    assert batch.looks is not None
    galleries = store.gallery.view(np.uint16)
    _take(rows, index, fresh, batch.looks, store.emb_mean, galleries, store.counts, store.gauges)


@compiled
def _take(
    rows: Rows,
    index: Rows,
    fresh: NDArray[np.bool_],
    looks: Looks,
    means: Looks,
    galleries: Halves,
    counts: NDArray[np.int32],
    gauges: Looks,
) -> None:
    for at in range(len(rows)):
        look, mean, gallery = looks[index[at]], means[rows[at]], galleries[rows[at]]
        count, gauge = counts[rows[at]], gauges[rows[at]]
        count[_EMB_HITS] += 1
        share = np.float32(1.0) / np.float32(count[_EMB_HITS])
        for part in range(len(look)):
            mean[part] += (look[part] - mean[part]) * share
        length = np.sqrt(dot(mean, mean))
        gauge[_STABILITY] = length
        held = count[_GALLERY_N]
        if held < len(gallery):
            if fresh[at] or held == 0:
                _put(gallery[held], look)
                count[_GALLERY_N] = held + 1
                if held + 1 == len(gallery):
                    gauge[_GALLERY_NEAR] = _likeness(gallery).max()
        # a full gallery is asked only for looks further from the mean than its two nearest are from each other
        elif fresh[at] and dot(look, mean) < gauge[_GALLERY_NEAR] * length:
            _offer(gallery, gauge, look)


@compiled
def _offer(gallery: Halves, gauge: Looks, look: Looks) -> None:
    """Keep a look in a full gallery if it is further from the rest than the two nearest are apart."""
    among, size = _likeness(gallery), len(gallery)
    nearest = among.argmax()
    one, other = nearest // size, nearest % size
    for each in range(size):
        if dot(_floats(gallery[each]), look) >= among[one, other]:
            return
    # of the two nearest, the one that is also nearer to the others goes
    of_one = of_other = np.float32(-1.0)
    for each in range(size):
        if each not in (one, other):
            of_one, of_other = max(of_one, among[one, each]), max(of_other, among[other, each])
    _put(gallery[other if of_other > of_one else one], look)
    gauge[_GALLERY_NEAR] = _likeness(gallery).max()


@compiled
def _likeness(gallery: Halves) -> Looks:
    """Cosine of every two looks; -1 of a look with itself."""
    size = len(gallery)
    among = np.full((size, size), np.float32(-1.0))
    looks = np.empty(gallery.shape, dtype=np.float32)
    for one in range(size):
        looks[one] = _floats(gallery[one])
        for other in range(one):
            among[one, other] = among[other, one] = dot(looks[one], looks[other])
    return among


@compiled
def _put(kept: Halves, look: Looks) -> None:
    for part in range(len(look)):
        kept[part] = float_to_half(look[part])


@compiled
def _floats(kept: Halves) -> Looks:
    look = np.empty(len(kept), dtype=np.float32)
    for part in range(len(kept)):
        look[part] = half_to_float(kept[part])
    return look


def absorb_gallery(store: ObjectStore, keep: int, lose: int) -> None:
    """Put the looks of one object into the room that another's gallery has."""
    start, size = int(store.gallery_n[keep]), store.gallery.shape[1]
    extra = store.gallery[lose, : min(size - start, int(store.gallery_n[lose]))]
    store.gallery[keep, start : start + len(extra)] = extra
    store.gallery_n[keep] = start + len(extra)
    if len(extra) and start + len(extra) == size:
        store.gallery_near[keep] = _likeness(store.gallery[keep].view(np.uint16)).max()
