"""How alike two remembered objects are: in look, in name, and in lying at one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.store import LARGEST_HALF, ObjectStore, State


def looks_alike(store: ObjectStore, rows: Rows, other: Rows) -> Floats:
    """Cosine of the mean looks, pair by pair; NaN where one has none."""
    if store.dim is None:
        return np.full(len(rows), np.nan)
    length = store.stability[rows] * store.stability[other]
    known = (store.emb_hits[rows] > 0) & (store.emb_hits[other] > 0) & (length > 0.0)
    dot = np.einsum("ij,ij->i", store.emb_mean[rows], store.emb_mean[other]).astype(np.float64)
    return np.where(known, dot / np.where(known, length, 1.0), np.nan)


def name_agreement(store: ObjectStore, rows: Rows, other: Rows) -> Floats:
    """Cosine of the label scores, pair by pair; NaN where one has no name.

    Names gate no sighting and no merge, for detectors waver; they only ask a moved thing for a surer look.
    """
    ids, other_ids = store.label_ids[rows], store.label_ids[other]
    scores, other_scores = store.label_scores[rows], store.label_scores[other]
    shared = (ids[:, :, np.newaxis] == other_ids[:, np.newaxis]) & (ids > 0)[:, :, np.newaxis]
    dot = np.einsum("ns,nt,nst->n", scores, other_scores, shared)
    length = np.sqrt(np.einsum("ns,ns->n", scores, scores) * np.einsum("ns,ns->n", other_scores, other_scores))
    agreement: Floats = np.where(length > 0.0, dot / np.where(length > 0.0, length, 1.0), np.nan)
    return agreement


def named_alike(store: ObjectStore, rows: Rows, other: Rows) -> NDArray[np.bool_]:
    """Whether objects are called by the same names, pair by pair; true where one has no name."""
    alike: NDArray[np.bool_] = ~(name_agreement(store, rows, other) < store.settings.linking.same_name)
    return alike


def touches_its_like(store: ObjectStore, row: int) -> bool:
    """Whether an object's box meets that of another of the same name: it may be a piece of that one."""
    around = 0.5 * store.extent[row] + store.settings.linking.merge_tolerance
    wide = around + LARGEST_HALF
    others = store.grid.inside(store.xyz[row] - wide, store.xyz[row] + wide)
    others = others[(others != row) & (store.state[others] <= State.CONFIRMED)]
    apart = np.abs(store.xyz[others] - store.xyz[row]) - 0.5 * store.extent[others]
    others = others[(apart < around).all(axis=1)]
    return bool(named_alike(store, np.full(len(others), row), others).any())
