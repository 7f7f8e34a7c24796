"""Answers of the YOLO family as boxes, scores and outlines: version 5 to the newest, with and without built-in NMS.

| output | exported by |
|---|---|
| (1, 4 + classes, n), or transposed | versions 8, 9, 11, 12: boxes as middle and size, a score per class |
| (1, n, 5 + classes) | versions 5, 6, 7: the same, and how sure it is that anything is there |
| (1, n, 6): box, score, class | version 10 and newer, and any export with ``nms=True`` |
| (n, 7): image, box, class, score | version 7 with ``--end2end --max-wh`` |
| num_dets, det_boxes, det_scores, det_classes | exports for TensorRT's plug-in |

Models that outline things have 32 more columns and a second output (1, 32, height / 4, width / 4), of which each
outline is a weighted sum. All boxes are in pixels of the prepared image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.perception.boxes import corners

Floats = NDArray[np.floating[Any]]

SAME_CLASS_OVERLAP = 0.6
"""Intersection over union from which two boxes of one class are one thing; the family's own defaults are near."""
MOST_BOXES = 300
"""Boxes considered in one image, the best first: as many as the family's own NMS gives."""
FINAL_ROWS = 1000
"""More rows than any built-in NMS gives: then six columns are a model of one class, not final boxes."""
PLUGIN_OUTPUTS = ("num_dets", "det_boxes", "det_scores", "det_classes")


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Boxes (n, 4) as corners, scores (n, classes), and the weights of outlines (n, 32) where the model has them."""

    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]
    weights: NDArray[np.float32] | None = None


class UnknownLayout(ValueError):
    """The arrays fit no layout of the family."""


def decode(outputs: Sequence[NDArray[Any]], *, classes: int | None, min_score: float) -> Answer:
    """Boxes of one image with a score of at least ``min_score``, best first, each thing once per class.

    ``classes`` is how many classes have a name, where that is known; it tells two layouts of one shape apart.
    """
    prototypes = next((one for one in outputs if one.ndim == 4), None)
    extra = 0 if prototypes is None else prototypes.shape[1]
    rows = next((one for one in outputs if one.ndim in (2, 3)), None)
    if rows is None:
        raise UnknownLayout("no rows of boxes")
    if rows.ndim == 2 and rows.shape[1] == 7:
        return _final(rows[:, 1:5], rows[:, 6], rows[:, 5], weights=None, classes=classes, min_score=min_score)
    if rows.ndim == 3 and len(rows) != 1:
        raise UnknownLayout(f"{len(rows)} images at once")
    table = rows[0] if rows.ndim == 3 else rows
    if table.shape[1] == 6 + extra and len(table) <= FINAL_ROWS:
        weights = table[:, 6:] if extra else None
        return _final(table[:, :4], table[:, 4], table[:, 5], weights=weights, classes=classes, min_score=min_score)
    if len(table) < table.shape[1]:
        table = table.T
        with_objectness = classes is not None and table.shape[1] == 5 + classes + extra
    else:
        columns = table.shape[1] - extra
        # without names: 84 columns are COCO's 80 classes and a box, else an objectness stands between
        with_objectness = columns == 5 + classes if classes is not None else columns != 84
    first = 5 if with_objectness else 4
    if table.shape[1] <= first + extra:
        raise UnknownLayout(f"{table.shape[1]} columns")
    last = table.shape[1] - extra
    best = table[:, first:last].max(axis=1)
    if with_objectness:
        best = best * table[:, 4]
    kept = np.flatnonzero(best >= min_score)
    kept = kept[np.argsort(-best[kept], kind="stable")[: 4 * MOST_BOXES]]
    scores = table[kept, first:last].astype(np.float64)
    if with_objectness:
        scores *= table[kept, 4:5]
    boxes = corners(table[kept, :4])
    chosen = suppressed(boxes, scores.max(axis=1), scores.argmax(axis=1))
    weights = table[kept[chosen], last:].astype(np.float32) if extra else None
    return Answer(boxes[chosen], scores[chosen], weights)


def decode_plugin(outputs: Sequence[NDArray[Any]], *, classes: int | None, min_score: float) -> Answer:
    """The same for the four outputs of TensorRT's NMS plug-in, in the order of ``PLUGIN_OUTPUTS``."""
    count, boxes, scores, numbers = outputs
    kept = int(count.reshape(-1)[0])
    return _final(
        boxes.reshape(-1, 4)[:kept],
        scores.reshape(-1)[:kept],
        numbers.reshape(-1)[:kept],
        weights=None,
        classes=classes,
        min_score=min_score,
    )


def _final(
    boxes: Floats, scores: Floats, numbers: Floats, *, weights: Floats | None, classes: int | None, min_score: float
) -> Answer:
    """Rows that a built-in NMS gave: one class and score each."""
    kept = np.flatnonzero(scores >= min_score)[:MOST_BOXES]
    given = numbers[kept].astype(np.int64)
    if len(given) and (given < 0).any():
        raise UnknownLayout("negative classes")
    width = max(classes or 0, int(given.max()) + 1 if len(given) else 0)
    table = np.zeros((len(kept), width))
    table[np.arange(len(kept)), given] = scores[kept]
    taken = None if weights is None else weights[kept].astype(np.float32)
    return Answer(boxes[kept].astype(np.float64), table, taken)


def suppressed(
    boxes: NDArray[np.float64], scores: NDArray[np.float64], numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Indices of the boxes left by non-maximum suppression within each class, best first."""
    order = np.argsort(-scores, kind="stable")
    areas = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0.0), axis=1)
    kept: list[int] = []
    while len(order) and len(kept) < MOST_BOXES:
        first, rest = order[0], order[1:]
        kept.append(int(first))
        low, high = np.maximum(boxes[first, :2], boxes[rest, :2]), np.minimum(boxes[first, 2:], boxes[rest, 2:])
        shared = np.prod(np.maximum(high - low, 0.0), axis=1)
        same = shared > SAME_CLASS_OVERLAP * (areas[first] + areas[rest] - shared)
        order = rest[~(same & (numbers[rest] == numbers[first]))]
    return np.array(kept, dtype=np.int64)


def outline(weights: NDArray[np.float32], prototypes: NDArray[Any]) -> NDArray[np.float32]:
    """The logits of one outline, (height / 4, width / 4); above 0 is the thing."""
    depth, height, width = prototypes.shape
    logits: NDArray[np.float32] = (weights @ prototypes.reshape(depth, -1).astype(np.float32)).reshape(height, width)
    return logits
