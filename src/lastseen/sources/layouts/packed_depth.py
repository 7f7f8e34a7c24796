"""``depth.bin`` of ScanNet++: the depth of a phone's whole scan in one file, 256x192 a frame.

Each frame is its size in bytes (32 bits, low byte first) and as many bytes: millimetres of 16 bits packed by LZ4, or
metres in floats packed by deflate.
"""

from __future__ import annotations

import importlib
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError, needs_extra
from lastseen.images import refuse_pointer

PACKED = "depth.bin"
MILLIMETRES = 1000.0
"""Raw values per metre, after decoding."""

WIDTH, HEIGHT = 256, 192
_IN_MILLIMETRES, _IN_METRES = 2 * WIDTH * HEIGHT, 4 * WIDTH * HEIGHT
"""Bytes of a frame, unpacked."""

MAX_FRAME = 2 * _IN_METRES
"""Bytes of a packed frame at most: what does not pack grows by less than a hundredth."""


class PackedDepth:
    """The frames of such a file, which are unpacked one at a time."""

    def __init__(self, path: Path) -> None:
        refuse_pointer(path)
        self._path = path
        self._places = _places(path)
        self.frames = {number: path / str(number) for number in range(len(self._places))}
        """Names of the frames by number, as ``read`` takes them."""

    def read(self, path: Path) -> Path | bytes:
        """The bytes of a frame; another path as it is."""
        if path.parent != self._path:
            return path
        start, size = self._places[int(path.name)]
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(size)

    def decode(self, data: bytes, name: str) -> NDArray[np.uint16]:
        """Millimetres (rows, columns) of the bytes of a frame."""
        with needs_extra("depth.bin of ScanNet++", extra="ros"):
            lz4 = importlib.import_module("lz4.block")
        try:
            raw = lz4.decompress(data, uncompressed_size=_IN_MILLIMETRES)
            if len(raw) == _IN_MILLIMETRES:
                return np.frombuffer(raw, dtype="<u2").reshape(HEIGHT, WIDTH)
        except lz4.LZ4BlockError:
            pass
        try:
            metres = np.frombuffer(zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, _IN_METRES), dtype="<f4")
            millimetres = MILLIMETRES * np.nan_to_num(metres, posinf=0.0, neginf=0.0).reshape(HEIGHT, WIDTH)
        except (zlib.error, ValueError) as error:
            raise SourceError(
                name, "frame", f"cannot be unpacked ({error})", remedy="the frame is left out"
            ) from error
        return np.clip(millimetres, 0, 65535).astype(np.uint16)


def _places(path: Path) -> list[tuple[int, int]]:
    """Where each frame begins and how many bytes it has; one that the file breaks off in is left out."""
    end, at = path.stat().st_size, 0
    found: list[tuple[int, int]] = []
    with path.open("rb") as file:
        while at + 4 <= end:
            file.seek(at)
            (size,) = struct.unpack("<I", file.read(4))
            if not 0 < size <= MAX_FRAME:
                raise SourceError(
                    f"{PACKED} frame {len(found)}",
                    f"{size} bytes",
                    "is no size of a frame",
                    remedy="download it again, or unpack it to depth/ with the dataset's tool",
                )
            at += 4 + size
            if at <= end:
                found.append((at - size, size))
    if not found:
        raise SourceError(PACKED, str(path), "holds no whole frame", remedy="download it again")
    return found
