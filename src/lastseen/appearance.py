"""Image embeddings of detections: the encoder reads the crop of each, with what the mask leaves out transparent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.lift import pixel_bounds
from lastseen.protocols import Encoder


def with_embeddings(frame: Frame, detections: Sequence[Detection], encoder: Encoder) -> list[Detection]:
    """The same detections with image embeddings; one that came with its own keeps it."""
    bare = [detection for detection in detections if detection.embedding is None]
    if not bare:
        return list(detections)
    enough = getattr(encoder, "max_pixels", None)
    vectors = iter(encoder.encode_image([masked_crop(frame, one, max_pixels=enough) for one in bare]))
    return [one if one.embedding is not None else replace(one, embedding=next(vectors)) for one in detections]


def masked_crop(frame: Frame, detection: Detection, *, max_pixels: int | None = None) -> NDArray[np.uint8]:
    """The pixels of a detection: RGB, or RGBA with alpha 0 outside the mask where there is one of any size.

    Where the crop has more than ``max_pixels``, only every so many-th row and column is taken.
    """
    left, top, right, bottom = detection.box
    x0, x1 = pixel_bounds(left, right, frame.intrinsics.width)
    y0, y1 = pixel_bounds(top, bottom, frame.intrinsics.height)
    step = 1 if max_pixels is None else max(1, math.ceil(math.sqrt((x1 - x0) * (y1 - y0) / max_pixels)))
    picture = frame.rgb[y0:y1:step, x0:x1:step]
    if detection.mask is None:
        return picture
    height, width = detection.mask.shape
    rows = ((np.arange(y0, y1, step) + 0.5) * (height / frame.intrinsics.height)).astype(np.int64)
    columns = ((np.arange(x0, x1, step) + 0.5) * (width / frame.intrinsics.width)).astype(np.int64)
    cut: NDArray[np.uint8] = np.empty((*picture.shape[:2], 4), dtype=np.uint8)
    cut[..., :3] = picture
    cut[..., 3] = detection.mask[rows[:, np.newaxis], columns[np.newaxis]] * np.uint8(255)
    return cut
