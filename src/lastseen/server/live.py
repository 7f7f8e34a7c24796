"""What keeps a served memory new: a source that is followed, or a file that another process writes."""

from __future__ import annotations

import logging
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from lastseen.config import Settings
from lastseen.encoders import open_encoder
from lastseen.errors import LastseenError
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event, EventKind
from lastseen.memory.store.records import EventRecord
from lastseen.perception.pipeline import Perception
from lastseen.server.service import Service
from lastseen.sources.base import RecordSource
from lastseen.sources.doctor.gravity import UprightWatch
from lastseen.sources.follow import frames_into

_log = logging.getLogger(__name__)
_JOIN = 1.5
"""Seconds that the frame in hand gets when the server stops; what was taken before it is flushed either way."""
_KINDS = frozenset(EventKind)
"""A newer version may write other kinds; those are left out."""


class Runner(ABC):
    """A thread that takes frames into a service until they end or it is stopped."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lastseen-source", daemon=True)

    def start(self) -> None:
        """Begin."""
        self.service.source.state = "waiting"
        self._thread.start()

    def stop(self) -> None:
        """End after the frame in hand; what was taken is flushed when the memory closes."""
        self.stopped.set()
        self.interrupt()
        if self._thread.is_alive():
            self._thread.join(timeout=_JOIN)

    @abstractmethod
    def feed(self) -> None:
        """Take frames until they end or ``stopped`` is set."""

    def interrupt(self) -> None:
        """Wake a thread that waits for something; by default none does for long."""
        return

    def _run(self) -> None:
        status = self.service.source
        try:
            self.feed()
        except LastseenError as error:
            if not self.stopped.is_set():
                status.error, status.state = str(error), "failed"
                _log.error("the source failed: %s", error)
        except Exception as error:  # noqa: BLE001
            # a thread's error reaches nobody by itself: health and page must tell it
            if not self.stopped.is_set():
                status.error, status.state = f"{type(error).__name__}: {error}", "failed"
                _log.exception("the source failed")
        else:
            status.state = "ended"


class SourceRunner(Runner):
    """Follows a source: a recording at the pace it was made, a live stream as it comes.

    The source is opened on the runner's thread: one that keeps us waiting keeps nobody from asking the memory.
    """

    def __init__(self, service: Service, opening: Callable[[], tuple[RecordSource, Perception]]) -> None:
        super().__init__(service)
        self._opening = opening
        self._source: RecordSource | None = None

    def feed(self) -> None:
        """Take every frame through perception into memory."""
        source, perception = self._opening()
        with source:
            self._source = source
            if self.stopped.is_set():
                return
            source.waiting = self._silent
            self._follow(source, perception)

    def interrupt(self) -> None:
        """Close a live stream, which may be waiting for its next frame."""
        if self._source is not None and self._source.live:
            self._source.close()

    def _follow(self, source: RecordSource, perception: Perception) -> None:
        service, upright = self.service, UprightWatch()
        last: Frame | None = None
        for frame, updates, corrected in frames_into(service.memory, source):
            if self.stopped.is_set():
                return
            if updates.restarted:
                # another session may be in a map that is turned otherwise
                perception.box_yaw = None
            service.publish(corrected)
            if not source.live and last is not None:
                # a pause in a recording need not be sat through
                self.stopped.wait(min(max(0.0, frame.stamp - last.stamp), 1.0))
            perceived = perception.perceive(frame)
            service.observe(frame, perceived)
            service.source.state, last = "running", frame
            if perceived.refusal is None:
                upright.observe(frame)
                if upright.is_due:
                    self._warn(upright.note())
        if upright.knows:
            self._warn(upright.note())
        service.flush()

    def _warn(self, text: str) -> None:
        store = self.service.memory.store
        if text and not store.warning:
            _log.warning(text)
        store.warn(text)

    def _silent(self, seconds: float) -> None:
        if self.service.source.state == "running":
            self.service.source.state = "waiting"
            _log.warning("nothing came from the source for %.0f s; waiting", seconds)


class FreshFile:
    """Keeps one service at the newest state of a file that another process may write; opened for reading only."""

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
