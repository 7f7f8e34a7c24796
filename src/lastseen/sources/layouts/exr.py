"""Depth in OpenEXR files: one plane of scan lines, as renderers and phones store it.

Read here because the libraries for it are large and depth needs little of the format: half or float values, not
compressed or by RLE, ZIPS or ZIP. Other files are refused with what to store instead.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.images import refuse_pointer

_MAGIC = b"\x76\x2f\x31\x01"
_NOT_PLAIN = 0x1A00
"""Flags of files in tiles, with several values a pixel, or in several parts."""

_KINDS = (np.dtype("<u4"), np.dtype("<f2"), np.dtype("<f4"))
"""Types of values, in the order of their numbers in the file."""

_PACKED = {0: ("none", 1), 1: ("RLE", 1), 2: ("ZIPS", 1), 3: ("ZIP", 16)}
"""Compressions that are read, by their number: name, and lines that are packed together."""

_DEPTH_CHANNELS = ("Z", "DEPTH", "Y", "V", "R")
"""The channel of depth where there are several, by the last part of its name; renderers repeat it in R, G and B."""

_NOTHING = 1e9
"""Metres from which on a renderer means that a ray met nothing: Blender writes 1e10."""

MAX_FILE, MAX_CHANNELS = 256 * 2**20, 16
"""Bytes and channels of a file at most: a plane of 4K in floats has 36 MiB."""

_REMEDY = "store depth as 16-bit PNG, .npy, TIFF, or EXR in scan lines with ZIP compression"


@dataclass(frozen=True, slots=True)
class _Header:
    width: int
    height: int
    first_line: int
    packing: int
    channels: list[tuple[str, np.dtype[np.generic]]]
    start: int
    """Where the table of offsets begins."""


def exr_size(path: Path, *, name: str) -> tuple[int, int]:
    """Width and height, by the header."""
    header = _header(_bytes(path, name), name)
    return header.width, header.height


def read_exr(path: Path, *, name: str, max_pixels: int) -> NDArray[np.float32]:
    """The plane (rows, columns) of depth; NaN where nothing was met."""
    data = _bytes(path, name)
    header = _header(data, name)
    if header.width * header.height > max_pixels:
        size = f"{header.width}x{header.height}"
        raise SourceError(name, size, f"exceeds {max_pixels} pixels", remedy="raise max_pixels")
    at, kind = _place_of_depth(header, name)
    a_line = header.width * sum(kind.itemsize for _, kind in header.channels)
    together = _PACKED[header.packing][1]
    lines = np.zeros((header.height, header.width * kind.itemsize), dtype=np.uint8)
    try:
        for chunk in range(-(-header.height // together)):
            (offset,) = struct.unpack_from("<Q", data, header.start + 8 * chunk)
            line, size = struct.unpack_from("<iI", data, offset)
            first = line - header.first_line
            count = min(together, header.height - first)
            if not 0 <= first < header.height:
                raise ValueError(f"line {line} is outside of it")
            raw = _unpacked(data[offset + 8 : offset + 8 + size], a_line * count, header.packing)
            lines[first : first + count] = raw.reshape(count, a_line)[:, at : at + lines.shape[1]]
    except (struct.error, zlib.error, ValueError, IndexError, OverflowError) as error:
        raise SourceError(
            name, "image", f"cannot be decoded ({error})", remedy="the frame is left out; check the recording"
        ) from error
    depth = lines.view(kind).astype(np.float32)
    depth[~(np.abs(depth) < _NOTHING)] = np.nan
    return depth


def _bytes(path: Path, name: str) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE:
            raise SourceError(name, path.stat().st_size, f"exceeds {MAX_FILE} bytes", remedy=_REMEDY)
        refuse_pointer(path)
        return path.read_bytes()
    except OSError as error:
        raise SourceError(
            name, "image", f"cannot be read ({error.strerror})", remedy="the frame is left out; check the recording"
        ) from error


def _header(data: bytes, name: str) -> _Header:
    if not data:
        raise SourceError(name, 0, "has no bytes", remedy="the recorder was cut off: drop this frame")
    if not data.startswith(_MAGIC):
        raise SourceError(name, "image", "cannot be decoded: it is no EXR", remedy=_REMEDY)
    values: dict[str, bytes] = {}
    try:
        (flags,) = struct.unpack_from("<I", data, 4)
        at = 8
        while data[at]:
            end = data.index(0, at)
            after = data.index(0, end + 1) + 1
            (size,) = struct.unpack_from("<I", data, after)
            values[data[at:end].decode("latin-1")] = data[after + 4 : after + 4 + size]
            at = after + 4 + size
        left, top, right, bottom = struct.unpack("<4i", values["dataWindow"])
        packing, channels = values["compression"][0], _channels(values["channels"])
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise SourceError(name, "image", f"has no whole header ({error})", remedy="drop this frame") from error
    width, height = right - left + 1, bottom - top + 1
    if width < 1 or height < 1:
        raise SourceError(name, f"{width}x{height}", "is no size of an image", remedy="drop this frame")
    if flags & _NOT_PLAIN:
        raise SourceError(name, "EXR", "is stored in tiles or parts", remedy=_REMEDY)
    if packing not in _PACKED:
        known = ", ".join(word for word, _ in _PACKED.values())
        raise SourceError(name, f"compression {packing}", f"is none of {known}", remedy=_REMEDY)
    return _Header(width, height, top, packing, channels, at + 1)


def _channels(data: bytes) -> list[tuple[str, np.dtype[np.generic]]]:
    """Names and types of the channels, in the order in which a line holds them."""
    found: list[tuple[str, np.dtype[np.generic]]] = []
    at = 0
    while data[at]:
        end = data.index(0, at)
        kind, _, across, down = struct.unpack_from("<iIii", data, end + 1)
        if (across, down) != (1, 1) or not 0 <= kind < len(_KINDS) or len(found) == MAX_CHANNELS:
            raise ValueError("channels of another kind")
        found.append((data[at:end].decode("latin-1"), _KINDS[kind]))
        at = end + 17
    return found


def _place_of_depth(header: _Header, name: str) -> tuple[int, np.dtype[np.generic]]:
    """The byte of a line where the values of depth begin, and their type."""
    words = [channel.rpartition(".")[2].upper() for channel, _ in header.channels]
    wanted = next((word for word in _DEPTH_CHANNELS if word in words), None)
    if len(words) != 1 and wanted is None:
        raise SourceError(name, ", ".join(words) or "no channel", "has no channel of depth", remedy=_REMEDY)
    place = words.index(wanted) if wanted is not None else 0
    before = sum(kind.itemsize for _, kind in header.channels[:place])
    return header.width * before, header.channels[place][1]


def _unpacked(data: bytes, size: int, packing: int) -> NDArray[np.uint8]:
    """The bytes of some lines; where packing made them no smaller they are stored as they are."""
    if len(data) == size or packing == 0:
        return np.frombuffer(data, dtype=np.uint8, count=size)
    raw = _runs(data, size) if _PACKED[packing][0] == "RLE" else zlib.decompressobj().decompress(data, size)
    packed = np.frombuffer(raw, dtype=np.uint8, count=size)
    # stored are differences to the byte before, of all even bytes and then of all odd ones
    steps = packed.astype(np.int64)
    steps[1:] -= 128
    values = (np.cumsum(steps) & 255).astype(np.uint8)
    whole = np.empty(size, dtype=np.uint8)
    whole[0::2], whole[1::2] = values[: (size + 1) // 2], values[(size + 1) // 2 :]
    return whole


def _runs(data: bytes, size: int) -> bytes:
    """Unpack runs: a negative count stands before as many bytes, another one before a byte that comes once more."""
    out, at = bytearray(), 0
    while at < len(data) and len(out) <= size:
        count = data[at] - 256 if data[at] > 127 else data[at]
        if count < 0:
            out += data[at + 1 : at + 1 - count]
            at += 1 - count
        else:
            out += data[at + 1 : at + 2] * (count + 1)
            at += 2
    return bytes(out)
