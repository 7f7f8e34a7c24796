"""How a memory takes in and keeps: frames and corrections go through working memory to disk, under one lock.

Everything that changes a memory passes here, so the order of things is written down once: working memory first,
then what can be searched, then the journal, then the robots that share it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lastseen.config import Settings
from lastseen.errors import JournalReadOnly
from lastseen.frame import Frame
from lastseen.memory.feeding import Feeding
from lastseen.memory.fleet import Shared
from lastseen.memory.last_pose import LastPose
from lastseen.memory.longterm.clock import PAUSE, Clock
from lastseen.memory.longterm.store import LongTermStore
from lastseen.memory.objects import Crop, Event, ObjectMemory
from lastseen.memory.objects.snapshot import room
from lastseen.memory.sessions import Sessions
from lastseen.memory.whereabouts import Whereabouts
from lastseen.observation import Observation


class Keeper:
    """The parts of one open memory: working memory, journal, clock, places and the shared index.

    ``lock`` lets one frame in at a time and no question into the middle of one; commits and searches do not hold it.
    """

    def __init__(
        self,
        path: str | Path | None,
        settings: Settings,
        *,
        read_only: bool,
        look: str | None,
        index: str,
        wall_clock: Callable[[], float] | None,
    ) -> None:
        self.lock = threading.RLock()
        self.read_only = read_only
        self.objects = ObjectMemory(settings, crop_sink=self._take_crop)
        self.store, rows = LongTermStore.open(
            path, settings, read_only=read_only, look=look, room=partial(room, self.objects.store)
        )
        try:
            # nobody knows how long a stopped clock stood: what was seen once or twice before it must be seen anew
            pause = settings.lifecycle.tentative_ttl + PAUSE
            self.clock = Clock(self.store.journal.sessions(), pause=pause)
            self.whereabouts = Whereabouts(self.store.journal.meta(), settings)
            self._sessions = Sessions(self.clock, settings.longterm, wall_clock=wall_clock)
            self._feeding = Feeding(self.objects, self.store)
            if rows is not None:
                self._feeding.restore(rows)
            self.shared = Shared.open(index, self.store, self.clock, settings)
        except BaseException:
            self.store.close()
            raise
        self._closed = False

    def take(self, frame: Frame, observations: Sequence[Observation]) -> tuple[Event, ...]:
        """Take one frame and what was seen in it; now and then it is written at once."""
        self._needs_writing("observe")
        with self.lock:
            self.objects.check(observations)
            time = self._sessions.take(frame.stamp)
            self.whereabouts.pose = LastPose(frame.T_world_camera, time)
            events = self.objects.observe(frame if time == frame.stamp else replace(frame, stamp=time), observations)
            self._feeding.tell(events)
            due = self._sessions.upsert_is_due(time)
        if due:
            self.flush()
        return events

    def end_session(self) -> None:
        """Let the next frame begin a session."""
        self._needs_writing("begin a session")
        self.flush()
        with self.lock:
            self._sessions.end()
            self.whereabouts.spatial.retire_frames()

    def correct(self, change: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        """Make a change to working memory that does not come from a frame, and write it."""
        self._needs_writing("correct it")
        with self.lock:
            events = change()
            self._feeding.tell(events)
        self.flush()
        return events

    def forget(self, ids: Sequence[str]) -> None:
        """Delete objects for good, everywhere."""
        with self.lock:
            self._feeding.forget(ids)
        self.pull()
        self.store.forget(ids, outbox=self.shared.used)
        self.flush()
        self.shared.wake()

    def pull(self) -> None:
        """Bring what changed in working memory to where it can be searched."""
        if not self.read_only:
            with self.lock:
                self._feeding.pull()

    def flush(self) -> int:
        """Write everything that changed; it is on disk when this returns. Returns the rows written."""
        if self.read_only or self._closed:
            return 0
        self.pull()
        with self.lock:
            self.store.stage(meta=self.whereabouts.take_unkept())
        if not self.store.waiting:
            return 0
        rows = self.store.commit(self.clock.now, session=self.clock.current, outbox=self.shared.used)
        self.shared.wake()
        return rows

    def close(self) -> None:
        """Write what is not yet written and release the file; may be called twice."""
        if self._closed:
            return
        try:
            self.flush()
        finally:
            self._closed = True
            self.shared.close()
            self.store.close()

    def _needs_writing(self, purpose: str) -> None:
        if self.read_only:
            path = self.store.journal.path
            raise JournalReadOnly(path, f"was opened for reading; open it for writing to {purpose}")

    def _take_crop(self, crop: Crop) -> None:
        self._feeding.take_crop(crop)
