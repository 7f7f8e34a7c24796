"""Boxes of a DETR-like detector: from middles to corners, and one box with several names where two coincide.

Such models have no non-maximum suppression and may answer "cup" and "bowl" for one box. Memory takes two observations
of one frame for two things, so coinciding boxes are merged before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection

OTHER_SCORE = 0.15
"""Second names of a box are kept from this score on: a cup may also be a bowl."""
MAX_NAMES = 3
"""Names per box; further ones are noise."""
SAME_BOX = 0.85
"""Intersection over union from which two boxes are one thing."""

Box = tuple[float, float, float, float]


def corners(middles: NDArray[np.floating]) -> NDArray[np.float64]:
    """Boxes given as middle x, middle y, width, height, as left, top, right, bottom."""
    x, y, width, height = (middles[:, i].astype(np.float64) for i in range(4))
    return np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=1)


def merge_same(detections: Sequence[Detection]) -> list[Detection]:
    """The detections best first, each box once; names of a box that was merged are kept with their scores.

    Boxes that overlap by ``SAME_BOX`` are one, which keeps its best ``MAX_NAMES`` names.
    """
    kept: list[Detection] = []
    for one in sorted(detections, key=lambda item: (-item.score, item.box, item.label or "")):
        for index, other in enumerate(kept):
            if overlap(one.box, other.box) >= SAME_BOX:
                names = dict(other.labels)
                for label, score in one.labels.items():
                    names[label] = max(score, names.get(label, 0.0))
                kept[index] = _named(other, names)
                break
        else:
            kept.append(_named(one, dict(one.labels)))
    return kept


def overlap(one: Box, other: Box) -> float:
    """Intersection over union of two boxes."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return shared / (areas[0] + areas[1] - shared)


def _named(detection: Detection, names: dict[str, float]) -> Detection:
    best = sorted(names.items(), key=lambda item: (-item[1], item[0]))[:MAX_NAMES]
    return replace(detection, labels=dict(best))
