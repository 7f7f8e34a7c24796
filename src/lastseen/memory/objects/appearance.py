"""Appearance: the running mean of an object's embeddings, a gallery of those that differ most, and how alike two are.

Labels are compared here too: they never gate a match or a merge, because detectors waver between names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, dot
from lastseen.memory.objects.columns import COUNTS, GAUGES, Floats, Rows
from lastseen.memory.objects.store import ObjectStore

SAME_APPEARANCE = 0.8
"""Cosine from which two embeddings are of one thing."""
MERGE_APPEARANCE = 0.7
"""Cosine from which two objects in one place are one: less than ``SAME_APPEARANCE``, for the place speaks too."""
SAME_LABELS = 0.3
"""Cosine of label scores below which objects are called otherwise."""
SURE_LABELS = 0.9
"""Cosine of label scores from which objects are called just the same; a thing that moved then needs
``SAME_APPEARANCE`` only: it stands in other light and shows another side."""
ESTABLISHED_SHARE = 0.7
"""Share of the label scores that the best label of an object needs to be its established name: five sightings in a
row with one name, or three of four overall."""
Embeddings = NDArray[np.float32]
_EMB_HITS, _EMB_NORM, _STABILITY = COUNTS.first("emb_hits"), GAUGES.first("emb_norm"), GAUGES.first("stability")


@compiled
def add_to_mean(embedding: Embeddings, mean: Embeddings, count: NDArray[np.int32], gauge: Embeddings) -> None:
    """Add an embedding to an object's mean, and see how well its embeddings agree."""
    count[_EMB_HITS] += 1
    share = np.float32(1.0) / np.float32(count[_EMB_HITS])
    for part in range(len(embedding)):
        mean[part] += (embedding[part] - mean[part]) * share
    gauge[_EMB_NORM] = np.sqrt(dot(mean, mean))
    if count[_EMB_HITS] > 1:
        gauge[_STABILITY] = mean_cosine(np.float64(gauge[_EMB_NORM]), np.float64(count[_EMB_HITS]))


@compiled
def mean_cosine(norm: float, count: float) -> float:
    """The mean cosine between different ones of ``count`` unit embeddings whose mean has length ``norm``, 0 to 1.

    It is one minus their variance, estimated without bias: the length of the mean alone cannot tell two unrelated
    embeddings from two that agree fairly well.
    """
    return min(max((count * norm * norm - 1.0) / (count - 1.0), 0.0), 1.0)


def offer_to_gallery(store: ObjectStore, row: int, embedding: Embeddings) -> None:
    """Put an embedding into a gallery that has room; into a full one if it is unlike those kept."""
    held, size = int(store.gallery_n[row]), store.gallery.shape[1]
    slot = held if held < size else replaced_by(store.gallery[row], embedding)
    if slot >= 0:
        store.gallery[row, slot] = embedding
        store.gallery_n[row] = max(held, slot + 1)


def replaced_by(gallery: NDArray[np.float16], embedding: Embeddings) -> int:
    """Which of a full gallery gives way to an embedding that is less like any of them than the two nearest are alike.

    Of those two, the one that is also nearer to the others; -1 for none.
    """
    kept = gallery.astype(np.float32)
    among = kept @ kept.T
    np.fill_diagonal(among, -2.0)
    one, other = sorted(divmod(int(among.argmax()), len(kept)))
    if (kept @ embedding).max() >= among[one, other]:
        return -1
    among[one, other] = among[other, one] = -2.0
    return other if among[other].max() > among[one].max() else one


def merge_appearance(store: ObjectStore, keep: int, lose: int) -> None:
    """Add the mean of one object's embeddings and its gallery to those of another."""
    kept, lost = int(store.emb_hits[keep]), int(store.emb_hits[lose])
    if not lost:
        return
    mean = (store.emb_mean[keep] * kept + store.emb_mean[lose] * lost) / np.float32(kept + lost)
    store.emb_mean[keep], store.emb_hits[keep] = mean, kept + lost
    store.emb_norm[keep] = np.sqrt(mean @ mean)
    if kept + lost > 1:
        store.stability[keep] = mean_cosine.py_func(float(store.emb_norm[keep]), float(kept + lost))
    start, size = int(store.gallery_n[keep]), store.gallery.shape[1]
    extra = store.gallery[lose, : min(size - start, int(store.gallery_n[lose]))]
    store.gallery[keep, start : start + len(extra)] = extra
    store.gallery_n[keep] = start + len(extra)


def appearance_cosine(store: ObjectStore, rows: Rows, other: Rows) -> Floats:
    """Cosine of the mean embeddings, pair by pair; NaN where one has none."""
    if store.dim is None:
        return np.full(len(rows), np.nan)
    length = store.emb_norm[rows] * store.emb_norm[other]
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
    return np.where(length > 0.0, dot / np.where(length > 0.0, length, 1.0), np.nan)


def same_labels(store: ObjectStore, rows: Rows, other: Rows) -> NDArray[np.bool_]:
    """Whether objects have the same labels, pair by pair; true where one has none."""
    return ~(label_cosine(store, rows, other) < SAME_LABELS)
