"""A memory file that another process may be writing: read again when it has changed."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path

from lastseen.config import Settings
from lastseen.errors import JournalError
from lastseen.memory.eyes import Eyes
from lastseen.memory.facade import Memory
from lastseen.memory.objects import Event, EventKind
from lastseen.server.live import Runner
from lastseen.server.service import Service

_log = logging.getLogger(__name__)


class FreshFile:
    """Keeps one service at the newest state of a file, which is opened for reading only."""

    def __init__(self, path: Path, settings: Settings, *, encoder: str | None = None) -> None:
        self.path = path
        self.settings = settings
        self._eyes = Eyes(encoder, settings.encoding)
        self._lock = threading.Lock()
        self._number = path.stat().st_ino if path.exists() else 0
        memory = self._open()
        self.note = self._eyes.give(memory)
        self._last_event = memory.store.journal.last_event()
        self._before: Memory | None = None
        self.service = Service(memory, eyes=self._eyes.encoder)

    def caught_up(self) -> Service:
        """The service over what the file holds now."""
        with self._lock:
            # another file may have taken this one's place
            number = self.path.stat().st_ino if self.path.exists() else 0
            if number != self._number or self.service.memory.store.journal.written_since():
                self._turn()
                self._number = number
            return self.service

    def close(self) -> None:
        """Release the file."""
        for memory in (self._before, self.service.memory):
            if memory is not None:
                memory.close()

    def _turn(self) -> None:
        memory = self._open()
        self._eyes.give(memory)
        journal = memory.store.journal
        # fewer events than before: another file took this one's place, and its past is not news
        known = min(self._last_event, journal.last_event())
        self._last_event, records = journal.events_after(known)
        events = [
            Event(record.time, 0, EventKind(record.kind), record.object_id, record.evidence) for record in records
        ]
        if self._before is not None:
            self._before.close()
        # a question may still be on its way through the last one: it is closed a change later
        self._before = self.service.memory
        self.service.turn_to(memory, events)

    def _open(self) -> Memory:
        return Memory.open(self.path, settings=self.settings, read_only=True)


class FileRunner(Runner):
    """Follows what another process writes, so that page, answers and events keep up with it."""

    def __init__(self, fresh: FreshFile) -> None:
        super().__init__(fresh.service)
        self.fresh = fresh

    def feed(self) -> None:
        """Look at the file now and then; one that cannot be read is told by health and tried again."""
        status = self.service.source
        status.state = "following"
        while not self.stopped.wait(self.service.settings.live.follow_period):
            try:
                self.fresh.caught_up()
            except (JournalError, sqlite3.Error, OSError) as error:
                if status.state == "following":
                    _log.error("the file cannot be read again: %s", error)
                status.error, status.state = str(error), "failed"
            else:
                status.error, status.state = None, "following"
