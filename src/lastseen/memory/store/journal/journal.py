"""Writing and reading the one file that is the truth.

A batch is one transaction: it is on disk when ``write`` returns, or it never happened. Rows that did not change are
not written again, and a vector is not rewritten because its object was merely seen once more.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Self

from lastseen.config import Settings
from lastseen.config.memory import Retention
from lastseen.errors import JournalChanged, JournalError, JournalReadOnly, StorageFull
from lastseen.memory.store.journal.forgetting import FULL, MARK, READ, Retry, delete_objects, empty_wal, rewrite
from lastseen.memory.store.journal.opening import (
    BUSY_MS,
    OPEN_MARK,
    clear_errors,
    connect_reader,
    connect_writer,
    inspect,
    is_unborn,
)
from lastseen.memory.store.journal.reading import JournalReader
from lastseen.memory.store.journal.rows import (
    UPSERT_OBJECT,
    Batch,
    Written,
    digests_of,
    embedding_row,
    object_row,
    put_bodies,
    put_crops,
    put_events,
    put_meta,
    put_session,
    put_version,
    queue,
    version_row,
)
from lastseen.memory.store.journal.savepoint import Savepoint
from lastseen.memory.store.journal.schema import BODIES, in_newest_version
from lastseen.memory.store.journal.thinning import Thinning
from lastseen.memory.store.journal.writer_lock import WriterLock, wal_of
from lastseen.memory.store.records import TENTATIVE, ObjectRecord

_PATIENCE = 0.5
"""Seconds to wait for readers when something is forgotten: most are done by then, and the rest is tried again."""


class Journal(JournalReader):
    """One open memory file; ``path=None`` keeps the same tables in RAM."""

    def __init__(self, connection: sqlite3.Connection, *, path: Path | None, lock: WriterLock | None) -> None:
        super().__init__(connection, path=path)
        self._lock = lock
        self.writable = lock is not None or path is None
        """Whether this process may write."""
        self._written: dict[str, Written] = {}
        self.not_wiped: str | None = None
        """Why bytes of what was forgotten are still in the file; None when there are none."""
        self._thinning = Thinning(self.history_from if self.writable else -math.inf)
        self._savepoint: Savepoint | None = None
        self._rewritten = False
        self._retry = Retry(self._wipe_again)
        if path is not None and self.writable:
            self._begin()

    @classmethod
    def open(cls, path: str | Path | None, *, read_only: bool = False) -> Self:
        """Open a file for writing (made when missing) or reading; a file that is not ours is not touched."""
        if path is None:
            return cls(connect_writer(None), path=None, lock=None)
        file = Path(path)
        if read_only:
            with clear_errors(file):
                return cls(in_newest_version(connect_reader(file)), path=file, lock=None)
        lock = WriterLock(file)
        connection, is_complete = None, False
        try:
            with clear_errors(file):
                if not is_unborn(lock.path):
                    inspect(lock.path)
                is_complete = True
                connection = connect_writer(lock.path)
            lock.check()
            return cls(connection, path=file, lock=lock)
        except BaseException:
            if connection is not None:
                connection.close()
            if is_complete:
                # closing may have put the WAL into the file, which may have the mark
                _keep_complete(lock)
            lock.release()
            raise

    def _begin(self) -> None:
        """Mark the file as one whose WAL belongs to it, and finish what the last run left undone."""
        with self._transaction() as db:
            put_meta(db, OPEN_MARK, "1")
        assert self._lock is not None
        with clear_errors(self.path or ""):
            # into the file itself: whoever copies that alone is told so
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._lock.watch_wal()
        if MARK in self.meta():
            self._wipe(wait=0.0)

    def _end(self) -> None:
        """Take the mark back: closing puts everything into the file."""
        try:
            with self._transaction() as db:
                db.execute("DELETE FROM meta WHERE key = ?", (OPEN_MARK,))
        except JournalError:
            self._db.close()
            _keep_complete(self._lock)

    @property
    def history_kept(self) -> float:
        """The memory time that the history kept begins at, as of the last commit; minus infinity: all is kept."""
        return self._thinning.start

    def write(self, batch: Batch, *, settings: Settings, outbox: bool = False) -> int:
        """Write a batch durably and return how many rows it took; all of it or nothing."""
        staged: dict[str, Written] = {}
        with self._transaction() as db:
            before = db.total_changes
            for record in batch.objects:
                change = self._put_object(db, record, batch, settings)
                if change is not None:
                    staged[record.id] = change
                    if outbox and record.state != TENTATIVE:
                        queue(db, record.id, "upsert")
            for object_id in batch.removed:
                db.execute("DELETE FROM objects WHERE id = ?", (object_id,))
                if outbox:
                    queue(db, object_id, "remove")
            put_events(db, batch.events)
            if settings.store.store_crops:
                put_crops(db, batch.crops, settings)
            if batch.session is not None:
                put_session(db, batch.session)
            for key, value in sorted(batch.meta.items()):
                put_meta(db, key, value)
            for table in BODIES:
                put_bodies(db, table, batch.bodies.get(table, {}))
            if batch.forgotten:
                self._forget(db, batch, outbox=outbox)
            thinning = copy(self._thinning)
            thinning.step(db, batch.time, settings.retention)
            rows = db.total_changes - before
        self._thinning = thinning
        self._written.update(staged)
        for object_id in (*batch.removed, *batch.forgotten):
            self._written.pop(object_id, None)
        self._after_commit(forgot=bool(batch.forgotten))
        return rows

    def thin(self, now: float, retention: Retention) -> int:
        """Delete all history that is too old or too much at a memory time, and give its room back to the disk.

        Returns the rows deleted; they are gone from the file when this returns, whoever else reads it meanwhile.
        """
        thinned = 0
        thinning = Thinning(self.history_from)
        while True:
            with self._transaction() as db:
                rows = thinning.step(db, now, retention)
            self._thinning = thinning
            thinned += rows
            if not rows:
                break
        with self._guard, clear_errors(self.path or ":memory:"):
            # where someone reads, the room is used again by later commits
            rewrite(self._db)
            empty_wal(self._db)
        return thinned

    def queue_all(self, key: str, value: str) -> int:
        """Put every object but tentative ones into the outbox and note a fact about that; returns how many."""
        with self._transaction() as db:
            found = db.execute("SELECT id FROM objects WHERE state != ? ORDER BY num", (TENTATIVE,))
            ids = [str(row[0]) for row in found]
            for object_id in ids:
                queue(db, object_id, "upsert")
            put_meta(db, key, value)
        self._after_commit(forgot=False)
        return len(ids)

    def queue(self, ids: Sequence[str], op: str) -> None:
        """Put objects into the outbox, to be put into the shared index (upsert) or taken out of it (remove)."""
        with self._transaction() as db:
            for object_id in ids:
                queue(db, object_id, op)

    def savepoint(self) -> None:
        """Remember every row as it is now, until ``roll_back`` or ``release``: one savepoint at a time."""
        self.release()
        with self._guard, clear_errors(self.path or ":memory:"):
            self._savepoint = Savepoint(self._db)

    def release(self) -> None:
        """Let what was written since the savepoint stay; nothing happens without one."""
        with self._guard, clear_errors(self.path or ":memory:"):
            if self._savepoint is not None:
                self._savepoint.release()
                self._savepoint = None

    def roll_back(self) -> tuple[list[str], list[str]]:
        """Make every row what it was at the savepoint, in one transaction.

        Returns the ids of the objects that were changed since, and of those that were made since.
        """
        with self._guard, clear_errors(self.path or ":memory:"):
            assert self._savepoint is not None
            changed = self._savepoint.changed_objects()
            self._db.execute("PRAGMA foreign_keys = OFF")
            try:
                with self._transaction() as db:
                    self._savepoint.restore(db)
            finally:
                self._db.execute("PRAGMA foreign_keys = ON")
            self.release()
        self._written.clear()
        self._thinning = Thinning(self.history_from)
        return changed

    def copy_to(self, out: Path) -> None:
        """Write a copy of everything to a new file; it is on disk when this returns."""
        with self._guard, clear_errors(out):
            self._db.execute("VACUUM INTO ?", (str(out),))
        with out.open("rb") as file:
            os.fsync(file.fileno())

    def note(self, key: str, value: str | None) -> None:
        """Write a fact about the whole file, or take it out."""
        with self._transaction() as db:
            if value is None:
                db.execute("DELETE FROM meta WHERE key = ?", (key,))
            else:
                put_meta(db, key, value)
        self._after_commit(forgot=False)

    def sent(self, up_to: int) -> None:
        """Take entries up to a number out of the outbox."""
        with self._transaction() as db:
            db.execute("DELETE FROM outbox WHERE seq <= ?", (up_to,))
        self._after_commit(forgot=False)

    def close(self) -> None:
        """Close the file and let others write; may be called twice."""
        self._retry.end()
        if self._is_inherited():
            return
        with self._guard:
            if self.writable and self.path is not None:
                if self.not_wiped is not None:
                    # a file that was taken away has told so at every commit
                    with suppress(JournalError):
                        self._wipe(wait=_PATIENCE)
                self._end()
            self._db.close()
            if self._lock is not None:
                self._lock.release()
            self.writable = False

    def wipe(self) -> None:
        """Leave no byte of what was just deleted with the mark that says so, as after objects are forgotten."""
        self._after_commit(forgot=True)

    def _forget(self, db: sqlite3.Connection, batch: Batch, *, outbox: bool) -> None:
        delete_objects(db, batch.forgotten, batch.unnamed)
        if outbox:
            for object_id in batch.forgotten:
                db.execute("DELETE FROM outbox WHERE object_id = ?", (object_id,))
                queue(db, object_id, "remove")

    def _after_commit(self, *, forgot: bool) -> None:
        if forgot and self.path is not None:
            self._rewritten = False
            self._wipe(wait=_PATIENCE)
        elif self.not_wiped is not None:
            self._wipe(wait=0.0)

    def _wipe(self, *, wait: float) -> None:
        """Finish a forgetting, waiting so many seconds for readers; ``not_wiped`` says what is in the way."""
        with self._guard, clear_errors(self.path or ":memory:"):
            self._db.execute(f"PRAGMA busy_timeout = {int(1000 * wait)}")
            try:
                # once is enough: a later try has only to empty the WAL
                self.not_wiped = None if self._rewritten else rewrite(self._db)
                self._rewritten = self.not_wiped is None
                self.not_wiped = self.not_wiped or empty_wal(self._db)
                if self.not_wiped not in (None, READ):
                    self._opened_at = None
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            if self.not_wiped is None:
                try:
                    with self._transaction() as db:
                        db.execute("DELETE FROM meta WHERE key = ?", (MARK,))
                except StorageFull:
                    self.not_wiped = FULL
        if self.not_wiped is not None:
            self._retry.start()

    def _wipe_again(self) -> bool:
        """Try once more to finish a forgetting; says whether nothing is left to do."""
        with self._guard:
            if self.writable and self.not_wiped is not None:
                try:
                    self._wipe(wait=0.0)
                except JournalError:
                    return True
            return not self.writable or self.not_wiped is None

    def _known(self, object_id: str) -> Written | None:
        """What the file holds of an object, looked up the first time it is written by this process."""
        known = self._written.get(object_id)
        if known is None:
            record = self.object(object_id)
            if record is not None:
                vectors = embedding_row(record)
                known = digests_of(object_row(record, vectors), vectors, version_row(record))
        return known

    def _put_object(
        self, db: sqlite3.Connection, record: ObjectRecord, batch: Batch, settings: Settings
    ) -> Written | None:
        vectors, version = embedding_row(record), version_row(record)
        row = object_row(record, vectors)
        digests, known = digests_of(row, vectors, version), self._known(record.id)
        if known is not None and known == digests:
            return None
        num = int(db.execute(UPSERT_OBJECT, row).fetchone()[0])
        if vectors is not None and (known is None or known.embedding != digests.embedding):
            db.execute("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?)", (num, *vectors))
        elif vectors is None and known is not None and known.embedding:
            db.execute("DELETE FROM embeddings WHERE num = ?", (num,))
        if record.state != TENTATIVE and (known is None or known.version != digests.version):
            put_version(db, num, record, version, batch, keep=settings.store.keep_versions)
        return digests

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if not self.writable:
            raise JournalReadOnly(self.path, "was opened for reading or is closed; open it for writing")
        with self._reading():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if self._opened_at is None:
                    self._opened_at = self._version()
                if self.written_since():
                    problem = "another process wrote it since it was opened; nothing of that was overwritten"
                    raise JournalChanged(self.path, f"{problem}, open it again")
                yield self._db
                if self._lock is not None:
                    self._lock.check()
                self._db.execute("COMMIT")
            except BaseException as error:
                # a full disk may have ended the transaction already
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, JournalChanged):
                    # a deleted WAL is still open here: what it holds goes into the file
                    self._db.execute("PRAGMA wal_checkpoint(FULL)")
                    _keep_complete(self._lock)
                raise


def _keep_complete(lock: WriterLock | None) -> None:
    """Put an empty WAL beside a file that holds everything and may still have the mark."""
    if lock is not None and lock.leads_here():
        with suppress(OSError):
            wal_of(lock.path).touch()
