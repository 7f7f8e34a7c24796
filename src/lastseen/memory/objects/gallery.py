"""What an object looks like: the running mean of its embeddings, and a few looks that differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.grid import Rows
from lastseen.memory.objects.store import ObjectStore


def add_looks(
    store: ObjectStore, batch: Batch, rows: Rows, index: NDArray[np.int64], fresh: NDArray[np.bool_]
) -> None:
    """Take one embedding per row into the mean; looks from a view not had before compete for the gallery.

    Stability is the length of the mean of unit embeddings: 1 when all agree, near 0 when they point anywhere.
    """
    assert batch.looks is not None
    looks = batch.looks[index]
    count = store.emb_hits[rows] + 1
    mean = store.emb_mean[rows]
    mean += (looks - mean) * (np.float32(1.0) / count[:, np.newaxis].astype(np.float32))
    store.emb_mean[rows] = mean
    store.emb_hits[rows] = count
    store.stability[rows] = np.sqrt(np.einsum("ij,ij->i", mean, mean))
    for place in np.flatnonzero(fresh | (store.gallery_n[rows] == 0)).tolist():
        _offer(store, int(rows[place]), looks[place])


def _offer(store: ObjectStore, row: int, look: NDArray[np.float32]) -> None:
    """Keep a look if the gallery has room, or if it is further from the rest than the two nearest are apart."""
    held = int(store.gallery_n[row])
    size = store.gallery.shape[1]
    if held < size:
        store.gallery[row, held] = look
        store.gallery_n[row] = held + 1
        return
    looks = store.gallery[row].astype(np.float32)
    among = looks @ looks.T
    np.fill_diagonal(among, -np.inf)
    one, other = divmod(int(among.argmax()), size)
    if float((looks @ look).max()) < float(among[one, other]):
        # of the two nearest, the one that is also nearer to the others goes
        rest = np.delete(among, [one, other], axis=1)
        if rest.shape[1] and rest[other].max() > rest[one].max():
            one = other
        store.gallery[row, one] = look
