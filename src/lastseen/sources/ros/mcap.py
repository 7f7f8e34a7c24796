"""A reader of MCAP files that needs no index: whole files, and those that break off because a robot lost power.

One pass over the heads of the records says what the file holds; messages come in the order of their log time, a chunk
unpacked when its time comes. A file without an end is read up to its cut, or to the zeros that stand for what never
reached the disk, the last chunk as far as it unpacks. Sizes are limited (``unpacking``).
"""

from __future__ import annotations

import heapq
import os
import struct
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from lastseen.errors import SourceError
from lastseen.sources.ros.unpacking import BROKEN, MAX_CHUNK, MAX_OPEN, MAX_RECORD, too_large, unpack

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = range(1, 7)
STATISTICS, DATA_END = 0x0B, 0x0F

_PRIVATE = 0x80
"""From here on records are private and may stand anywhere."""

_SUSPECTS = 16
"""Chunks at the end of a cut file that may be broken, though they have their length."""

_MAX_NAME = 16
"""Letters of the name of a compression."""

_HEAD = struct.Struct("<BQ")
_COUNT = struct.Struct("<HQ")
_COUNTS = 46
"""Bytes of statistics before the counts by channel."""
_CHUNK = struct.Struct("<QQQII")
_MESSAGE = struct.Struct("<HIQQ")


@dataclass(frozen=True, slots=True)
class Connection:
    """A topic in one file: ``encoding`` says how ``definition`` describes its type (ros2msg, ros2idl or else)."""

    number: int
    topic: str
    type: str
    encoding: str
    definition: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Where a chunk lies, when its messages are of, and how it is packed."""

    offset: int
    size: int
    start: int
    end: int
    unpacked: int
    crc: int = 0
    compression: str = ""
    inside: bytes = b""
    """What was saved of it, where it is broken."""


class McapFile:
    """An open MCAP file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut_off = False
        """Whether the file has no end."""
        self._schemas: dict[int, tuple[str, str, str]] = {}
        self._channels: dict[int, Connection] = {}
        self._counts: Counter[int] = Counter()
        self._chunks: list[_Chunk] = []
        self._loose = array("q")  # log time, channel, offset and size of each message outside of chunks
        self._held = 0
        self._file = path.open("rb")
        try:
            self._scan()
        except BaseException:
            self._file.close()
            raise
        self.connections = [replace(one, count=self._counts[one.number]) for one in self._channels.values()]

    def close(self) -> None:
        """Release the file; may be called twice."""
        self._file.close()

    def messages(self, numbers: Set[int]) -> Iterator[tuple[int, int, bytes]]:
        """Log time (ns), channel and data of the messages of some channels, by log time."""
        self._held = 0
        parts = [self._opened(chunk, numbers) for chunk in sorted(self._chunks, key=lambda one: one.start)]
        rows = sorted(tuple(self._loose[at : at + 4]) for at in range(0, len(self._loose), 4))
        loose = ((time, number, self._read(at, size)) for time, number, at, size in rows if number in numbers)
        # -1 is the mark at which a chunk is about to be unpacked
        yield from (row for row in heapq.merge(*parts, loose, key=itemgetter(0)) if row[1] >= 0)

    def _opened(self, chunk: _Chunk, numbers: Set[int]) -> Iterator[tuple[int, int, bytes]]:
        yield chunk.start, -1, b""
        self._held += chunk.unpacked
        # chunks of one time are held together, whatever they state about it
        if self._held > MAX_OPEN:
            raise too_large("chunks of one time", self._held, MAX_OPEN)
        inside = self._unpacked(chunk)
        rows = [
            (time, number, inside[start:end]) for time, number, start, end in _messages(inside) if number in numbers
        ]
        del inside
        rows.sort(key=itemgetter(0))
        yield from rows
        self._held -= chunk.unpacked

    def _unpacked(self, chunk: _Chunk) -> bytes:
        if chunk.inside:
            return chunk.inside
        inside = unpack(self._read(chunk.offset, chunk.size), chunk.compression, limit=chunk.unpacked)
        if len(inside) != chunk.unpacked or (chunk.crc and zlib.crc32(inside) != chunk.crc):
            raise SourceError("chunk", chunk.offset, "is damaged: its length or sum is wrong", remedy="copy it again")
        return inside

    def _read(self, offset: int, size: int) -> bytes:
        if size > MAX_RECORD:
            raise too_large("record", size, MAX_RECORD)
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise EOFError(f"{size} bytes at {offset} are not there")
        return data

    def _scan(self) -> None:
        """Look at the head of every record; into the chunks only where no statistics say what they hold."""
        size = self._file.seek(0, os.SEEK_END)
        at, ended, counted = len(MAGIC), False, False
        broken: _Chunk | None = None
        while at + _HEAD.size <= size:
            kind, length = _HEAD.unpack(self._read(at, _HEAD.size))
            start, at = at + _HEAD.size, at + _HEAD.size + length
            # zeros stand for what never reached the disk
            ended = kind == FOOTER
            if ended or kind == 0 or at > size:
                broken = self._chunk(start, size - start) if kind == CHUNK else None
                break
            if kind == CHUNK:
                chunk = self._chunk(start, length)
                self._chunks += [chunk] if chunk is not None else []
            elif kind in {SCHEMA, CHANNEL}:
                self._add(kind, self._read(start, length))
            elif kind == STATISTICS and length >= _COUNTS:
                body = self._read(start, length)
                pairs = body[_COUNTS : _COUNTS + (length - _COUNTS) // _COUNT.size * _COUNT.size]
                self._counts, counted = Counter(dict(_COUNT.iter_unpack(pairs))), True
            elif kind == MESSAGE and length >= _MESSAGE.size:
                number, _, time, _ = _MESSAGE.unpack(self._read(start, _MESSAGE.size))
                self._loose.extend((time, number, start + _MESSAGE.size, length - _MESSAGE.size))
        self.cut_off = not ended or self._read(size - len(MAGIC), len(MAGIC)) != MAGIC
        if self.cut_off:
            self._salvage(broken)
        if not counted or not self._channels or self.cut_off:
            self._counts = Counter(self._loose[1::4])
            for chunk in self._chunks:
                self._index(self._unpacked(chunk))

    def _salvage(self, broken: _Chunk | None) -> None:
        """Replace the broken chunks at the end of a cut file by the whole records of the first of them."""
        # a file may have got its length before its bytes: the last chunks are looked into until one is good
        for _ in range(min(_SUSPECTS, len(self._chunks))):
            try:
                inside = self._unpacked(self._chunks[-1])
                if _whole_records(inside) == len(inside):
                    break
            except BROKEN:
                pass
            broken = self._chunks.pop()
        rest = b"" if broken is None else self._partial(broken)
        times = [time for time, _, _, _ in _messages(rest)]
        if rest:
            self._chunks.append(_Chunk(0, 0, min(times, default=0), max(times, default=0), len(rest), inside=rest))

    def _partial(self, chunk: _Chunk) -> bytes:
        """As much of a chunk as unpacks, up to the last whole record; nothing where nothing does."""
        self._file.seek(chunk.offset)
        packed = self._file.read(min(chunk.size, MAX_CHUNK)).rstrip(b"\0")
        try:
            inside = unpack(packed, chunk.compression, limit=chunk.unpacked, partial=True)
        except BROKEN:
            return b""
        return inside[: _whole_records(inside)]

    def _index(self, inside: bytes) -> None:
        """Note the channels of a chunk and count its messages."""
        for kind, start, end in _records(inside):
            if kind in {SCHEMA, CHANNEL}:
                self._add(kind, inside[start:end])
        self._counts.update(number for _, number, _, _ in _messages(inside))

    def _chunk(self, start: int, length: int) -> _Chunk | None:
        """The chunk whose record body begins at ``start``; None where not even its head is there."""
        head = self._read(start, min(length, _CHUNK.size + _MAX_NAME + 8))
        if len(head) < _CHUNK.size:
            return None
        first, last, unpacked, crc, name = _CHUNK.unpack_from(head)
        body = _CHUNK.size + name + 8
        if name > _MAX_NAME or body > length:
            return None
        if unpacked > MAX_CHUNK:
            raise too_large("chunk", unpacked, MAX_CHUNK)
        packing = head[_CHUNK.size : _CHUNK.size + name].decode("ascii", "replace")
        return _Chunk(start + body, length - body, first, last, unpacked, crc, packing)

    def _add(self, kind: int, body: bytes) -> None:
        if kind == SCHEMA:
            name, encoding, text = _strings(body, 2, 3)
            self._schemas[struct.unpack_from("<H", body)[0]] = name, encoding, text
            return
        number, schema = struct.unpack_from("<HH", body)
        topic, encoding = _strings(body, 4, 2)
        name, form, text = self._schemas.get(schema, ("", "", ""))
        self._channels.setdefault(
            number, Connection(number, topic, name, form if encoding == "cdr" else encoding, text)
        )


def has_header(path: Path) -> bool:
    """Whether an MCAP file has as much as its first record: without it nothing in it can be read."""
    with path.open("rb") as file:
        head = file.read(len(MAGIC) + _HEAD.size)
        if len(head) < len(MAGIC) + _HEAD.size or not head.startswith(MAGIC):
            return False
        kind, length = _HEAD.unpack_from(head, len(MAGIC))
        # blocks that never reached the disk read as zeros
        return kind == HEADER and len(head) + length <= path.stat().st_size and any(file.read(min(length, 64)))


def _strings(body: bytes, at: int, count: int) -> list[str]:
    found = []
    for _ in range(count):
        (length,) = struct.unpack_from("<I", body, at)
        found.append(body[at + 4 : at + 4 + length].decode("utf-8", "replace"))
        at += 4 + length
    return found


def _records(inside: bytes) -> Iterator[tuple[int, int, int]]:
    """Kind, start and end of the whole records that a chunk holds, up to the first thing that is none."""
    at = 0
    while at + _HEAD.size <= len(inside):
        kind, length = _HEAD.unpack_from(inside, at)
        start, at = at + _HEAD.size, at + _HEAD.size + length
        known = kind in {SCHEMA, CHANNEL, MESSAGE} or kind >= _PRIVATE
        if not known or at > len(inside) or (kind == MESSAGE and length < _MESSAGE.size):
            return
        yield kind, start, at


def _messages(inside: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Log time, channel, start and end of the data of the messages in a chunk."""
    for kind, start, end in _records(inside):
        if kind == MESSAGE:
            number, _, time, _ = _MESSAGE.unpack_from(inside, start)
            yield time, number, start + _MESSAGE.size, end


def _whole_records(inside: bytes) -> int:
    """How many bytes from the start are whole records."""
    return max((end for _, _, end in _records(inside)), default=0)
