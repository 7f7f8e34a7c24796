"""A memory file that another process may be writing: read again when it has changed."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path

from lastseen.config import Settings
from lastseen.encoders import open_encoder
from lastseen.errors import LastseenError
from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event, EventKind
from lastseen.memory.store.records import EventRecord
from lastseen.server.live import Runner
from lastseen.server.service import Service

_log = logging.getLogger(__name__)
_KINDS = frozenset(EventKind)
"""A newer version may write other kinds; those are left out."""


class FreshFile:
    """Keeps one service at the newest state of a file, which is opened for reading only."""

    def __init__(self, path: Path, settings: Settings, *, encoder: str | None = None) -> None:
        self.path = path
        self.settings = settings
        self._encoder = None if encoder is None else open_encoder(encoder, settings.encoding)
        self._lock = threading.Lock()
        self._number = path.stat().st_ino if path.exists() else 0
        memory = self._open()
        self.note = memory.names_only()
        self._last_event = memory.store.journal.last_event()
        self._replaced: list[tuple[int, Memory]] = []
        self.service = Service(memory, image_encoder=memory.image_encoder)

    def caught_up(self) -> Service:
        """The service over what the file holds now."""
        with self._lock:
            self._close_unused()
            # another file may have taken this one's place
            number = self.path.stat().st_ino if self.path.exists() else 0
            if number != self._number or self.service.memory.store.journal.written_since():
                self._read_again()
                self._number = number
            return self.service

    def close(self) -> None:
        """Release the file."""
        for memory in (*(memory for _, memory in self._replaced), self.service.memory):
            memory.close()

    def _read_again(self) -> None:
        service, before, memory = self.service, self.service.memory, self._open()
        try:
            journal = memory.store.journal
            # fewer events than before: another file took this one's place, and its past is nothing new
            known = min(self._last_event, journal.last_event())
            last, records = journal.events_after(known)
            service.replace_memory(memory, [_event(record) for record in records if record.kind in _KINDS])
        finally:
            if service.memory is memory:
                self._replaced.append((service.in_flight.next_generation(), before))
            else:
                memory.close()
        self._last_event = last

    def _close_unused(self) -> None:
        # no memory is needed longer than one that came after it
        while self._replaced and self.service.in_flight.is_over(self._replaced[0][0]):
            self._replaced.pop(0)[1].close()

    def _open(self) -> Memory:
        return Memory.open(self.path, settings=self.settings, read_only=True, image_encoder=self._encoder)


class FileRunner(Runner):
    """Follows what another process writes, so that page, answers and events keep up with it."""

    def __init__(self, fresh: FreshFile) -> None:
        super().__init__(fresh.service)
        self.fresh = fresh

    def feed(self) -> None:
        """Look at the file now and then; one that cannot be read is reported by health and tried again."""
        status = self.service.source
        status.state = "following"
        while not self.stopped.wait(self.service.settings.live.follow_period):
            try:
                self.fresh.caught_up()
            except (LastseenError, ValueError, sqlite3.Error, OSError) as error:
                if status.state == "following":
                    _log.error("the file cannot be read again: %s", error)
                status.error, status.state = str(error), "failed"
            else:
                status.error, status.state = None, "following"


def _event(record: EventRecord) -> Event:
    return Event(record.time, 0, EventKind(record.kind), record.object_id, record.evidence)
