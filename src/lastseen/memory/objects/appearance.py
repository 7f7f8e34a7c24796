"""Appearance: the running mean of an object's embeddings, a gallery of those that differ most, and how alike two are.

Labels are compared here too: they never gate a match or a merge, because detectors waver between names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.compiled import compiled, dot, float_to_half, half_to_float
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.store import COUNTS, GAUGES, ObjectStore

SAME_APPEARANCE = 0.8
"""Cosine from which two embeddings are of one thing."""
MERGE_APPEARANCE = 0.7
"""Cosine from which two objects in one place are one: less than ``SAME_APPEARANCE``, for the place speaks too."""
SAME_LABELS = 0.3
"""Cosine of label scores below which objects are called otherwise."""
Embeddings = NDArray[np.float32]
Halves = NDArray[np.uint16]
"""Embeddings in half precision, by their bits."""
_EMB_HITS, _GALLERY_N = COUNTS.first("emb_hits"), COUNTS.first("gallery_n")
_STABILITY, _GALLERY_NEAR = GAUGES.first("stability"), GAUGES.first("gallery_near")


def add_embeddings(store: ObjectStore, batch: Batch, rows: Rows, index: Rows, fresh: NDArray[np.bool_]) -> None:
    """Take one embedding per row into the mean; those from a view bin not had before compete for the gallery.

    Stability is the length of the mean of unit embeddings: 1 when all agree, near 0 when they point anywhere.
    """
    assert batch.embeddings is not None
    galleries = store.gallery.view(np.uint16)
    _add(rows, index, fresh, batch.embeddings, store.emb_mean, galleries, store.counts, store.gauges)


@compiled
def _add(
    rows: Rows,
    index: Rows,
    fresh: NDArray[np.bool_],
    embeddings: Embeddings,
    means: Embeddings,
    galleries: Halves,
    counts: NDArray[np.int32],
    gauges: Embeddings,
) -> None:
    for at in range(len(rows)):
        embedding, mean, gallery = embeddings[index[at]], means[rows[at]], galleries[rows[at]]
        count, gauge = counts[rows[at]], gauges[rows[at]]
        count[_EMB_HITS] += 1
        share = np.float32(1.0) / np.float32(count[_EMB_HITS])
        for part in range(len(embedding)):
            mean[part] += (embedding[part] - mean[part]) * share
        length = np.sqrt(dot(mean, mean))
        gauge[_STABILITY] = length
        held = count[_GALLERY_N]
        if held < len(gallery):
            if fresh[at] or held == 0:
                _put(gallery[held], embedding)
                count[_GALLERY_N] = held + 1
                if held + 1 == len(gallery):
                    gauge[_GALLERY_NEAR] = _cosines(gallery).max()
        # a full gallery is asked only for embeddings further from the mean than its two nearest are from each other
        elif fresh[at] and dot(embedding, mean) < gauge[_GALLERY_NEAR] * length:
            _offer(gallery, gauge, embedding)


@compiled
def _offer(gallery: Halves, gauge: Embeddings, embedding: Embeddings) -> None:
    """Keep a embedding in a full gallery if it is further from the rest than the two nearest are apart."""
    among, size = _cosines(gallery), len(gallery)
    nearest = among.argmax()
    one, other = nearest // size, nearest % size
    for each in range(size):
        if dot(_floats(gallery[each]), embedding) >= among[one, other]:
            return
    # of the two nearest, the one that is also nearer to the others goes
    of_one = of_other = np.float32(-1.0)
    for each in range(size):
        if each not in (one, other):
            of_one, of_other = max(of_one, among[one, each]), max(of_other, among[other, each])
    _put(gallery[other if of_other > of_one else one], embedding)
    gauge[_GALLERY_NEAR] = _cosines(gallery).max()


@compiled
def _cosines(gallery: Halves) -> Embeddings:
    """Cosine of every two embeddings; -1 of a embedding with itself."""
    size = len(gallery)
    among = np.full((size, size), np.float32(-1.0))
    embeddings = np.empty(gallery.shape, dtype=np.float32)
    for one in range(size):
        embeddings[one] = _floats(gallery[one])
        for other in range(one):
            among[one, other] = among[other, one] = dot(embeddings[one], embeddings[other])
    return among


@compiled
def _put(kept: Halves, embedding: Embeddings) -> None:
    for part in range(len(embedding)):
        kept[part] = float_to_half(embedding[part])


@compiled
def _floats(kept: Halves) -> Embeddings:
    embedding = np.empty(len(kept), dtype=np.float32)
    for part in range(len(kept)):
        embedding[part] = half_to_float(kept[part])
    return embedding


def _merge_gallery(store: ObjectStore, keep: int, lose: int) -> None:
    """Put the embeddings of one object into the room that another's gallery has."""
    start, size = int(store.gallery_n[keep]), store.gallery.shape[1]
    extra = store.gallery[lose, : min(size - start, int(store.gallery_n[lose]))]
    store.gallery[keep, start : start + len(extra)] = extra
    store.gallery_n[keep] = start + len(extra)
    if len(extra) and start + len(extra) == size:
        store.gallery_near[keep] = _cosines(store.gallery[keep].view(np.uint16)).max()


def merge_appearance(store: ObjectStore, keep: int, lose: int) -> None:
    """Take the mean of one object's embeddings and its gallery into those of another."""
    kept, lost = int(store.emb_hits[keep]), int(store.emb_hits[lose])
    if not lost:
        return
    mean = (store.emb_mean[keep] * kept + store.emb_mean[lose] * lost) / np.float32(kept + lost)
    store.emb_mean[keep], store.emb_hits[keep] = mean, kept + lost
    store.stability[keep] = np.sqrt(mean @ mean)
    _merge_gallery(store, keep, lose)


def appearance_cosine(store: ObjectStore, rows: Rows, other: Rows) -> Floats:
    """Cosine of the mean embeddings, pair by pair; NaN where one has none."""
    if store.dim is None:
        return np.full(len(rows), np.nan)
    length = store.stability[rows] * store.stability[other]
    known = (store.emb_hits[rows] > 0) & (store.emb_hits[other] > 0) & (length > 0.0)
    dot = np.einsum("ij,ij->i", store.emb_mean[rows], store.emb_mean[other]).astype(np.float64)
    return np.where(known, dot / np.where(known, length, 1.0), np.nan)


def label_cosine(store: ObjectStore, rows: Rows, other: Rows) -> Floats:
    """Cosine of the label scores, pair by pair; NaN where one has no label."""
    ids, other_ids = store.label_ids[rows], store.label_ids[other]
    scores, other_scores = store.label_scores[rows], store.label_scores[other]
    shared = (ids[:, :, np.newaxis] == other_ids[:, np.newaxis]) & (ids > 0)[:, :, np.newaxis]
    dot = np.einsum("ns,nt,nst->n", scores, other_scores, shared)
    length = np.sqrt(np.einsum("ns,ns->n", scores, scores) * np.einsum("ns,ns->n", other_scores, other_scores))
    agreement: Floats = np.where(length > 0.0, dot / np.where(length > 0.0, length, 1.0), np.nan)
    return agreement


def same_labels(store: ObjectStore, rows: Rows, other: Rows) -> NDArray[np.bool_]:
    """Whether objects have the same labels, pair by pair; true where one has none."""
    alike: NDArray[np.bool_] = ~(label_cosine(store, rows, other) < SAME_LABELS)
    return alike
