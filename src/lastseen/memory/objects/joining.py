"""Letting one object go on as another: whose place, look, names and history the one that stays has then."""

from __future__ import annotations

import numpy as np

from lastseen.memory.objects.gallery import absorb_gallery
from lastseen.memory.objects.rivals import join_rivals
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.objects.update import blend

JOINED_HITS = 3
"""Sightings from which a box counts as known when two objects become one."""


def absorb(store: ObjectStore, keep: int, lose: int, *, place_of_lost: bool) -> None:
    """Put what is known of one object into another and delete it; with its place, or with the boxes joined."""
    kept, lost = int(store.hits[keep]), int(store.hits[lose])
    share = lost / (kept + lost)
    if place_of_lost:
        store.rivals[keep], store.rival_hits[keep] = 0, 0
        for name in ("xyz", "extent", "precision", "spread", "points", "points_origin", "n_points"):
            store.column(name)[keep] = store.column(name)[lose]
        for name in ("ring_frame", "ring_camera", "ring_world", "ring_n", "bins", "n_bins"):
            store.column(name)[keep] = store.column(name)[lose]
    else:
        _join_boxes(store, keep, lose)
        store.bins[keep] |= store.bins[lose]
        store.n_bins[keep] = store.bins[keep].sum()
        if store.ring_n[lose] > store.ring_n[keep]:
            for name in ("ring_frame", "ring_camera", "ring_world", "ring_n"):
                store.column(name)[keep] = store.column(name)[lose]
    join_rivals(store, keep, lose)
    names = store.label_ids[keep], store.label_scores[keep]
    blend(*names, store.label_ids[lose], store.label_scores[lose], share)
    if store.dim is not None:
        _absorb_look(store, keep, lose)
    store.hits[keep] = kept + lost
    store.expected[keep] += store.expected[lose]
    store.detected[keep] += store.detected[lose]
    store.first_seen[keep] = min(store.first_seen[keep], store.first_seen[lose])
    store.last_seen[keep] = max(store.last_seen[keep], store.last_seen[lose])
    store.crop_quality[keep] = max(store.crop_quality[keep], store.crop_quality[lose])
    store.empty_views[keep], store.missed[keep], store.doubt[keep] = 0, 0, 0.0
    store.drop(lose)
    store.settle(np.array([keep]))


def _join_boxes(store: ObjectStore, keep: int, lose: int) -> None:
    """The box around both when each is known from several sightings; else the better known one.

    Pieces of a large thing add up, and a stray sighting does not blow a thing up.
    """
    if min(store.hits[keep], store.hits[lose]) >= JOINED_HITS:
        low = np.minimum(store.xyz[keep] - 0.5 * store.extent[keep], store.xyz[lose] - 0.5 * store.extent[lose])
        high = np.maximum(store.xyz[keep] + 0.5 * store.extent[keep], store.xyz[lose] + 0.5 * store.extent[lose])
        store.xyz[keep], store.extent[keep] = 0.5 * (low + high), high - low
    elif store.hits[lose] > store.hits[keep]:
        for name in ("xyz", "extent", "precision", "spread"):
            store.column(name)[keep] = store.column(name)[lose]


def _absorb_look(store: ObjectStore, keep: int, lose: int) -> None:
    kept, lost = int(store.emb_hits[keep]), int(store.emb_hits[lose])
    if not lost:
        return
    mean = (store.emb_mean[keep] * kept + store.emb_mean[lose] * lost) / np.float32(kept + lost)
    store.emb_mean[keep], store.emb_hits[keep] = mean, kept + lost
    store.stability[keep] = np.sqrt(mean @ mean)
    absorb_gallery(store, keep, lose)
