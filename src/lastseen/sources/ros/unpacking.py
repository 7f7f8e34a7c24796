"""Unpacking chunks and messages of recordings within limits: a few kilobytes may unpack to any number of bytes.

Sizes are checked as the file states them, before anything is unpacked, and as they turn out, while it is.
"""

from __future__ import annotations

import bz2
import functools
import importlib
import sys
from pathlib import Path
from typing import Any

from lastseen.errors import SourceError

MAX_CHUNK = 64 * 2**20
"""Bytes of a chunk, unpacked: recorders end one at a few MiB or one message; a raw 4K RGB-D pair has 56 MiB."""

MAX_OPEN = 2 * MAX_CHUNK
"""Bytes of chunks that are held at once, because their messages overlap in time."""

MAX_RECORD = MAX_CHUNK + 2**20
"""Bytes that are read from a file in one piece: a chunk that does not pack has a little more than its content."""

MAX_FILE_RATIO, MAX_FILE = 500, 2**30
"""A packed file may unpack to so many times its size or to so many bytes on the disk; images of a camera reach 50."""

BROKEN = (SourceError, EOFError, OSError, RuntimeError, ValueError, TypeError, LookupError, MemoryError)
"""What unpacking raises where the data is broken."""


@functools.cache
def zstd() -> Any:
    """The library for zstd, which the standard library has from 3.14 on."""
    return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def unpack(data: bytes, compression: str, *, limit: int = MAX_CHUNK, partial: bool = False) -> bytes:
    """The bytes that ``data`` packs by ``zstd``, ``lz4`` or ``bz2``; more than ``limit`` raise ``SourceError``.

    Data that ends early raises ``EOFError``; with ``partial`` what came before is returned.
    """
    if compression in {"", "none"}:
        if len(data) > limit and not partial:
            raise too_large("chunk", len(data), limit)
        return data
    if compression == "zstd":
        decompressor: Any = zstd().ZstdDecompressor()
    elif compression == "lz4":
        decompressor = importlib.import_module("lz4.frame").LZ4FrameDecompressor()
    elif compression == "bz2":
        decompressor = bz2.BZ2Decompressor()
    else:
        raise SourceError("chunk", compression, "is a compression that is not known", remedy="use zstd or lz4")
    try:
        # one byte more than allowed tells a longer one
        unpacked: bytes = decompressor.decompress(data, max_length=limit + 1)
    except Exception as error:
        if isinstance(error, BROKEN):
            raise
        raise ValueError(str(error)) from error
    if len(unpacked) > limit and not partial:
        raise too_large("chunk", f"more than {limit}", limit)
    if not decompressor.eof and not partial:
        raise EOFError("the packed data ends early")
    return unpacked[:limit]


def unpack_file(path: Path, out: Path) -> None:
    """Unpack a zstd file; one that unpacks out of all proportion raises ``SourceError``."""
    limit = max(MAX_FILE, MAX_FILE_RATIO * path.stat().st_size)
    total = 0
    with zstd().open(path, "rb") as file, out.open("wb") as written:
        while block := file.read(2**20):
            total += len(block)
            if total > limit:
                raise too_large(path.name, f"more than {limit}", limit)
            written.write(block)


def too_large(what: str, size: object, limit: int) -> SourceError:
    """The error about a size that is out of all proportion."""
    return SourceError(
        what, f"{size} bytes", f"exceeds {limit}", remedy="record with chunks of a few MiB, or check the file"
    )
