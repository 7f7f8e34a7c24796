"""Between records and the rows of the journal's tables: plain columns for what people may query, blobs for vectors.

Nothing here begins or ends a transaction; ``Journal`` does.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.memory.store.journal.schema import BODIES, row_sum
from lastseen.memory.store.records import (
    Bodies,
    CropRecord,
    EventRecord,
    ObjectRecord,
    SessionRecord,
    VersionRecord,
)

OBJECT_COLUMNS = (
    "id, label, label_scores, x, y, z, width, depth, height, state, hits, stability, view_bins, "
    "first_seen, last_seen, colors, working, yaw, checksum"
)
_NUMBERS = struct.Struct("<10d")
_MOST_EVENTS = 1_000_000
"""Events that a file holds: years of a home in some 100 MB; the oldest go first."""
VERSION_COLUMNS = "time, x, y, z, label_scores, state, hits, first_seen, last_seen, colors"
_PLACEHOLDERS = ", ".join("?" for _ in OBJECT_COLUMNS.split(","))
UPSERT_OBJECT = (
    f"INSERT INTO objects ({OBJECT_COLUMNS}) VALUES ({_PLACEHOLDERS}) ON CONFLICT(id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in OBJECT_COLUMNS.split(", ")[1:])
    + " RETURNING num"
)
_INSERT_VERSION = f"INSERT OR REPLACE INTO versions (num, {VERSION_COLUMNS}, checksum) VALUES ({', '.join('?' * 12)})"


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
        float(record.yaw) + 0.0,
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
    if row[17]:
        # rows of before boxes were turned have none, and keep the checksum they were written with
        text += f"\x1f{row[17]!r}"
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
        yaw=row[17],
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


@dataclass(slots=True)
class Batch:
    """What one transaction writes; ``time`` is the memory time it speaks for.

    ``removed`` objects keep a past that can be told; of ``forgotten`` ones nothing is left, nor of the labels
    ``unnamed``, which no object has any more. ``turned`` gives the time of the last event of an object, where there
    was one: its new version counts from then, otherwise from its last sighting.
    """

    time: float
    objects: Sequence[ObjectRecord] = ()
    removed: Sequence[str] = ()
    forgotten: Sequence[str] = ()
    unnamed: Collection[str] = ()
    events: Sequence[EventRecord] = ()
    crops: Sequence[CropRecord] = ()
    session: SessionRecord | None = None
    turned: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    bodies: Bodies = field(default_factory=dict)


@dataclass(slots=True)
class Written:
    """What the file holds of one object, as short hashes: enough to tell whether it must be written again."""

    row: bytes
    embedding: bytes
    version: bytes


def put_version(
    db: sqlite3.Connection,
    num: int,
    record: ObjectRecord,
    version: tuple[object, ...],
    batch: Batch,
    *,
    keep: int,
) -> None:
    """Write a new version of an object, and delete the oldest beyond ``keep``."""
    newest = db.execute("SELECT max(time) FROM versions WHERE num = ?", (num,)).fetchone()[0]
    time = batch.turned.get(record.id, record.last_seen)
    if newest is not None and time <= newest:
        time = batch.time
    row = (num, float(time), *version)
    db.execute(_INSERT_VERSION, (*row, row_sum(*row)))
    db.execute(
        "DELETE FROM versions WHERE num = ?1 AND time < (SELECT time FROM versions WHERE num = ?1 "
        "ORDER BY time DESC LIMIT 1 OFFSET ?2)",
        (num, keep - 1),
    )


def put_events(db: sqlite3.Connection, events: Sequence[EventRecord]) -> None:
    """Write events under the next numbers, and delete the oldest beyond ``_MOST_EVENTS``."""
    if not events:
        return
    number = int(db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])
    rows = []
    for i, event in enumerate(events, start=1):
        evidence = json.dumps(event.evidence, sort_keys=True)
        rows.append((number + i, float(event.time), event.object_id, event.kind, evidence))
    db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", [(*row, row_sum(*row)) for row in rows])
    db.execute("DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?", (_MOST_EVENTS,))


def put_crops(db: sqlite3.Connection, crops: Sequence[CropRecord], settings: Settings) -> None:
    """Write pictures of objects that the file holds, the best of each are kept."""
    for crop in crops:
        row = db.execute("SELECT num FROM objects WHERE id = ?", (crop.object_id,)).fetchone()
        if row is None:
            continue
        values = (row[0], float(crop.time), float(crop.quality), crop.jpeg)
        db.execute("INSERT INTO crops VALUES (?, ?, ?, ?, ?)", (*values, row_sum(*values)))
        db.execute(
            "DELETE FROM crops WHERE num = ?1 AND rowid NOT IN "
            "(SELECT rowid FROM crops WHERE num = ?1 ORDER BY quality DESC, time LIMIT ?2)",
            (row[0], settings.store.keep_crops),
        )


def put_session(db: sqlite3.Connection, session: SessionRecord) -> None:
    """Write a session, over what was known of it."""
    times = (session.clock_offset, session.wall_offset, session.first, session.last)
    row = (session.id, session.robot, *(None if time is None else float(time) for time in times))
    db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, row_sum(*row)))


def queue(db: sqlite3.Connection, object_id: str, op: str) -> None:
    """Leave a note for the shared index that an object is to be put in (upsert) or taken out (remove)."""
    seq = db.execute("INSERT INTO outbox (object_id, op) VALUES (?, ?)", (object_id, op)).lastrowid
    db.execute("UPDATE outbox SET checksum = ? WHERE seq = ?", (row_sum(seq, object_id, op), seq))


def put_bodies(db: sqlite3.Connection, table: str, bodies: Mapping[Any, str | bytes]) -> None:
    """Write bodies by their keys; an empty one deletes its row."""
    rows = [(*(key if isinstance(key, tuple) else (key,)), body) for key, body in sorted(bodies.items())]
    if table == "viewpoints":
        # by the id of an object that the file may not hold
        nums = {key: db.execute("SELECT num FROM objects WHERE id = ?", (key,)).fetchone() for key, _ in rows}
        rows = [(nums[key][0], body) for key, body in rows if nums[key] is not None]
    gone = " AND ".join(f"{name} = ?" for name in BODIES[table])
    db.executemany(f"DELETE FROM {table} WHERE {gone}", [key for *key, body in rows if not body])
    rows = [row for row in rows if row[-1]]
    marks = ", ".join("?" * (len(BODIES[table]) + 2))
    db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", [(*row, row_sum(*row)) for row in rows])


def digests_of(
    row: tuple[Any, ...], vectors: tuple[bytes, bytes, int] | None, version: tuple[object, ...]
) -> Written:
    """Hashes of an object's rows."""
    # hits and last_seen change with every sighting and are no new version by themselves
    told = (*version[:5], version[6], version[8])
    return Written(
        # near the end are blobs, and last their sum: writing bytes out as text would cost more than hashing them
        row=_digest(repr((*row[:-4], row[-2])).encode() + (row[-4] or b"") + row[-3]),
        embedding=b"" if vectors is None else _digest(vectors[0] + vectors[1]),
        version=_digest(repr(told).encode()),
    )


def _digest(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=8).digest()
