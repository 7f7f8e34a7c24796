"""What a shared index still has to be told: queued in the journal, sent in order, however long the server is away.

A commit never waits for the network. The queue is part of the same transaction as the change itself, so that nothing
that is on disk is ever missing from it; what is sent is an object's newest state, so sending twice does no harm.
Whatever goes wrong is kept, shown and tried again: the thread that sends ends with the memory and not before.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lastseen.encoders.colors import COLORS
from lastseen.errors import JournalError, LastseenError
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.journal import Journal
from lastseen.memory.store.milvus import MilvusIndex
from lastseen.memory.store.records import TENTATIVE, ObjectRecord

_log = logging.getLogger(__name__)
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds between tries: doubled each time, so that a server that is gone for a day is not hammered."""
_BATCH = 500
"""Entries sent at once: about a megabyte."""
TARGET, ERROR = "outbox.target", "outbox.error"
"""Facts of the file: which collection was sent everything, and why the newest entries were not sent."""


class Outbox:
    """Carries journal entries to a Milvus collection, in a thread of its own.

    ``target`` names the collection and the robot; ``clock`` gives the session and the date of a memory time.
    """

    def __init__(
        self,
        journal: Journal,
        connect: Callable[[], MilvusIndex],
        *,
        robot: str,
        target: str,
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._connect = connect
        self._robot = robot
        self._target = target
        self._clock = clock
        self._index: MilvusIndex | None = None
        self._news, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.last_error: str | None = journal.meta().get(ERROR)

    def start(self) -> None:
        """Queue everything the file holds where this collection was never told it, and send from now on."""
        if self._journal.meta().get(TARGET) != self._target:
            self._journal.queue_all(TARGET, self._target)
        self._thread = threading.Thread(target=self._run, name="lastseen-outbox", daemon=True)
        self._thread.start()
        self._news.set()

    def wake(self) -> None:
        """Tell that something was queued."""
        self._news.set()

    def drain(self) -> int:
        """Send everything queued and return how many entries it was; raises when the server is away."""
        sent = 0
        while not self._ended.is_set():
            entries = self._journal.queued(_BATCH)
            if not entries:
                return sent
            latest = {object_id: op for _, object_id, op in entries}
            records = {key: self._journal.object(key) for key in latest}
            self._send([record for record in records.values() if record is not None and record.state != TENTATIVE])
            self._remove([key for key, record in records.items() if record is None or record.state == TENTATIVE])
            self._journal.sent(entries[-1][0])
            sent += len(entries)
        return sent

    def settle(self, seconds: float) -> bool:
        """Wait until nothing is queued and no error stands, at most this long; tells whether that came to pass."""
        end = time.monotonic() + seconds
        # the error is taken back a moment after the last entry was sent
        while self._journal.queued(1) or self.last_error is not None:
            if time.monotonic() >= end:
                return False
            self._news.set()
            time.sleep(0.05)
        return True

    def stop(self) -> None:
        """End the thread; what is queued stays queued."""
        self._ended.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._index is not None:
            self._index.close()

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._ended.is_set():
            self._news.wait()
            self._news.clear()
            while not self._ended.is_set():
                try:
                    self.drain()
                except Exception as error:  # noqa: BLE001 - kept, shown and tried again, whatever it is
                    self._keep(error)
                    self._ended.wait(wait)
                    wait = min(wait * 2.0, _LONGEST_WAIT)
                    continue
                self._keep(None)
                wait = _FIRST_WAIT
                break

    def _keep(self, error: Exception | None) -> None:
        """Note why entries wait, here and in the file, where other processes read it; None when none do."""
        if error is not None and self._index is not None:
            # a new connection may find what the old one did not
            self._index.close()
            self._index = None
        text = None if error is None else f"{type(error).__name__}: {error}"
        text = str(error) if isinstance(error, LastseenError) else text
        if text == self.last_error:
            return
        if text is not None:
            _log.warning("%s; upserts wait in the outbox and are tried again", text)
        self.last_error = text
        try:
            self._journal.note(ERROR, text)
        except JournalError as failed:
            _log.warning("%s", failed)

    def _send(self, records: list[ObjectRecord]) -> None:
        if not records:
            return
        index = self._to()
        vectors = np.zeros((len(records), index.dim), dtype=np.float32)
        for row, record in zip(vectors, records, strict=True):
            # one without an embedding can still be found by place, label and time
            if record.embedding is not None and (length := float(np.linalg.norm(record.embedding))) > 0.0:
                row[:] = record.embedding / length
        index.upsert_rows([self._row(record) for record in records], vectors)

    def _remove(self, object_ids: list[str]) -> None:
        if object_ids:
            self._to().remove_objects(self._robot, object_ids)

    def _to(self) -> MilvusIndex:
        if self._index is None:
            self._index = self._connect()
        return self._index

    def _row(self, record: ObjectRecord) -> dict[str, Any]:
        session, wall = self._clock.session_at(record.first_seen), self._clock.wall(record.last_seen)
        return {
            "key": f"{self._robot}/{record.id}",
            "robot": self._robot,
            "session": 0 if session is None else session.id,
            "object": record.id,
            "x": float(record.xyz[0]),
            "y": float(record.xyz[1]),
            "z": float(record.xyz[2]),
            "label": record.label or "",
            "color": "" if record.colors is None else COLORS[int(np.argmax(record.colors))],
            "seen_at": -1.0 if wall is None else wall.timestamp(),
            "state": record.state,
        }
