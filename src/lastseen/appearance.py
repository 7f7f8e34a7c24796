"""Image embeddings of detections: the encoder reads the crop of each, with what the mask leaves out transparent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.lift import pixel_bounds
from lastseen.protocols import Encoder


def with_embeddings(frame: Frame, detections: Sequence[Detection], encoder: Encoder) -> list[Detection]:
    """The same detections with image embeddings; one that came with its own keeps it."""
    bare = [detection for detection in detections if detection.embedding is None]
    if not bare:
        return list(detections)
    vectors = iter(encoder.encode_image([masked_crop(frame, detection) for detection in bare]))
    return [one if one.embedding is not None else replace(one, embedding=next(vectors)) for one in detections]


def masked_crop(frame: Frame, detection: Detection) -> NDArray[np.uint8]:
    """The pixels of a detection: RGB, or RGBA with alpha 0 outside the mask where there is one of any size."""
    left, top, right, bottom = detection.box
    x0, x1 = pixel_bounds(left, right, frame.intrinsics.width)
    y0, y1 = pixel_bounds(top, bottom, frame.intrinsics.height)
    picture = frame.rgb[y0:y1, x0:x1]
    if detection.mask is None:
        return picture
    mask = detection.mask
    sx, sy = mask.shape[1] / frame.intrinsics.width, mask.shape[0] / frame.intrinsics.height
    part = mask[
        int(y0 * sy) : max(int(y0 * sy) + 1, int(np.ceil(y1 * sy))),
        int(x0 * sx) : max(int(x0 * sx) + 1, int(np.ceil(x1 * sx))),
    ]
    alpha = Image.fromarray(part.astype(np.uint8) * 255).resize((x1 - x0, y1 - y0), Image.Resampling.NEAREST)
    return np.dstack([picture, np.asarray(alpha, dtype=np.uint8)])
