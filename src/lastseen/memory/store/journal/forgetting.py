"""Forgetting for good: after it no byte of an object is in the file, its WAL or its free pages.

Deleting is not enough. SQLite overwrites what is deleted, but not the copies that stay behind when it moves rows
between pages, and the WAL keeps pages as they were. So the file is written anew and the WAL emptied; while another
process reads, the latter has to wait, and a mark in the file says so until it is done.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from lastseen.memory.store.journal.rows import forget_texts, put_meta
from lastseen.memory.store.journal.schema import row_sum

MARK = "wipe.pending"
"""Stands in the file's facts while bytes of what was forgotten may be left; it tells nothing of them."""
READ = "another process is reading the file"
FULL = "the disk is full"
FAILED = "the disk cannot be written"
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds between tries to finish a wipe, doubled each time."""


def delete_objects(db: sqlite3.Connection, object_ids: Sequence[str], labels: Collection[str] = ()) -> None:
    """Delete objects with all that is theirs, their ids and labels from the events of others, and leave the mark."""
    for object_id in object_ids:
        db.execute("DELETE FROM events WHERE object_id = ?", (object_id,))
        db.execute("DELETE FROM objects WHERE id = ?", (object_id,))
    names = frozenset(label.casefold() for label in labels)
    parts = ["evidence LIKE '%\"obj-%'", *("instr(lower(evidence), ?)" for _ in names)]
    wanted = [json.dumps(name)[1:-1].lower() for name in sorted(names)]
    found = db.execute(
        f"SELECT id, time, object_id, kind, evidence FROM events WHERE {' OR '.join(parts)}", wanted
    ).fetchall()
    for *row, text in found:
        evidence = json.loads(text)
        kept = _without(evidence, frozenset(object_ids), names)
        if kept != evidence:
            row.append(json.dumps(kept, sort_keys=True))
            db.execute("UPDATE events SET evidence = ?, checksum = ? WHERE id = ?", (row[-1], row_sum(*row), row[0]))
    put_meta(db, MARK, "1")
    forget_texts()


def _without(value: Any, ids: frozenset[str], names: frozenset[str]) -> Any:
    """JSON data without the texts that are one of these ids or contain one of these names."""
    if isinstance(value, dict):
        return {key: _without(each, ids, names) for key, each in value.items() if not _tells(each, ids, names)}
    if isinstance(value, list):
        return [_without(each, ids, names) for each in value if not _tells(each, ids, names)]
    return value


def _tells(value: Any, ids: frozenset[str], names: frozenset[str]) -> bool:
    return isinstance(value, str) and (value in ids or any(name in value.casefold() for name in names))


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
    code = error.sqlite_errorcode & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_ERROR):
        return READ
    return FULL if code == sqlite3.SQLITE_FULL else FAILED


class Retry:
    """Calls a function again and again, in a thread of its own, until it says that it is done or this is ended."""

    def __init__(self, attempt: Callable[[], bool]) -> None:
        self._attempt = attempt
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to try; it may be under way already."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="lastseen-wipe", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Try no more."""
        self._ended.set()

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._ended.wait(wait) and not self._attempt():
            wait = min(2.0 * wait, _LONGEST_WAIT)
