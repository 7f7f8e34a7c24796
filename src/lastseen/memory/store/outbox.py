"""What a shared index still has to be told: queued in the journal, sent in order, however long the server is away.

A commit never waits for the network. The queue is part of the same transaction as the change itself, so that nothing
that is on disk is ever missing from it; what is sent is an object's newest state, so sending twice does no harm.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lastseen.encoders.colors import COLORS
from lastseen.errors import IndexUnreachable
from lastseen.memory.store.index.milvus import MilvusIndex, quoted
from lastseen.memory.store.journal import Journal
from lastseen.memory.store.records import PROTO, ObjectRecord

_log = logging.getLogger(__name__)
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds between tries: doubled each time, so that a server that is gone for a day is not hammered."""


class Outbox:
    """Carries journal entries to a Milvus collection, in a thread of its own."""

    def __init__(
        self,
        journal: Journal,
        connect: Callable[[int], MilvusIndex],
        *,
        robot: str,
        dim: Callable[[], int | None],
        session_of: Callable[[float], int],
        is_stale: Callable[[float], bool],
    ) -> None:
        self._journal = journal
        self._connect = connect
        self._robot = robot
        self._dim = dim
        self._session_of = session_of
        self._is_stale = is_stale
        self._index: MilvusIndex | None = None
        self._news, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.last_error: str | None = None

    def start(self) -> None:
        """Send from now on whenever there is news."""
        self._thread = threading.Thread(target=self._run, name="lastseen-outbox", daemon=True)
        self._thread.start()
        self._news.set()

    def wake(self) -> None:
        """Tell that something was queued."""
        self._news.set()

    def drain(self) -> int:
        """Send everything queued and return how many entries it was; raises when the server is away."""
        sent = 0
        while True:
            entries = self._journal.queued(500)
            if not entries:
                return sent
            latest = {object_id: op for _, object_id, op in entries}
            records = {key: self._journal.object(key) for key in latest}
            held = [record for record in records.values() if record is not None and record.status != PROTO]
            self._send([record for record in held if record.embedding is not None])
            self._remove([key for key, record in records.items() if record is None])
            self._journal.sent(entries[-1][0])
            sent += len(entries)

    def settle(self, seconds: float) -> bool:
        """Wait until nothing is queued, at most this long; tells whether that came to pass."""
        end = time.monotonic() + seconds
        while self._journal.queued(1):
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
                    self.last_error, wait = None, _FIRST_WAIT
                    break
                except IndexUnreachable as error:
                    if self.last_error is None:
                        _log.warning("%s; upserts wait in the outbox", error)
                    self.last_error = str(error)
                    self._ended.wait(wait)
                    wait = min(wait * 2.0, _LONGEST_WAIT)

    def _send(self, records: list[ObjectRecord]) -> None:
        if not records:
            return
        vectors = np.stack([record.embedding for record in records if record.embedding is not None]).astype(
            np.float32
        )
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
        self._to(vectors.shape[1]).upsert_rows([self._facts(record) for record in records], vectors)

    def _remove(self, object_ids: list[str]) -> None:
        dim = self._dim()
        if not object_ids or dim is None:
            return
        index = self._to(dim)
        for object_id in object_ids:
            where = f"robot == {quoted(self._robot)} and object == {quoted(object_id)}"
            index.remove([str(row["key"]) for row in index.rows(where=where, fields=["key"])])

    def _to(self, dim: int) -> MilvusIndex:
        if self._index is None:
            self._index = self._connect(dim)
        return self._index

    def _facts(self, record: ObjectRecord) -> dict[str, Any]:
        session = self._session_of(record.first_seen)
        return {
            "key": f"{self._robot}/{session}/{record.id}",
            "robot": self._robot,
            "session": session,
            "object": record.id,
            "x": float(record.xyz[0]),
            "y": float(record.xyz[1]),
            "z": float(record.xyz[2]),
            "label": record.label or "",
            "color": "" if record.colors is None else COLORS[int(np.argmax(record.colors))],
            "last_seen": float(record.last_seen),
            "stale": self._is_stale(record.last_seen),
            "status": record.status,
        }
