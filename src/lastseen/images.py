"""Images from and to files and bytes: the one place where lastseen decodes an image that it did not make itself.

Only JPEG and PNG are decoded, and only after their first bytes say so: a general decoder starts other programs for
some formats (Ghostscript for EPS). Depth may be binary PGM too, which is plain numbers, and in files TIFF. Sizes are
checked before any pixel is unpacked.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from lastseen.errors import SourceError

MAX_PIXELS = 9_437_184
"""Pixels of an image at most where nobody says otherwise, 4096 x 2304: more than 4K, and a frame of it fits 1 GB."""

_MAGIC = {"JPEG": b"\xff\xd8\xff", "PNG": b"\x89PNG\r\n\x1a\n"}
"""The formats that are decoded, by their first bytes."""

_TIFF = (b"II*\x00", b"MM\x00*")
"""First bytes of a TIFF, low or high byte first."""

_LFS_POINTER = b"version https://git-lfs"

_DECODING_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    MemoryError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def encoded(picture: Image.Image | NDArray[Any], kind: str, **options: Any) -> bytes:
    """A picture as a file of this kind (JPEG or PNG); ``options`` are Pillow's."""
    file = io.BytesIO()
    (Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture).save(file, kind, **options)
    return file.getvalue()


def read_color(data: Path | bytes, *, name: str = "image", max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """RGB (height, width, 3) of a JPEG or PNG; raises ``SourceError`` with ``name`` for whatever is wrong with it."""
    with _opened(data, name, max_pixels) as image:
        return np.asarray(_decoded(image, name, mode="RGB"), dtype=np.uint8)


def read_depth(data: Path | bytes, *, name: str = "depth", max_pixels: int = MAX_PIXELS) -> NDArray[np.generic]:
    """Raw values (height, width) of a one-channel JPEG or PNG, or of a file in binary PGM or TIFF.

    They have 8 or 16 bits; in a TIFF they may be floats.
    """
    if isinstance(data, Path) and data.suffix.lower() == ".pgm":
        width, height, start, kind = _pgm_header(data, name)
        if width * height > max_pixels:
            raise SourceError(name, f"{width}x{height}", f"exceeds {max_pixels} pixels", remedy="raise max_pixels")
        values = np.fromfile(data, dtype=kind, count=width * height, offset=start)
        if len(values) < width * height:
            raise _unreadable(name, EOFError("it is cut off"))
        return values.reshape(height, width).astype(np.uint16)
    with _opened(data, name, max_pixels, depth=True) as image:
        if len(image.getbands()) != 1 or image.mode == "P":
            raise SourceError(
                name, image.mode, "is a colour image, not depth", remedy="store depth as a 16-bit one-channel PNG"
            )
        return np.asarray(_decoded(image, name, mode=None))


def read_packed_floats(data: bytes, name: str) -> NDArray[np.generic]:
    """Values (height, width) of a PNG whose blue, green, red and alpha are the bytes of a float, lowest first."""
    with _opened(data, name, MAX_PIXELS) as image:
        if image.mode != "RGBA":
            raise SourceError(name, image.mode, "has not four channels", remedy="copy depth as it was downloaded")
        pixels = np.asarray(_decoded(image, name, mode=None))
    return np.ascontiguousarray(pixels[..., [2, 1, 0, 3]]).view("<f4")[..., 0]


def image_size(data: Path | bytes, *, name: str = "image") -> tuple[int, int]:
    """Width and height of a JPEG, PNG, PGM or TIFF, by its header."""
    if isinstance(data, Path) and data.suffix.lower() == ".pgm":
        return _pgm_header(data, name)[:2]
    with _opened(data, name, max_pixels=2**62, depth=True) as image:
        return image.size


def _pgm_header(path: Path, name: str) -> tuple[int, int, int, np.dtype[np.unsignedinteger[Any]]]:
    """Width, height, where the values begin and their kind; 16-bit values have their high byte first."""
    try:
        with path.open("rb") as file:
            first = file.read(256)
    except OSError as error:
        raise _unreadable(name, error) from error
    found = re.match(rb"P5(?:\s+#[^\n]*)*\s+(\d{1,6})\s+(\d{1,6})(?:\s+#[^\n]*)*\s+(\d{1,5})\s", first)
    if found is None:
        raise _foreign(name, first)
    width, height, most = (int(number) for number in found.groups())
    return width, height, found.end(), np.dtype(">u2" if most > 255 else "u1")


def refuse_pointer(path: Path) -> None:
    """Raise ``SourceError`` where a file only says where Git LFS keeps its content."""
    with path.open("rb") as file:
        if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
            raise _pointer(path.name, str(path))


@contextmanager
def _opened(data: Path | bytes, name: str, max_pixels: int, *, depth: bool = False) -> Iterator[Image.Image]:
    try:
        file = data.open("rb") if isinstance(data, Path) else io.BytesIO(data)
    except OSError as error:
        raise _unreadable(name, error) from error
    with file:
        first = file.read(16)
        kind = next((kind for kind, magic in _MAGIC.items() if first.startswith(magic)), None)
        if depth and isinstance(data, Path) and first.startswith(_TIFF):
            kind = "TIFF"
        if kind is None:
            raise _foreign(name, first)
        file.seek(0)
        try:
            image = Image.open(file, formats=[kind])
        except _DECODING_ERRORS as error:
            raise _unreadable(name, error) from error
        with image:
            if image.width * image.height > max_pixels:
                size = f"{image.width}x{image.height}"
                raise SourceError(name, size, f"exceeds {max_pixels} pixels", remedy="raise max_pixels")
            yield image


def _decoded(image: Image.Image, name: str, *, mode: str | None) -> Image.Image:
    try:
        image.load()
        return image if mode is None else image.convert(mode)
    except _DECODING_ERRORS as error:
        raise _unreadable(name, error) from error


def _foreign(name: str, first: bytes) -> SourceError:
    if not first:
        return SourceError(name, 0, "has no bytes", remedy="the recorder was cut off: drop this frame")
    if first.startswith(_LFS_POINTER[: len(first)]):
        return _pointer(name, "image")
    return SourceError(name, "image", "cannot be decoded: it is no JPEG or PNG", remedy="convert it to one of them")


def _pointer(name: str, value: str) -> SourceError:
    return SourceError(name, value, "is a Git LFS pointer, not the file", remedy="run `git lfs pull` there")


def _unreadable(name: str, error: Exception) -> SourceError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    if isinstance(error, UnidentifiedImageError):
        # its own words are those of the program that opened the file
        why = "its header is broken"
    problem = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be decoded ({why})"
    return SourceError(name, "image", problem, remedy="the frame is left out; check the recording")
