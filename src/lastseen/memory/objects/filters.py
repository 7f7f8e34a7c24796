"""What never reaches memory: people, the robot's own body, and the same thing detected twice in one frame."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Linking
from lastseen.frame import Frame
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.boxes import overlap


def without_labels(batch: Batch, ignored: Set[int]) -> Batch:
    """Leave out observations whose likeliest label is one of the ignored."""
    if not len(batch) or not batch.label_ids.shape[1]:
        return batch
    return _only(batch, [index for index, best in enumerate(batch.label_ids[:, 0].tolist()) if best not in ignored])


def without_body(batch: Batch, frame: Frame, mask: NDArray[np.bool_] | None) -> Batch:
    """Leave out observations whose middle falls on the robot's own body in the depth image."""
    if mask is None or not len(batch):
        return batch
    camera = frame.camera_of_depth
    pixels = camera.project(batch.camera_xyz)
    inside = camera.contains(pixels)
    column, row = np.rint(np.where(inside[:, np.newaxis], pixels, 0.0)).astype(np.int64).T
    return _only(batch, np.flatnonzero(~(inside & mask[row, column])).tolist())


def without_doubles(batch: Batch, rules: Linking) -> Batch:
    """Of two boxes that nearly coincide and look alike, keep the better seen."""
    if len(batch) < 2:
        return batch
    first, second = np.triu_indices(len(batch), k=1)
    share = overlap(batch.xyz[first], batch.extent[first], batch.xyz[second], batch.extent[second])
    close = np.flatnonzero(share > rules.double_overlap)
    if not len(close):
        return batch
    dropped: set[int] = set()
    by_share = close[np.lexsort((close, -share[close]))]
    for one, other in zip(first[by_share].tolist(), second[by_share].tolist(), strict=True):
        if one in dropped or other in dropped or not _look_alike(batch, one, other, rules.same_look):
            continue
        better = batch.observations[other].quality > batch.observations[one].quality
        dropped.add(one if better else other)
    return _only(batch, [index for index in range(len(batch)) if index not in dropped])


def _only(batch: Batch, kept: list[int]) -> Batch:
    return batch if len(kept) == len(batch) else batch.subset(np.array(kept, dtype=np.int64))


def _look_alike(batch: Batch, one: int, other: int, same_look: float) -> bool:
    if batch.looks is None or not (batch.has_look[one] and batch.has_look[other]):
        return True
    return float(batch.looks[one] @ batch.looks[other]) >= same_look
