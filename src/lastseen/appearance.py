"""How a detection looks: its crop for people and its image embedding.

The encoder reads the crop with what the mask leaves out transparent; the stored one shows some surroundings, without
people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.images import encoded
from lastseen.protocols import Encoder

PERSON = "person"
"""The label of people, as COCO's detectors say it."""
_BLANK = 128
"""Brightness, of 255, of what is blanked."""
_CROP_SIDE = 160
"""Pixels of the longest side of a stored crop: about 5 kB of JPEG."""
CROP_MARGIN = 0.1
"""Share of the box added on each side of a stored crop, for people to recognise the surroundings."""


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


def crop_jpeg(frame: Frame, detection: Detection, *, people: Sequence[Detection] = ()) -> bytes:
    """The picture of a detection with some of its surroundings, as JPEG; boxes of ``people`` in it are grey.

    The detection itself, where it has a mask, and a person's own picture are shown.
    """
    left, top, right, bottom = detection.box
    margin_x, margin_y = CROP_MARGIN * (right - left), CROP_MARGIN * (bottom - top)
    x0, x1 = pixel_bounds(left - margin_x, right + margin_x, frame.intrinsics.width)
    y0, y1 = pixel_bounds(top - margin_y, bottom + margin_y, frame.intrinsics.height)
    picture = frame.rgb[y0:y1, x0:x1]
    others = [one for one in people if one is not detection] if detection.label != PERSON else []
    if others:
        picture = _without_people(frame, picture, detection, others, corner=(x0, y0))
    image = Image.fromarray(picture)
    image.thumbnail((_CROP_SIDE, _CROP_SIDE))
    return encoded(image, "JPEG", quality=85)


def _without_people(
    frame: Frame,
    picture: NDArray[np.uint8],
    detection: Detection,
    people: Sequence[Detection],
    *,
    corner: tuple[int, int],
) -> NDArray[np.uint8]:
    """A copy of a crop with people in grey; pixels of the detection's own mask stay."""
    x0, y0 = corner
    blank = np.zeros(picture.shape[:2], dtype=np.bool_)
    for one in people:
        left, right = pixel_bounds(one.box[0], one.box[2], frame.intrinsics.width)
        top, bottom = pixel_bounds(one.box[1], one.box[3], frame.intrinsics.height)
        blank[max(top - y0, 0) : max(bottom - y0, 0), max(left - x0, 0) : max(right - x0, 0)] = True
    if detection.mask is not None:
        height, width = detection.mask.shape
        rows = ((np.arange(y0, y0 + picture.shape[0]) + 0.5) * height / frame.intrinsics.height).astype(np.int64)
        columns = ((np.arange(x0, x0 + picture.shape[1]) + 0.5) * width / frame.intrinsics.width).astype(np.int64)
        blank &= ~detection.mask[rows[:, np.newaxis], columns[np.newaxis]]
    covered = picture.copy()
    covered[blank] = _BLANK
    return covered


def sharpness(rgb: NDArray[np.uint8]) -> float:
    """Mean of the strongest tenth of second differences between neighbouring pixels, of 255: falls with any blur."""
    green = rgb[:: max(1, rgb.shape[0] // 120), :, 1].astype(np.int16)
    if green.shape[1] < 3:
        return 0.0
    bend = np.abs(2 * green[:, 1:-1] - green[:, :-2] - green[:, 2:]).ravel()
    count = max(1, len(bend) // 10)
    return float(np.partition(bend, len(bend) - count)[-count:].mean())


def pixel_bounds(low: float, high: float, size: int) -> tuple[int, int]:
    """First pixel and the one after the last of a span, cut at an image of ``size`` pixels; never empty."""
    first = min(max(math.floor(low), 0), size - 1)
    return first, min(max(math.ceil(high), first + 1), size)
