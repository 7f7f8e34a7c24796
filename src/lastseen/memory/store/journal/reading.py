"""Reading a journal: objects, their past, events, sessions and what else the file holds.

Everything here works on a file that another process is writing; readers see what is committed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, JournalDamaged
from lastseen.memory.store.journal.opening import clear_errors, decoding, is_of_disk
from lastseen.memory.store.journal.rows import (
    OBJECT_COLUMNS,
    VERSION_COLUMNS,
    checksum,
    read_object,
    read_version,
    row_checksum,
)
from lastseen.memory.store.journal.schema import BODIES, row_sum
from lastseen.memory.store.journal.thinning import HISTORY_FROM
from lastseen.memory.store.journal.writer_lock import FileConnection
from lastseen.memory.store.records import CropRecord, EventRecord, ObjectRecord, SessionRecord, VersionRecord

SELECT_OBJECT = (
    "SELECT "
    + ", ".join(f"o.{name}" for name in OBJECT_COLUMNS.split(", "))
    + ", e.mean, e.gallery, e.checksum FROM objects o LEFT JOIN embeddings e USING (num)"
)
_BLOCK = 128
"""Objects per block: about 1 MB with vectors of 512 numbers."""


@dataclass(slots=True)
class Block:
    """Some objects in the order they were first written; one without an embedding has None for mean and gallery."""

    ids: list[str]
    working: list[bytes]
    means: list[bytes | None]
    galleries: list[bytes | None]
    colors: dict[str, NDArray[np.float32]] = field(default_factory=dict)


class JournalReader:
    """What can be asked of an open journal."""

    def __init__(self, connection: sqlite3.Connection, *, path: Path | None) -> None:
        self.path = path
        self._db = connection
        self._guard = threading.RLock()
        self._opened_at: int | None = None
        """SQLite's count of what others wrote, when the file was opened; None after a failure of the disk.

        SQLite then drops what it has read, and counts as if another process had written.
        """
        self._opened_at = self._version()

    def written_since(self) -> bool:
        """Whether another process has written the file since it was opened here."""
        is_outdated = getattr(self._db, "is_outdated", None)
        return self._version() != self._opened_at or (is_outdated is not None and bool(is_outdated()))

    def objects(self) -> Iterator[ObjectRecord]:
        """Every object in the order it was first written; a vector that does not add up raises."""
        with self._reading() as db:
            for row in db.execute(f"{SELECT_OBJECT} ORDER BY o.num"):
                yield self._read(row)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, everything read is of one moment, also while another process writes."""
        with self._reading() as db:
            db.execute("BEGIN")
            try:
                yield
            finally:
                # a read that failed may have ended it already
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def check_structure(self, *, most: int | None = None) -> None:
        """Raise when pages, the order of rows or indexes are damaged, which checksums of rows cannot tell.

        ``most`` leaves out files of more bytes: it takes half a second for each gigabyte, and has to read it all.
        """
        with self._reading() as db:
            pages, page = (int(db.execute(f"PRAGMA page_{what}").fetchone()[0]) for what in ("count", "size"))
            if most is not None and pages * page > most:
                return
            found = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if found != "ok":
            raise JournalDamaged(self.path, " ".join(found.removeprefix("*** in database main ***").split()))

    def count(self) -> int:
        """How many objects the file holds."""
        with self._reading() as db:
            return int(db.execute("SELECT count(*) FROM objects").fetchone()[0])

    def load(self) -> Iterator[Block]:
        """Every object, block by block: the fast way to open a memory; use it within a ``snapshot``.

        A block is small enough to stay in the processor's cache until its bytes are where they belong, so a file is
        never held in RAM a second time.
        """
        with self._reading() as db:
            cursor = db.execute(f"{SELECT_OBJECT} ORDER BY o.num")
            while rows := cursor.fetchmany(_BLOCK):
                for row in rows:
                    self._check_row(row)
                yield Block(
                    ids=[row[0] for row in rows],
                    working=[row[16] for row in rows],
                    means=[row[19] for row in rows],
                    galleries=[row[20] for row in rows],
                    colors={row[0]: np.frombuffer(row[15], dtype=np.float32) for row in rows if row[15] is not None},
                )

    def object(self, object_id: str) -> ObjectRecord | None:
        """One object; None when the file does not hold it."""
        with self._reading() as db:
            row = db.execute(f"{SELECT_OBJECT} WHERE o.id = ?", (object_id,)).fetchone()
            return None if row is None else self._read(row)

    def sessions(self) -> list[SessionRecord]:
        """Every session, oldest first."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT id, robot, clock_offset, wall_offset, first, last, checksum FROM sessions ORDER BY id"
            )
            return [SessionRecord(*self._whole(row, f"session {row[0]}")) for row in rows]

    def events(
        self, *, since: float | None = None, object_id: str | None = None, newest: int | None = None
    ) -> list[EventRecord]:
        """Events in the order they happened; ``newest`` keeps the last so many."""
        query = f"{_SELECT_EVENT} WHERE time >= ?"
        values: list[object] = [float("-inf") if since is None else since]
        if object_id is not None:
            query += " AND object_id = ?"
            values.append(object_id)
        with self._reading() as db:
            rows = db.execute(
                query + " ORDER BY time DESC, id DESC LIMIT ?", [*values, -1 if newest is None else newest]
            ).fetchall()
        return [self._event(row) for row in reversed(rows)]

    def events_after(self, number: int) -> tuple[int, list[EventRecord]]:
        """What was written after event ``number``, and the number to ask with next; for whoever follows the file."""
        with self._reading() as db:
            rows = db.execute(f"{_SELECT_EVENT} WHERE id > ? ORDER BY id", (number,)).fetchall()
        return rows[-1][0] if rows else number, [self._event(row) for row in rows]

    def absorbed_by(self, object_ids: Sequence[str]) -> list[str]:
        """The objects that went on as one of these, directly or by way of others, and are themselves no more."""
        with self._reading() as db:
            rows = db.execute(f"{_SELECT_EVENT} WHERE evidence LIKE '%\"absorbed\"%' ORDER BY id")
            joined = [(event.object_id, event.evidence.get("absorbed")) for event in map(self._event, rows)]
            held = {str(key) for (key,) in db.execute("SELECT id FROM objects")}
        found = dict.fromkeys(object_ids)
        # what was absorbed first was absorbed by what was absorbed later
        for keeper, absorbed in reversed(joined):
            if keeper in found and isinstance(absorbed, str) and absorbed not in held:
                found[absorbed] = None
        return [key for key in found if key not in set(object_ids)]

    def last_event(self) -> int:
        """The number of the newest event; 0 before the first."""
        with self._reading() as db:
            return int(db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])

    def versions(self, object_id: str) -> list[VersionRecord]:
        """What was known of one object, oldest first."""
        with self._reading() as db:
            rows = db.execute(
                f"SELECT num, {VERSION_COLUMNS}, checksum FROM versions "
                "WHERE num = (SELECT num FROM objects WHERE id = ?) ORDER BY time",
                (object_id,),
            )
            return [self._version_of(object_id, row) for row in rows]

    @property
    def history_from(self) -> float:
        """The memory time from which history is whole: what is older may be thinned. Minus infinity: all is."""
        text = self.meta().get(HISTORY_FROM, "-inf")
        with decoding(self.path, "the beginning of its history"):
            return float(text)

    def _check_kept(self, time: float) -> None:
        start = self.history_from
        if time < start:
            problem = f"lies before {start:.1f} s of memory time, where the history that was kept begins"
            raise InvalidValue("as_of", time, problem, remedy="ask for a later time; see the settings of retention")

    def as_of(self, time: float) -> list[VersionRecord]:
        """The newest version of every object that was known at a memory time, in the order of first writing."""
        self._check_kept(time)
        with self._reading() as db:
            rows = db.execute(f"SELECT o.id, {_VERSION_NAMES} {_AS_OF} ORDER BY o.num", (time,))
            return [self._version_of(row[0], row[1:]) for row in rows]

    def page_as_of(
        self, time: float, *, without: Sequence[str], offset: int, limit: int
    ) -> tuple[int, list[VersionRecord]]:
        """Some of the same in the order of ids, leaving out these statuses, and how many there are in all."""
        self._check_kept(time)
        chosen = f"{_AS_OF} WHERE v.state NOT IN ({', '.join('?' for _ in without)})"
        with self._reading() as db:
            total = int(db.execute(f"SELECT count(*) {chosen}", (time, *without)).fetchone()[0])
            # ids count up: a longer one is a later one
            rows = db.execute(
                f"SELECT o.id, {_VERSION_NAMES} {chosen} ORDER BY length(o.id), o.id LIMIT ? OFFSET ?",
                (time, *without, limit, offset),
            )
            return total, [self._version_of(row[0], row[1:]) for row in rows]

    def crops(self, object_id: str) -> list[CropRecord]:
        """The pictures kept of one object, best first."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT num, time, quality, jpeg, checksum FROM crops "
                "WHERE num = (SELECT num FROM objects WHERE id = ?) ORDER BY quality DESC, time",
                (object_id,),
            )
            return [CropRecord(object_id, *self._whole(row, f"a picture of {object_id}")[1:]) for row in rows]

    def meta(self) -> dict[str, str]:
        """Facts about the whole file by name."""
        with self._reading() as db:
            rows = db.execute("SELECT key, value, checksum FROM meta ORDER BY key").fetchall()
        return dict(self._whole(row, f"the fact {row[0]}") for row in rows)

    def bodies(self, table: str) -> dict[Any, Any]:
        """What one of the ``BODIES`` holds, by its key, in the order of keys."""
        names = ", ".join(BODIES[table])
        found = {}
        with self._reading() as db:
            for row in db.execute(f"SELECT {names}, body, checksum FROM {table} ORDER BY {names}"):
                *key, body = self._whole(row, f"the row of {table} {', '.join(map(str, row[:-2]))}")
                found[tuple(key) if len(key) > 1 else key[0]] = body
        return found

    def places(self) -> dict[str, list[dict[str, Any]]]:
        """The places and the anchors of the file, each in the order of their ids."""
        return {table: [json.loads(body) for body in self.bodies(table).values()] for table in ("places", "anchors")}

    def viewpoints(self) -> dict[str, bytes]:
        """From where objects were seen, packed, by object id."""
        with self._reading() as db:
            ids = dict(db.execute("SELECT num, id FROM objects"))
        return {ids[num]: body for num, body in self.bodies("viewpoints").items() if num in ids}

    def sizes(self) -> dict[str, int]:
        """Bytes on disk by kind of record, and of the whole file."""
        sizes: dict[str, int] = {}
        with self._reading() as db:
            for kind, query in _SIZE_QUERIES.items():
                sizes[kind] = int(db.execute(query).fetchone()[0] or 0)
            pages, page = (
                db.execute("PRAGMA page_count").fetchone()[0],
                db.execute("PRAGMA page_size").fetchone()[0],
            )
        sizes["file"] = int(pages) * int(page)
        return sizes

    def queued(self, limit: int = 1000) -> list[tuple[int, str, str]]:
        """The oldest entries of the outbox: number, object id, what to do."""
        with self._reading() as db:
            rows = db.execute("SELECT seq, object_id, op, checksum FROM outbox ORDER BY seq LIMIT ?", (limit,))
            whole = [self._whole(row, f"entry {row[0]} of the outbox") for row in rows]
            return [(int(seq), str(object_id), str(op)) for seq, object_id, op in whole]

    def count_queued(self) -> int:
        """How many entries wait in the outbox."""
        with self._reading() as db:
            return int(db.execute("SELECT count(*) FROM outbox").fetchone()[0])

    def _check_row(self, row: tuple[Any, ...]) -> None:
        """Raise when an object's values or its embedding do not add up."""
        try:
            whole = row[19] is None or checksum(row[19], row[20]) == row[21]
            whole = whole and row_checksum(row, row[21]) == row[18]
        except (TypeError, ValueError, AttributeError) as error:
            raise JournalDamaged(self.path, f"the row of {row[0]} cannot be read: {error}") from error
        if not whole:
            raise JournalDamaged(self.path, f"the row of {row[0]} does not match its checksum")

    def _read(self, row: tuple[Any, ...]) -> ObjectRecord:
        self._check_row(row)
        try:
            return read_object(row, row[19], row[20])
        except (ValueError, TypeError, AttributeError) as error:
            raise JournalDamaged(self.path, f"the row of {row[0]} cannot be read: {error}") from error

    def _event(self, row: tuple[Any, ...]) -> EventRecord:
        _, time, object_id, kind, evidence = self._whole(row, f"event {row[0]}")
        return EventRecord(time, object_id, kind, json.loads(evidence))

    def _version_of(self, object_id: str, row: tuple[Any, ...]) -> VersionRecord:
        return read_version(object_id, self._whole(row, f"a version of {object_id}")[1:])

    def _whole(self, row: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        """The values of a row whose checksum, its last value, fits; it is damaged otherwise."""
        if row_sum(*row[:-1]) != row[-1]:
            raise JournalDamaged(self.path, f"{what} does not match its checksum")
        return row[:-1]

    def _version(self) -> int:
        with self._reading() as db:
            return int(db.execute("PRAGMA data_version").fetchone()[0])

    def _is_inherited(self) -> bool:
        """Whether this process was forked from the one that opened the file."""
        return isinstance(self._db, FileConnection) and self._db.process != os.getpid()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if isinstance(self._db, FileConnection):
            self._db.check_process(self.path)
        with self._guard, clear_errors(self.path or ":memory:"):
            try:
                yield self._db
            except sqlite3.OperationalError as error:
                if is_of_disk(error):
                    self._opened_at = None
                raise


_SELECT_EVENT = "SELECT id, time, object_id, kind, evidence, checksum FROM events"
_VERSION_NAMES = ", ".join(f"v.{name}" for name in f"num, {VERSION_COLUMNS}, checksum".split(", "))
_AS_OF = (
    "FROM objects o JOIN versions v ON v.num = o.num AND v.time = "
    "(SELECT max(time) FROM versions WHERE num = o.num AND time <= ?)"
)
_KEY_BYTES = {"viewpoints": 16, "floor": 24, "walls": 24, "surface": 32}
_KEY_BYTES |= dict.fromkeys(("path", "facts", "keyframes", "frames"), 16)
"""Bytes that a body's key and checksum take, by table."""
_SIZE_QUERIES = {
    "objects": "SELECT sum(length(working) + length(label_scores) + 160) FROM objects",
    "embeddings": "SELECT sum(length(mean) + length(gallery) + 16) FROM embeddings",
    "crops": "SELECT sum(length(jpeg) + 24) FROM crops",
    "versions": "SELECT count(*) * 120 FROM versions",
    "events": "SELECT sum(length(evidence) + 48) FROM events",
    "views": "SELECT sum(length(body) + 16) FROM views",
    "places": "SELECT sum(size) FROM (SELECT length(CAST(body AS BLOB)) AS size FROM places "
    "UNION ALL SELECT length(CAST(body AS BLOB)) FROM anchors)",
    **{table: f"SELECT sum(length(body) + {key}) FROM {table}" for table, key in _KEY_BYTES.items()},
    "outbox": "SELECT count(*) * 24 FROM outbox",
}
