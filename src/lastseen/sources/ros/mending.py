"""MCAP files that break off, as a robot leaves them that lost power: what lies before the cut is read.

Such a file has no index and no end. Its whole records, and those of the last chunk as far as it can be unpacked, are
shown to the reader with an end put behind them; nothing is written, and a file of any size costs one pass over it.
"""

from __future__ import annotations

import importlib
import io
import os
import struct
import sys
from pathlib import Path
from typing import IO, Any

MAGIC = b"\x89MCAP0\r\n"
CHUNK, DATA_END, FOOTER = 0x06, 0x0F, 0x02

_INSIDE = frozenset({0x03, 0x04, 0x05})
"""Schemas, channels and messages: what a chunk holds."""

_END = (
    struct.pack("<BQI", DATA_END, 4, 0)
    + struct.pack("<BQQQI", FOOTER, 20, 0, 0, 0)  # without an index the reader looks through the file
    + MAGIC
)
_HEAD = struct.Struct("<BQ")


class MendedFile:
    """A broken MCAP file as a path that the reader can open; it has the few members the reader asks for."""

    suffix = ".mcap"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole, self._rest = _salvage(path)

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def is_dir(self) -> bool:
        """It is a file."""
        return False

    def open(self, mode: str = "rb") -> IO[bytes]:
        """The whole part of the file with an end behind it."""
        del mode
        return io.BufferedReader(_Joined(self.path, self._whole, self._rest + _END))

    def __str__(self) -> str:
        return str(self.path)


def is_cut_off(path: Path) -> bool:
    """Whether an MCAP file begins like one and does not end like one."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return False
        if file.seek(0, os.SEEK_END) < 2 * len(MAGIC):
            return True
        file.seek(-len(MAGIC), os.SEEK_END)
        return file.read() != MAGIC


def _salvage(path: Path) -> tuple[int, bytes]:
    """How many bytes of the file are whole records, and the whole records of a chunk that is cut."""
    size = path.stat().st_size
    with path.open("rb") as file:
        at = len(MAGIC)
        while at + _HEAD.size <= size:
            file.seek(at)
            kind, length = _HEAD.unpack(file.read(_HEAD.size))
            if kind in {DATA_END, FOOTER} or not 0 < kind <= DATA_END:
                return at, b""
            if at + _HEAD.size + length > size:
                return at, _records_of_cut(kind, file.read())
            at += _HEAD.size + length
    return min(at, size), b""


def _records_of_cut(kind: int, body: bytes) -> bytes:
    if kind != CHUNK or len(body) < 32:
        return b""
    (name_length,) = struct.unpack_from("<I", body, 28)
    start = 32 + name_length + 8
    if name_length > 16 or start > len(body):
        return b""
    inside = _unpacked(body[32 : 32 + name_length].decode("ascii", "replace"), body[start:])
    at = 0
    while at + _HEAD.size <= len(inside):
        kind, length = _HEAD.unpack_from(inside, at)
        if kind not in _INSIDE or at + _HEAD.size + length > len(inside):
            break
        at += _HEAD.size + length
    return inside[:at]


def _unpacked(compression: str, data: bytes) -> bytes:
    """As much of a cut chunk as can be unpacked."""
    if compression == "":
        return data
    if compression == "zstd":
        zstd: Any = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        unpack, broken = zstd.ZstdDecompressor(), zstd.ZstdError
    elif compression == "lz4":
        lz4: Any = importlib.import_module("lz4.frame")
        unpack, broken = lz4.LZ4FrameDecompressor(), RuntimeError
    else:
        return b""
    try:
        found: bytes = unpack.decompress(data)
    except broken:
        return b""
    return found


class _Joined(io.RawIOBase):
    """The first bytes of a file followed by other bytes."""

    def __init__(self, path: Path, length: int, rest: bytes) -> None:
        super().__init__()
        self._file = path.open("rb")
        self._length, self._rest, self._at = length, rest, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length + len(self._rest)}[whence]
        if base + offset < 0:
            raise OSError(22, "a place before the file's start")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = len(buffer)
        if self._at < self._length:
            self._file.seek(self._at)
            data = self._file.read(min(wanted, self._length - self._at))
        else:
            start = self._at - self._length
            data = self._rest[start : start + wanted]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
