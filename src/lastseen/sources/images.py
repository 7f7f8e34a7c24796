"""Reading colour and depth pictures from files and bytes, with one clear error for whatever is wrong with them."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.errors import SourceError

_DECODING_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def read_color(data: Path | bytes, *, name: str, max_pixels: int) -> NDArray[np.uint8]:
    """RGB (height, width, 3) of a picture."""
    with _opened(data, name, max_pixels) as image:
        return np.asarray(_decoded(image, name, mode="RGB"), dtype=np.uint8)


def read_depth(data: Path | bytes, *, name: str, max_pixels: int) -> NDArray[np.generic]:
    """Raw values (height, width) of a one-channel picture: 8, 16 or 32 bits, or float."""
    with _opened(data, name, max_pixels) as image:
        values: NDArray[np.generic] = np.asarray(_decoded(image, name, mode=None))
    if values.ndim != 2:
        raise SourceError(
            name, values, "is a colour picture, not depth", remedy="store depth as a 16-bit one-channel PNG"
        )
    return values


def _opened(data: Path | bytes, name: str, max_pixels: int) -> Image.Image:
    try:
        if (data.stat().st_size if isinstance(data, Path) else len(data)) == 0:
            raise SourceError(name, 0, "has no bytes", remedy="the recorder was cut off: drop this frame")
        image = Image.open(data if isinstance(data, Path) else io.BytesIO(data))
    except _DECODING_ERRORS as error:
        if isinstance(error, SourceError):
            raise
        raise _unreadable(name, error) from error
    if image.width * image.height > max_pixels:
        image.close()
        raise SourceError(
            name, f"{image.width}x{image.height}", f"exceeds {max_pixels} pixels", remedy="raise max_pixels"
        )
    return image


def _decoded(image: Image.Image, name: str, *, mode: str | None) -> Image.Image:
    try:
        image.load()
        return image if mode is None else image.convert(mode)
    except _DECODING_ERRORS as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> SourceError:
    problem = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be decoded ({error})"
    return SourceError(name, "picture", problem, remedy="the frame is left out; check the recording")
