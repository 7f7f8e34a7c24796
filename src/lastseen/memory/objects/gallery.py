"""What an object looks like: the running mean of its embeddings, and a few looks that differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.grid import Rows
from lastseen.memory.objects.store import ObjectStore


def add_looks(store: ObjectStore, batch: Batch, rows: Rows, index: Rows, fresh: NDArray[np.bool_]) -> None:
    """Take one embedding per row into the mean; looks from a view not had before compete for the gallery.

    Stability is the length of the mean of unit embeddings: 1 when all agree, near 0 when they point anywhere.
    """
    assert batch.looks is not None
    looks = batch.looks.take(index, axis=0)
    count = store.emb_hits[rows] + 1
    mean = store.emb_mean.take(rows, axis=0)
    change = looks - mean
    change *= (np.float32(1.0) / count.astype(np.float32))[:, np.newaxis]
    mean += change
    store.emb_mean[rows] = mean
    store.emb_hits[rows] = count
    length = np.sqrt(np.einsum("ij,ij->i", mean, mean))
    store.stability[rows] = length
    held, size = store.gallery_n[rows], store.gallery.shape[1]
    offered = (fresh | (held == 0)).nonzero()[0]
    if not len(offered):
        return
    room = held[offered] < size
    _keep(store, rows[offered[room]], looks[offered[room]])
    if np.count_nonzero(room) < len(room):
        full = offered[~room]
        # a full gallery is asked only for looks further from the mean than its two nearest are from each other
        near = np.einsum("ij,ij->i", looks[full], mean[full]) >= store.gallery_near[rows[full]] * length[full]
        for place in full[~near].tolist():
            _offer(store, int(rows[place]), looks[place])


def absorb_gallery(store: ObjectStore, keep: int, lose: int) -> None:
    """Put the looks of one object into the room that another's gallery has."""
    start, size = int(store.gallery_n[keep]), store.gallery.shape[1]
    extra = store.gallery[lose, : min(size - start, int(store.gallery_n[lose]))]
    store.gallery[keep, start : start + len(extra)] = extra
    store.gallery_n[keep] = start + len(extra)
    if len(extra) and start + len(extra) == size:
        store.gallery_near[keep] = _likeness(store.gallery[keep].astype(np.float32)).max()


def _keep(store: ObjectStore, rows: Rows, looks: NDArray[np.float32]) -> None:
    """Take looks into galleries that have room."""
    held = store.gallery_n[rows]
    store.gallery[rows, held] = looks
    store.gallery_n[rows] = held + 1
    for row in rows[held + 1 == store.gallery.shape[1]].tolist():
        store.gallery_near[row] = _likeness(store.gallery[row].astype(np.float32)).max()


def _offer(store: ObjectStore, row: int, look: NDArray[np.float32]) -> None:
    """Keep a look in a full gallery if it is further from the rest than the two nearest are apart."""
    looks = store.gallery[row].astype(np.float32)
    size = len(looks)
    among = _likeness(looks)
    one, other = divmod(int(among.argmax()), size)
    if float((looks @ look).max()) < float(among[one, other]):
        # of the two nearest, the one that is also nearer to the others goes
        rest = np.delete(among, [one, other], axis=1)
        if rest.shape[1] and rest[other].max() > rest[one].max():
            one = other
        store.gallery[row, one] = look
        store.gallery_near[row] = _likeness(store.gallery[row].astype(np.float32)).max()


def _likeness(looks: NDArray[np.float32]) -> NDArray[np.float32]:
    among = looks @ looks.T
    among.flat[:: len(among) + 1] = -1.0
    return among
