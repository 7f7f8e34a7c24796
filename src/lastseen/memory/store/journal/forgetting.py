"""Forgetting for good: after it no byte of an object is in the file, its WAL or its free pages.

Deleting is not enough. SQLite overwrites what is deleted, but not the copies that stay behind when it moves rows
between pages, and the WAL keeps pages as they were. So the file is written anew and the WAL emptied; while another
process reads, the latter has to wait, and a mark in the file says so until it is done.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from lastseen.memory.store.journal.rows import forget_texts

MARK = "wipe.pending"
"""Stands in the file's facts while bytes of what was forgotten may be left; it tells nothing of them."""
READ = "another process is reading the file"
FULL = "the disk is full"


def delete_objects(db: sqlite3.Connection, object_ids: Sequence[str]) -> None:
    """Delete objects with all that is theirs, and their ids from the events of others, and leave the mark."""
    for object_id in object_ids:
        db.execute("DELETE FROM events WHERE object_id = ?", (object_id,))
        db.execute("DELETE FROM objects WHERE id = ?", (object_id,))
    forgotten = set(object_ids)
    for number, text in db.execute("SELECT id, evidence FROM events WHERE evidence LIKE '%\"obj-%'").fetchall():
        evidence = json.loads(text)
        kept = {key: value for key, value in evidence.items() if not (isinstance(value, str) and value in forgotten)}
        if len(kept) < len(evidence):
            db.execute("UPDATE events SET evidence = ? WHERE id = ?", (json.dumps(kept, sort_keys=True), number))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (MARK,))
    forget_texts()


def rewrite(db: sqlite3.Connection) -> str | None:
    """Write the whole file anew, without what is left of deleted rows; returns what is in the way, if anything is."""
    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError as error:
        return _reason(error)
    return None


def empty_wal(db: sqlite3.Connection) -> str | None:
    """Put everything into the file and cut the WAL to nothing; returns what is in the way, if anything is."""
    try:
        busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.OperationalError as error:
        return _reason(error)
    return READ if busy else None


def _reason(error: sqlite3.OperationalError) -> str:
    busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_ERROR)
    return READ if busy else FULL
