"""Between the pixels of an image and those a detector sees: the prepared image, its boxes and outlines back in ours.

DETR-like models have no non-maximum suppression and may answer "cup" and "bowl" for one box. Memory takes two
observations of one frame for two things, so coinciding boxes are merged before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.detection import Detection
from lastseen.errors import InvalidValue

OTHER_SCORE = 0.15
"""Second names of a box are kept from this score on: a cup may also be a bowl."""
MAX_NAMES = 3
"""Names per box; further ones are noise."""
SAME_BOX = 0.85
"""Intersection over union from which two boxes are one thing."""

Box = tuple[float, float, float, float]
Fit = Literal["stretch", "letterbox"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prepared image (1, 3, height, width) and the way back to the pixels it came from."""

    pixels: NDArray[np.float32]
    scale_x: float
    scale_y: float
    left: int
    top: int
    width: int
    height: int

    def mask_to_source(self, logits: NDArray[np.float32], box: tuple[float, ...]) -> NDArray[np.bool_]:
        """A mask of half the source's size from logits over the prepared image, inside a box in source pixels."""
        height, width = max(1, self.height // 2), max(1, self.width // 2)
        sx, sy = logits.shape[1] / self.pixels.shape[3], logits.shape[0] / self.pixels.shape[2]
        inner = (
            self.left * sx,
            self.top * sy,
            (self.left + self.scale_x * self.width) * sx,
            (self.top + self.scale_y * self.height) * sy,
        )
        resized = Image.fromarray(logits).resize((width, height), Image.Resampling.BILINEAR, box=inner)
        mask: NDArray[np.bool_] = np.asarray(resized) > 0.0
        left, top = int(box[0] * width / self.width), int(box[1] * height / self.height)
        right, bottom = int(np.ceil(box[2] * width / self.width)), int(np.ceil(box[3] * height / self.height))
        inside = np.zeros_like(mask)
        inside[top:bottom, left:right] = mask[top:bottom, left:right]
        return inside

    def to_source(self, boxes: NDArray[np.floating]) -> NDArray[np.float64]:
        """Boxes (n, 4) in pixels of the prepared image as pixels of the source image, cut at its borders."""
        back = boxes.astype(np.float64)
        back[:, 0::2] = np.clip((back[:, 0::2] - self.left) / self.scale_x, 0.0, self.width)
        back[:, 1::2] = np.clip((back[:, 1::2] - self.top) / self.scale_y, 0.0, self.height)
        return back


@dataclass(frozen=True, slots=True)
class ImageInput:
    """What a model wants to see: size in pixels, how an image gets into it, and how values are scaled."""

    width: int
    height: int
    fit: Fit = "stretch"
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    def prepare(self, rgb: NDArray[np.uint8]) -> Fitted:
        """The image in this size, values from 0 to 1 before mean and deviation; letterbox bars are grey."""
        height, width = rgb.shape[:2]
        if self.fit == "stretch":
            inner_w, inner_h = self.width, self.height
        else:
            ratio = min(self.width / width, self.height / height)
            inner_w, inner_h = max(1, round(width * ratio)), max(1, round(height * ratio))
        left, top = (self.width - inner_w) // 2, (self.height - inner_h) // 2
        resized = Image.fromarray(rgb).resize((inner_w, inner_h), Image.Resampling.BILINEAR)
        canvas = np.full((self.height, self.width, 3), 114, dtype=np.uint8)
        canvas[top : top + inner_h, left : left + inner_w] = np.asarray(resized)
        shift, spread = np.asarray(self.mean, dtype=np.float32), np.asarray(self.std, dtype=np.float32)
        values: NDArray[np.float32] = (canvas.astype(np.float32) / np.float32(255.0) - shift) / spread
        pixels = np.ascontiguousarray(values.transpose(2, 0, 1)[np.newaxis])
        return Fitted(pixels, inner_w / width, inner_h / height, left, top, width, height)


def scaling_of(preprocessor: Mapping[str, Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation that a preprocessor_config.json asks for; 0 and 1 where it asks for none."""
    if not preprocessor.get("do_normalize", False):
        return (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    mean = _three(preprocessor, "image_mean")
    std = _three(preprocessor, "image_std")
    if min(std) <= 0:
        raise InvalidValue("image_std", std, "must be positive", remedy="get preprocessor_config.json again")
    return mean, std


def _three(preprocessor: Mapping[str, Any], key: str) -> tuple[float, ...]:
    given = preprocessor.get(key)
    if not isinstance(given, list) or len(given) != 3 or not all(isinstance(one, int | float) for one in given):
        raise InvalidValue(key, given, "must be three numbers", remedy="get preprocessor_config.json again")
    return tuple(float(one) for one in given)


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
