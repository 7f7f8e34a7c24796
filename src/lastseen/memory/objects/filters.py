"""What never reaches memory: ignored labels, the robot's own body, and the same thing detected twice in one frame."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.memory.objects.appearance import SAME_APPEARANCE
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.compiled import compiled
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.relations import overlap

DUPLICATE_OVERLAP = 0.5
"""Part of their union that boxes share from which they are one thing: detected twice in a frame, or remembered twice
without embeddings."""


def without_labels(batch: Batch, ignored: AbstractSet[int]) -> Batch:
    """Leave out observations whose likeliest label is one of the ignored."""
    if not len(batch) or not batch.label_ids.shape[1]:
        return batch
    best = batch.label_ids[:, 0].tolist()
    if ignored.isdisjoint(best):
        return batch
    return _only(batch, [index for index, label in enumerate(best) if label not in ignored])


def without_body(batch: Batch, frame: Frame, mask: NDArray[np.bool_] | None) -> Batch:
    """Leave out observations whose middle falls on the robot's own body in the depth image."""
    if mask is None or not len(batch):
        return batch
    camera = frame.camera_of_depth
    pixels = camera.project(batch.places[:, :3])
    inside = camera.contains(pixels)
    column, row = np.rint(np.where(inside[:, np.newaxis], pixels, 0.0)).astype(np.int64).T
    return _only(batch, np.flatnonzero(~(inside & mask[row, column])).tolist())


def without_duplicates(batch: Batch) -> Batch:
    """Of two boxes that nearly coincide and look alike, keep the better seen."""
    if not _may_coincide(batch.xyz, batch.extent):
        return batch
    first, second = _all_pairs(len(batch))
    share = overlap(batch.xyz[first], batch.extent[first], batch.xyz[second], batch.extent[second])
    dropped: set[int] = set()
    for at in np.lexsort((second, first, -share)).tolist():
        one, other = int(first[at]), int(second[at])
        if share[at] <= DUPLICATE_OVERLAP:
            break
        if one in dropped or other in dropped or not _look_alike(batch, one, other):
            continue
        better = batch.observations[other].quality > batch.observations[one].quality
        dropped.add(one if better else other)
    return _only(batch, [index for index in range(len(batch)) if index not in dropped])


@lru_cache(maxsize=32)
def _all_pairs(count: int) -> tuple[Rows, Rows]:
    """Every pair of so many observations as two arrays of numbers, the smaller first."""
    first, second = np.triu_indices(count, k=1)
    return first, second


@compiled
def _may_coincide(xyz: Floats, extent: Floats) -> bool:
    """Whether two boxes may share so much of their union: they are then offset by little on every axis."""
    for one in range(len(xyz)):
        for other in range(one):
            axis = 0
            while axis < 3 and abs(xyz[one, axis] - xyz[other, axis]) <= 0.5 * (1.0 - DUPLICATE_OVERLAP) * (
                extent[one, axis] + extent[other, axis]
            ):
                axis += 1
            if axis == 3:
                return True
    return False


def _only(batch: Batch, kept: list[int]) -> Batch:
    return batch if len(kept) == len(batch) else batch.subset(np.array(kept, dtype=np.int64))


def _look_alike(batch: Batch, one: int, other: int) -> bool:
    if batch.embeddings is None or not (batch.has_embedding[one] and batch.has_embedding[other]):
        return True
    return float(batch.embeddings[one] @ batch.embeddings[other]) >= SAME_APPEARANCE
