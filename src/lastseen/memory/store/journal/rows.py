"""Between records and SQLite rows: plain columns for what people may query, blobs for vectors."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.store.journal.schema import row_sum
from lastseen.memory.store.records import ObjectRecord, VersionRecord

OBJECT_COLUMNS = (
    "id, label, label_scores, x, y, z, width, depth, height, state, hits, stability, view_bins, "
    "first_seen, last_seen, colors, working, checksum"
)
_NUMBERS = struct.Struct("<10d")
VERSION_COLUMNS = "time, x, y, z, label_scores, state, hits, first_seen, last_seen, colors"


def object_row(record: ObjectRecord, vectors: tuple[bytes, bytes, int] | None) -> tuple[object, ...]:
    """The values of ``OBJECT_COLUMNS``; ``vectors`` is the record's ``embedding_row``."""
    row = (
        record.id,
        record.label,
        _scores_text(record.label_scores),
        # SQLite gives a negative zero back as zero
        *(float(value) + 0.0 for value in (*record.xyz, *record.extent)),
        record.state,
        int(record.hits),
        float(record.stability) + 0.0,
        ",".join(map(str, record.view_bins)),
        float(record.first_seen) + 0.0,
        float(record.last_seen) + 0.0,
        None if record.colors is None else record.colors.astype(np.float32).tobytes(),
        record.working,
    )
    return (*row, row_checksum(row, None if vectors is None else vectors[2]))


def row_checksum(row: tuple[Any, ...], vectors: int | None) -> int:
    """What a row's values add up to: SQLite itself notices a broken page, but not a changed value.

    ``vectors`` is the checksum of the object's embedding, None without one: a row that lost it is noticed too.
    """
    try:
        numbers = _NUMBERS.pack(*row[3:9], row[10], row[11], row[13], row[14])
    except struct.error as error:
        raise ValueError(f"holds text where a number belongs ({error})") from error
    text = f"{row[0]}\x1f{row[1]}\x1f{row[2]}\x1f{row[9]}\x1f{row[12]}\x1f{vectors}"
    return zlib.crc32(row[16], zlib.crc32(b"".join((numbers, text.encode(), row[15] or b""))))


def embedding_row(record: ObjectRecord) -> tuple[bytes, bytes, int] | None:
    """Mean, gallery and checksum; None for an object without one."""
    if record.embedding is None:
        return None
    mean = np.ascontiguousarray(record.embedding, dtype=np.float32).tobytes()
    gallery = b"" if record.gallery is None else np.ascontiguousarray(record.gallery, dtype=np.float16).tobytes()
    return mean, gallery, checksum(mean, gallery)


def checksum(mean: bytes, gallery: bytes) -> int:
    """What a vector's bytes add up to."""
    return zlib.crc32(gallery, zlib.crc32(mean))


def read_object(row: tuple[Any, ...], mean: bytes | None, gallery: bytes | None) -> ObjectRecord:
    """The record of one row of ``OBJECT_COLUMNS`` and its embedding."""
    mean_vector = None if mean is None else np.frombuffer(mean, dtype=np.float32)
    views = None
    if mean_vector is not None and gallery:
        views = np.frombuffer(gallery, dtype=np.float16).reshape(-1, len(mean_vector))
    return ObjectRecord(
        id=row[0],
        label_scores=scores_of(row[2]),
        xyz=(row[3], row[4], row[5]),
        extent=(row[6], row[7], row[8]),
        state=row[9],
        hits=row[10],
        stability=row[11],
        view_bins=tuple(map(int, row[12].split(","))) if row[12] else (),
        first_seen=row[13],
        last_seen=row[14],
        colors=_colors(row[15]),
        working=row[16],
        embedding=mean_vector,
        gallery=views,
    )


def put_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    """Write a fact about the whole file."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, value, row_sum(key, value)))


def version_row(record: ObjectRecord) -> tuple[object, ...]:
    """What a version keeps, without its time and ``last_seen``: equal rows make no new version."""
    return (
        *(round(float(value), 3) for value in record.xyz),
        _scores_text({label: round(score, 2) for label, score in record.label_scores.items()}),
        record.state,
        int(record.hits),
        float(record.first_seen),
        float(record.last_seen),
        None if record.colors is None else record.colors.astype(np.float32).tobytes(),
    )


def read_version(object_id: str, row: tuple[Any, ...]) -> VersionRecord:
    """The record of one row of ``VERSION_COLUMNS``."""
    return VersionRecord(
        object_id=object_id,
        time=row[0],
        xyz=(row[1], row[2], row[3]),
        label_scores=scores_of(row[4]),
        state=row[5],
        hits=row[6],
        first_seen=row[7],
        last_seen=row[8],
        colors=_colors(row[9]),
    )


_PARSED: dict[str, Mapping[str, float]] = {}


def scores_of(text: str) -> Mapping[str, float]:
    """Label scores; many objects share a text such as {"mug": 1.0}, so short ones are parsed once."""
    known = _PARSED.get(text)
    if known is None:
        known = {str(label): float(score) for label, score in json.loads(text).items()}
        if len(_PARSED) < 4096:
            _PARSED[text] = known
    return known


def forget_texts() -> None:
    """Drop the texts kept in RAM: they hold labels."""
    _PARSED.clear()


def _scores_text(scores: Mapping[str, float]) -> str:
    return json.dumps({label: float(scores[label]) for label in sorted(scores)}, ensure_ascii=False)


def _colors(blob: bytes | None) -> NDArray[np.float32] | None:
    return None if blob is None else np.frombuffer(blob, dtype=np.float32)
