"""The default image encoder: an embedding of 72 numbers from colour names, a colour histogram and a little shape.

It tells two things apart and recognises one again without any model, and its first numbers can be read back as
colour names, so that "the red one" can be answered from what was stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, one_layout
from lastseen.encoders.colors import COLORS, hue_saturation_value, name_pixels
from lastseen.errors import InvalidValue, SourceError

_HUE_BINS, _SATURATION_BINS, _VALUE_BINS = 8, 2, 3
_HISTOGRAM = _HUE_BINS * _SATURATION_BINS * _VALUE_BINS
_SHAPE = 13
_DIM = len(COLORS) + _HISTOGRAM + _SHAPE
_NAMES_WEIGHT, _HISTOGRAM_WEIGHT, _SHAPE_WEIGHT = 0.75, 0.55, 0.37
_MAX_PIXELS = 2048
_SHIFT, _LEVELS = 3, 32


class ColorShapeEncoder:
    """Colour and shape of a crop as a unit vector; a fourth channel, when given, is the mask."""

    name = "look-v1"
    """As memory files keep it; another name would make existing files refuse new embeddings."""
    dim = _DIM
    max_pixels = 4 * _MAX_PIXELS
    """Pixels of a crop that are enough: callers may leave out rows and columns of larger ones."""

    def encode_image(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One unit row per RGB or RGBA crop; pixels with alpha under 128 do not count."""
        return np.stack([_describe(image) for image in images]) if images else np.zeros((0, _DIM), np.float32)

    def encode_text(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Images only: always an error."""
        raise InvalidValue("text", len(texts), "cannot be read by the colour encoder", remedy="use encoder 'lexicon'")


def color_shares(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Read the shares of the basic colours, (n, 11), back from embeddings (n, 72)."""
    shares = np.square(np.maximum(vectors[:, : len(COLORS)].astype(np.float32), 0.0))
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)


def crop_colors(jpeg: bytes) -> NDArray[np.float32] | None:
    """Shares of the basic colours (11) in the middle of a crop, for objects whose embedding does not tell them.

    The corners are left out: what lies there is mostly background. None for a picture that cannot be read.
    """
    # the image reader is loaded with the first picture: a question about names needs none
    from lastseen.images import read_color

    try:
        pixels = read_color(jpeg)
    except SourceError:
        return None
    height, width = pixels.shape[:2]
    rows = (np.arange(height) - (height - 1) / 2.0)[:, None] / max(height * 0.4, 1.0)
    columns = (np.arange(width) - (width - 1) / 2.0)[None, :] / max(width * 0.4, 1.0)
    alpha = np.where(rows**2 + columns**2 <= 1.0, 255, 0).astype(np.uint8)
    return color_shares(ColorShapeEncoder().encode_image([np.dstack([pixels, alpha])]))[0]


def _describe(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    if image.ndim != 3 or image.shape[2] not in (3, 4) or image.dtype != np.uint8 or image.size == 0:
        raise InvalidValue("image", image, "must be a uint8 RGB or RGBA crop", remedy="give (height, width, 3)")
    pixels = image.shape[0] * image.shape[1]
    cells = np.empty(pixels, dtype=np.int32)
    box, fill = np.empty(4, dtype=np.int64), np.empty(4)
    count = _read_pixels(one_layout(image), 128, cells, box, fill)
    if not count:
        count = _read_pixels(one_layout(image), 0, cells, box, fill)
    cells = cells[:count]
    if count > _MAX_PIXELS:
        cells = cells[np.linspace(0, count - 1, _MAX_PIXELS).astype(np.int64)]
    shares = np.empty(len(COLORS) + _HISTOGRAM)
    _mean_rows(_color_table(), cells, shares)
    vector = np.concatenate(
        [
            _NAMES_WEIGHT * _unit(np.sqrt(shares[: len(COLORS)])),
            _HISTOGRAM_WEIGHT * _unit(np.sqrt(shares[len(COLORS) :])),
            _SHAPE_WEIGHT * _unit(_shape(box, fill)),
        ]
    )
    return _unit(vector)


@cache
def _color_table() -> NDArray[np.float32]:
    """Shares of colour names and of histogram cells for every colour in steps of 8, (32768, 59).

    Naming a pixel by rule costs a hundred times what looking it up does, and cameras are not surer than such a step.
    """
    level = (np.arange(_LEVELS, dtype=np.uint8) << _SHIFT) + (1 << (_SHIFT - 1))
    pixels = np.stack(np.meshgrid(level, level, level, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.uint8)
    hue, saturation, value = hue_saturation_value(pixels)
    cell = (hue / 360.0 * _HUE_BINS).astype(np.int64) % _HUE_BINS
    cell = (cell * _SATURATION_BINS + (saturation >= 0.35)) * _VALUE_BINS
    # brightness is shared between its two nearest bins: a lamp dims by degrees
    bright = value * (_VALUE_BINS - 1)
    below = np.minimum(bright.astype(np.int64), _VALUE_BINS - 2)
    histogram = np.zeros((len(pixels), _HISTOGRAM), dtype=np.float32)
    rows = np.arange(len(pixels))
    histogram[rows, cell + below] = 1.0 - (bright - below)
    histogram[rows, cell + below + 1] = bright - below
    return np.concatenate([name_pixels(pixels), histogram], axis=1)


def _shape(box: NDArray[np.int64], fill: NDArray[np.float64]) -> NDArray[np.float32]:
    """Aspect of a box as a smooth bump over nine ratios, and how full each quarter of it is.

    The box is the first row and the one after the last, and the same of columns.
    """
    height, width = int(box[1] - box[0]), int(box[3] - box[2])
    steps = np.linspace(-2.0, 2.0, 9)
    bumps = np.exp(-np.square(steps - np.clip(np.log2(width / height), -2.0, 2.0)))
    return np.concatenate([bumps, fill]).astype(np.float32)


@compiled
def _read_pixels(
    image: NDArray[np.uint8],
    min_alpha: int,
    cells: NDArray[np.int32],
    box: NDArray[np.int64],
    fill: NDArray[np.float64],
) -> int:
    """Write the cell of the colour table of each pixel that counts, their box and how full its quarters are."""
    rows, columns, channels = image.shape
    count = 0
    box[0], box[1], box[2], box[3] = rows, 0, columns, 0
    for row in range(rows):
        for column in range(columns):
            if channels == 4 and image[row, column, 3] < min_alpha:
                continue
            red, green, blue = image[row, column, 0], image[row, column, 1], image[row, column, 2]
            cells[count] = ((red >> _SHIFT) * _LEVELS + (green >> _SHIFT)) * _LEVELS + (blue >> _SHIFT)
            count += 1
            box[0], box[1] = min(box[0], row), max(box[1], row + 1)
            box[2], box[3] = min(box[2], column), max(box[3], column + 1)
    if not count:
        return 0
    # of an odd height the middle row is in the lower half; a single row is both
    height, width = box[1] - box[0], box[3] - box[2]
    for quarter in range(4):
        low, left = quarter // 2, quarter % 2
        top = box[0] + (height // 2) * low
        bottom = box[1] if low else box[0] + max(1, height // 2)
        first = box[2] + (width // 2) * left
        last = box[3] if left else box[2] + max(1, width // 2)
        full = 0
        for row in range(top, bottom):
            for column in range(first, last):
                full += channels == 3 or image[row, column, 3] >= min_alpha
        fill[quarter] = full / ((bottom - top) * (last - first))
    return count


@compiled
def _mean_rows(table: NDArray[np.float32], rows: NDArray[np.int32], mean: NDArray[np.float64]) -> None:
    """Write the mean of some rows of a table."""
    mean[:] = 0.0
    for index in range(len(rows)):
        for column in range(len(mean)):
            mean[column] += table[rows[index], column]
    for column in range(len(mean)):
        mean[column] /= len(rows)


def _unit(vector: NDArray[np.floating]) -> NDArray[np.float32]:
    return (vector / np.linalg.norm(vector)).astype(np.float32)
