"""Recovery of MCAP files that break off, as a robot leaves them that lost power: what lies before the cut is read.

Such a file has no index and no end. Its whole records, and those of the last chunk as far as it can be unpacked, are
shown to the reader with an end put behind them; nothing is written, and a file of any size costs one pass over it.
"""

from __future__ import annotations

import importlib
import io
import os
import struct
import sys
import zlib
from collections import deque
from pathlib import Path
from typing import IO, Any

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, MESSAGE, CHUNK, DATA_END = 0x01, 0x02, 0x05, 0x06, 0x0F

MAX_CHUNK = 128 * 2**20
"""Bytes of a broken chunk that are looked at, packed and unpacked: recorders end one at a few MiB or one message."""

_INSIDE = frozenset({0x03, 0x04, MESSAGE})
"""Schemas, channels and messages: what a chunk holds."""

_PRIVATE = 0x80
_MESSAGE_HEAD = 22
_SUSPECTS = 16
"""Chunks at the end of a file that may be broken, though they have their length."""

_END = (
    struct.pack("<BQI", DATA_END, 4, 0)
    + struct.pack("<BQQQI", FOOTER, 20, 0, 0, 0)  # without an index the reader looks through the file
    + MAGIC
)
_HEAD = struct.Struct("<BQ")


class RecoveredFile:
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


def has_header(path: Path) -> bool:
    """Whether an MCAP file has as much as its first record: without it nothing in it can be read."""
    with path.open("rb") as file:
        head = file.read(len(MAGIC) + _HEAD.size)
        if len(head) < len(MAGIC) + _HEAD.size or not head.startswith(MAGIC):
            return False
        kind, length = _HEAD.unpack_from(head, len(MAGIC))
        # blocks that never reached the disk read as zeros
        return kind == HEADER and len(head) + length <= path.stat().st_size and any(file.read(min(length, 64)))


def _salvage(path: Path) -> tuple[int, bytes]:
    """How many bytes of the file are whole records, and the whole records of a chunk that is not."""
    size = path.stat().st_size
    chunks: deque[tuple[int, int]] = deque(maxlen=_SUSPECTS)
    with path.open("rb") as file:
        at, rest = len(MAGIC), b""
        while at + _HEAD.size <= size:
            file.seek(at)
            kind, length = _HEAD.unpack(file.read(_HEAD.size))
            # any other kind is stepped over: from 0x80 on they are private, and may be anywhere
            if kind in {0, DATA_END, FOOTER}:
                break
            if at + _HEAD.size + length > size:
                if kind == CHUNK:
                    rest = _Chunk(file.read(min(length, MAX_CHUNK))).salvaged()
                break
            if kind == CHUNK:
                chunks.append((at, length))
            at += _HEAD.size + length
        # a file may have got its length before its bytes: the last chunks are looked into until one is good
        while chunks:
            start, length = chunks.pop()
            file.seek(start + _HEAD.size)
            chunk = _Chunk(file.read(min(length, MAX_CHUNK)))
            if chunk.is_whole():
                break
            at, rest = start, chunk.salvaged()
    return min(at, size), rest


class _Chunk:
    """The body of a chunk record: a small head, and records that may be packed."""

    _head = struct.Struct("<QQQII")

    def __init__(self, body: bytes) -> None:
        self._size = self._crc = 0
        self._compression, self._data, self._data_size = "?", b"", -1
        if len(body) < self._head.size:
            return
        _, _, self._size, self._crc, name_length = self._head.unpack_from(body)
        start = self._head.size + name_length + 8
        if name_length <= 16 and start <= len(body):
            self._compression = body[self._head.size : start - 8].decode("ascii", "replace")
            (self._data_size,) = struct.unpack_from("<Q", body, start - 8)
            self._data = body[start:]

    def is_whole(self) -> bool:
        """Whether a reader will take it."""
        if self._data_size != len(self._data):
            return False
        inside = self._unpacked(self._data)
        good = len(inside) == self._size and _whole_records(inside) == self._size
        return good and (self._crc == 0 or zlib.crc32(inside) == self._crc)

    def salvaged(self) -> bytes:
        """The records before the place where it breaks off, or where zeros stand in for what was never written."""
        inside = self._unpacked(self._data.rstrip(b"\0"))
        return inside[: _whole_records(inside)]

    def _unpacked(self, data: bytes) -> bytes:
        """As much as can be unpacked, and no more than the chunk states: a few bytes may unpack to any number."""
        if self._compression == "":
            return data
        if self._compression == "zstd":
            zstd: Any = importlib.import_module(
                "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
            )
            unpack, broken = zstd.ZstdDecompressor(), zstd.ZstdError
        elif self._compression == "lz4":
            lz4: Any = importlib.import_module("lz4.frame")
            unpack, broken = lz4.LZ4FrameDecompressor(), RuntimeError
        else:
            return b""
        try:
            found: bytes = unpack.decompress(data, max_length=min(self._size, MAX_CHUNK))
        except broken:
            return b""
        return found


def _whole_records(inside: bytes) -> int:
    """How many bytes from the start are whole records that a chunk may hold."""
    at = 0
    while at + _HEAD.size <= len(inside):
        kind, length = _HEAD.unpack_from(inside, at)
        known = kind in _INSIDE or kind >= _PRIVATE
        if not known or at + _HEAD.size + length > len(inside) or (kind == MESSAGE and length < _MESSAGE_HEAD):
            break
        at += _HEAD.size + length
    return at


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
