"""Batches and their rows: how what is known goes into the journal's tables.

Nothing here begins or ends a transaction; ``Journal`` does.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lastseen.config import Settings
from lastseen.memory.store.journal.rows import OBJECT_COLUMNS, VERSION_COLUMNS
from lastseen.memory.store.journal.schema import BODIES, row_sum
from lastseen.memory.store.records import CropRecord, EventRecord, ObjectRecord, SessionRecord

_PLACEHOLDERS = ", ".join("?" for _ in OBJECT_COLUMNS.split(","))
UPSERT_OBJECT = (
    f"INSERT INTO objects ({OBJECT_COLUMNS}) VALUES ({_PLACEHOLDERS}) ON CONFLICT(id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in OBJECT_COLUMNS.split(", ")[1:])
    + " RETURNING num"
)
_INSERT_VERSION = f"INSERT OR REPLACE INTO versions (num, {VERSION_COLUMNS}, checksum) VALUES ({', '.join('?' * 12)})"


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
    views: Mapping[int, bytes] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[int, str] = field(default_factory=dict)
    anchors: Mapping[int, str] = field(default_factory=dict)
    viewpoints: Mapping[str, bytes] = field(default_factory=dict)
    floor: Mapping[tuple[int, int, int], bytes] = field(default_factory=dict)
    walls: Mapping[tuple[int, int, int], bytes] = field(default_factory=dict)
    surface: Mapping[tuple[int, int, int], bytes] = field(default_factory=dict)
    path: Mapping[int, bytes] = field(default_factory=dict)
    facts: Mapping[int, str] = field(default_factory=dict)
    keyframes: Mapping[int, bytes] = field(default_factory=dict)
    frames: Mapping[int, str] = field(default_factory=dict)


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


def put_events(db: sqlite3.Connection, events: Sequence[EventRecord], settings: Settings) -> None:
    """Write events under the next numbers, and delete the oldest beyond ``store.keep_events``."""
    if not events:
        return
    number = int(db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])
    rows = []
    for i, event in enumerate(events, start=1):
        evidence = json.dumps(event.evidence, sort_keys=True)
        rows.append((number + i, float(event.time), event.object_id, event.kind, evidence))
    db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", [(*row, row_sum(*row)) for row in rows])
    db.execute("DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?", (settings.store.keep_events,))


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
        # the last three are blobs and their sum: writing bytes out as text would cost more than hashing them
        row=_digest(repr(row[:-3]).encode() + (row[-3] or b"") + row[-2]),
        embedding=b"" if vectors is None else _digest(vectors[0] + vectors[1]),
        version=_digest(repr(told).encode()),
    )


def _digest(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=8).digest()
