"""Gives detections a look: the encoder reads the crop of each, with what the mask leaves out made transparent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.protocols import Encoder


def with_looks(frame: Frame, detections: Sequence[Detection], encoder: Encoder) -> list[Detection]:
    """The same detections with embeddings; those that have one keep it."""
    without = [detection for detection in detections if detection.embedding is None]
    looks = iter(encoder.encode_image([masked_crop(frame, detection) for detection in without]))
    return [one if one.embedding is not None else replace(one, embedding=next(looks)) for one in detections]


def masked_crop(frame: Frame, detection: Detection) -> NDArray[np.uint8]:
    """The detection's pixels as RGBA: alpha 0 where the mask says it is something else."""
    left, top, right, bottom = detection.box
    height, width = frame.rgb.shape[:2]
    x0 = min(max(math.floor(left), 0), width - 1)
    y0 = min(max(math.floor(top), 0), height - 1)
    x1 = min(max(math.ceil(right), x0 + 1), width)
    y1 = min(max(math.ceil(bottom), y0 + 1), height)
    crop = np.full((y1 - y0, x1 - x0, 4), 255, dtype=np.uint8)
    crop[..., :3] = frame.rgb[y0:y1, x0:x1]
    if detection.mask is not None and detection.mask.shape == (height, width):
        crop[..., 3] = np.where(detection.mask[y0:y1, x0:x1], 255, 0)
    return crop
