"""One thing, one detection: boxes that all but coincide become one with several names.

DETR-like models have no suppression of their own and may answer "cup" and "bowl" for one box. Memory takes two
observations of one frame for two things, so this has to be settled before.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastseen.detection import Detection

Box = tuple[float, float, float, float]


def merge_same(detections: Sequence[Detection], *, same_box: float, max_names: int) -> list[Detection]:
    """The detections best first, each box once; names of a box that was merged are kept with their scores."""
    kept: list[Detection] = []
    for one in sorted(detections, key=lambda item: (-item.score, item.box, item.label or "")):
        for index, other in enumerate(kept):
            if overlap(one.box, other.box) >= same_box:
                names = dict(other.labels)
                for label, score in one.labels.items():
                    names[label] = max(score, names.get(label, 0.0))
                kept[index] = _named(other, names, max_names)
                break
        else:
            kept.append(_named(one, dict(one.labels), max_names))
    return kept


def overlap(one: Box, other: Box) -> float:
    """Intersection over union of two boxes."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (area(one) + area(other) - shared)


def area(box: Box) -> float:
    """Area of a box."""
    return (box[2] - box[0]) * (box[3] - box[1])


def _named(detection: Detection, names: dict[str, float], max_names: int) -> Detection:
    best = sorted(names.items(), key=lambda item: (-item[1], item[0]))[:max_names]
    return Detection(
        box=detection.box,
        score=detection.score,
        labels=dict(best),
        mask=detection.mask,
        embedding=detection.embedding,
    )
