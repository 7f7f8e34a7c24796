"""What never reaches memory: people, the robot's own body, and the same thing detected twice in one frame."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Linking
from lastseen.frame import Frame
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.boxes import all_pairs, overlap


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


def close_pairs(batch: Batch, rules: Linking) -> tuple[list[tuple[int, int]], bool]:
    """Pairs of observations whose boxes are less than the rival gap apart, and whether some may be doubles."""
    count = len(batch)
    if count < 2:
        return [], False
    first, second = all_pairs(count)
    # along one axis first: most of a frame's pairs end there
    x, wide = batch.xyz[:, 0], batch.extent[:, 0]
    beside = np.abs(x[first] - x[second]) < 0.5 * (wide[first] + wide[second]) + rules.rival_gap
    first, second = first[beside], second[beside]
    apart = np.abs(batch.xyz.take(first, axis=0) - batch.xyz.take(second, axis=0))
    size = batch.extent.take(first, axis=0) + batch.extent.take(second, axis=0)
    touching = apart < 0.5 * size + rules.rival_gap
    close = (touching[:, 1] & touching[:, 2]).nonzero()[0]
    if not len(close):
        return [], False
    # boxes that share a part t of their union are offset by at most (1 - t) / 2 of their sizes' sum on every axis
    inside = apart.take(close, axis=0) <= 0.5 * (1.0 - rules.double_overlap) * size.take(close, axis=0)
    doubles = bool(np.count_nonzero(inside[:, 0] & inside[:, 1] & inside[:, 2]))
    return list(zip(first[close].tolist(), second[close].tolist(), strict=True)), doubles


def without_doubles(batch: Batch, close: list[tuple[int, int]], rules: Linking) -> Batch:
    """Of two boxes that nearly coincide and look alike, keep the better seen."""
    pairs = np.array(close)
    xyz, extent = batch.xyz[pairs], batch.extent[pairs]
    share = overlap(xyz[:, 0], extent[:, 0], xyz[:, 1], extent[:, 1])
    dropped: set[int] = set()
    for at in np.lexsort((pairs[:, 1], pairs[:, 0], -share)).tolist():
        one, other = close[at]
        if share[at] <= rules.double_overlap:
            break
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
