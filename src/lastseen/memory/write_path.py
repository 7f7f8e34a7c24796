"""The write path of a memory: a frame or a correction goes through working memory and space to the journal.

Everything that changes a memory passes here under one lock, so the order is written down once: working memory
first, then what can be searched, then the journal, then the index that robots share.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from lastseen.closing import Closes
from lastseen.config import Settings
from lastseen.detection import Box
from lastseen.encoders.color_shape import ColorShapeEncoder, crop_colors
from lastseen.errors import JournalReadOnly
from lastseen.frame import Frame, StampOrder
from lastseen.memory.facts import Facts
from lastseen.memory.objects import Crop, Event, EventKind, ObjectMemory, ObjectState, Rows
from lastseen.memory.objects.boxes import around
from lastseen.memory.objects.columns import id_text
from lastseen.memory.objects.snapshot import room
from lastseen.memory.places.events import SpatialEvent
from lastseen.memory.places.tracker import Step
from lastseen.memory.rooms.rooms import Rooms
from lastseen.memory.session_frames import SessionFrames
from lastseen.memory.shared_index import SharedIndex
from lastseen.memory.space.space import Space
from lastseen.memory.store.clock import PAUSE, Clock
from lastseen.memory.store.journal.forgetting import MARK
from lastseen.memory.store.records import CropRecord, EventRecord
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.working import counters_of, encoder_name, records_of, views_of
from lastseen.observation import Observation
from lastseen.protocols import SceneAnalyzer

_log = logging.getLogger(__name__)
_NEW_CROP = np.float32(0.5)
"""Weight of a new crop in an object's colour: they come seldom, each better than the last or from a new side."""


class Forgotten(list[str]):
    """The ids that were forgotten; ``not_yet`` names what keeps bytes of them from being wiped, empty when all are.

    What is not yet wiped is wiped as soon as nothing is in the way: by a later commit, at the end of the run, or by
    the next one that opens the file for writing.
    """

    def __init__(self, ids: Iterable[str] = (), *, not_yet: Iterable[str] = ()) -> None:
        super().__init__(ids)
        self.not_yet = tuple(not_yet)


class WritePath(Closes):
    """The parts of one open memory: working memory, space, journal, clock and the shared index.

    ``lock`` lets one frame in at a time and no question into the middle of one; commits and searches do not hold it.
    """

    lock: threading.RLock
    store: LongTermStore

    def __init__(
        self,
        path: str | Path | None,
        settings: Settings,
        *,
        read_only: bool,
        image_encoder: str | None = None,
        index: str = "faiss",
        analyzer: SceneAnalyzer | None = None,
        wall_clock: Callable[[], float] | None = None,
        again: WritePath | None = None,
    ) -> None:
        # one that is read again from its journal goes on under the same lock
        self.lock = threading.RLock() if again is None else again.lock
        journal = None if again is None else again.store.journal
        self.read_only = read_only
        self.settings = settings
        self.objects = ObjectMemory(settings, crop_sink=self._take_crop)
        self.store, rows = LongTermStore.open(
            path,
            settings,
            read_only=read_only,
            image_encoder=image_encoder,
            room=partial(room, self.objects.store),
            journal=journal,
        )
        try:
            # nobody knows how long a stopped clock stood: what was seen once or twice before it must be seen anew
            pause = settings.lifecycle.tentative_ttl + PAUSE
            self.clock = Clock(self.store.journal.sessions(), pause=pause)
            self.space = Space(self.store.journal, settings, analyzer=analyzer)
            self.colors = dict(self.store.colors)
            self._version = 0
            if rows is not None:
                self._restore(rows)
            self.facts = Facts(self.store.journal)
            self.frames = SessionFrames(self.store.journal)
            self.rooms = Rooms(self.space, self.objects, self.store.journal, self.facts)
            self.shared = SharedIndex(index, self.store, self.clock, settings, wall_clock=wall_clock)
        except BaseException:
            self.store.close()
            raise
        self.place_events: list[SpatialEvent] = []
        self._wall_clock, self._index = wall_clock, index
        self._order = StampOrder()
        self._last_upsert: float | None = None
        self._closed = False

    def observe(
        self,
        frame: Frame,
        observations: Sequence[Observation],
        *,
        seen: Sequence[tuple[str, float]] | None,
        step: Step | None,
        people: Sequence[Box] | None,
    ) -> tuple[Event, ...]:
        """Take one frame and what was seen in it into working memory; ``flush_if_due`` writes it."""
        with self.lock:
            self.objects.check(observations)
            frame = self._in_memory_time(frame)
            events = self.objects.observe(frame, observations)
            if len(self.facts):
                events += self._correct_facts(events)
            self._stage_events(events)
            self.place_events = self.space.observe(
                frame, observations, ids=self.objects.matched, events=events, seen=seen, step=step, people=people
            )
        return events

    def _correct_facts(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Let what a frame showed correct what was told: a told thing is recognised, contents go with what moved."""
        moved = {event.object_id: _shift(event) for event in events if event.kind is EventKind.MOVED}
        if not moved and all(event.kind is not EventKind.CONFIRMED for event in events):
            return ()
        told = []
        for fact in (*self.facts.of("object"), *self.facts.of("contents")):
            if fact.object_id is None or not self.objects.holds(fact.object_id):
                continue
            state = self.objects.state(fact.object_id)
            if state.hits and state.last_seen > fact.time:
                continue
            told.append(fact.object_id)
            shift = moved.get(fact.container_id or "")
            if shift is not None and self.facts.container_of(state) == fact:
                self.objects.carry(fact.object_id, shift)
        return self.objects.recognise(told, events)

    def flush_if_due(self) -> None:
        """Write what changed, once in an upsert period of memory time."""
        with self.lock:
            due = self._upsert_is_due(self.clock.now)
        if due:
            self.flush()

    def end_session(self) -> None:
        """Let the next frame begin a session."""
        self.check_writable("begin a session")
        self.flush()
        with self.lock:
            self._order = StampOrder()
            self.clock.current = None
            self.space.tracker.end_walk()
            self.rooms.settle()

    def correct(self, change: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        """Make a change to working memory that does not come from a frame; ``flush`` writes it."""
        self.check_writable("correct it")
        with self.lock:
            events = change()
            self.space.viewpoints.on_events(events)
            self._stage_events(events)
        return events

    def forget(self, ids: Sequence[str], *, facts: Sequence[int] = ()) -> Forgotten:
        """Delete objects and facts, by number, for good, everywhere.

        Objects that went on as one of these go too, names that no object has any more, and facts that name either.
        Everything is staged first; one commit deletes it from the file.
        """
        self.check_writable("forget")
        if not ids and not facts:
            return Forgotten()
        self.flush()
        with self.lock:
            absorbed = self.store.journal.absorbed_by(ids)
            states = [self.objects.state(object_id) for object_id in ids]
            # where it stands, and where it stood before: pictures may show it there without naming it
            boxes = [
                (place, around(state.extent, state.yaw).tolist())
                for state in states
                for place in self._places_of(state)
            ]
            labels = self.objects.forget(ids, absorbed=absorbed)
            self.space.forget([*ids, *absorbed], labels, boxes=boxes)
            for object_id in ids:
                self.colors.pop(object_id, None)
            self.pull()
            gone = self.facts.drop([*facts, *self.facts.about({*ids, *absorbed}, labels)])
            self.objects.forget_told(gone)
            self.store.forget([*ids, *absorbed], labels=labels)
            if gone:
                self.store.stage(meta={MARK: "1"})
        self.flush()
        if gone and not ids:
            self.store.journal.wipe()
        reasons = (self.store.journal.not_wiped, self.shared.not_sent())
        return Forgotten([*ids, *gone], not_yet=(reason for reason in reasons if reason is not None))

    def _places_of(self, state: ObjectState) -> list[tuple[float, ...]]:
        """Where an object stands and stood, to a decimetre: it wavers by less with every sighting."""
        known = (state.xyz_world.tolist(), *(version.xyz for version in self.store.journal.versions(state.id)))
        return sorted({tuple(round(float(value), 1) for value in xyz) for xyz in known})

    def pull(self) -> None:
        """Bring what changed in working memory to where it can be searched; the journal gets it later."""
        if self.read_only:
            return
        with self.lock:
            if self.objects.store.version == self._version:
                return
            rows = self.objects.export_rows(self._version)
            if rows.dim is not None and self.store.image_encoder is None:
                self.store.image_encoder = encoder_name(None, rows.dim)
            reads_colors = self.store.image_encoder == ColorShapeEncoder.name
            records = records_of(rows, colors=self.colors, reads_colors=reads_colors)
            gone = [id_text(number) for number in rows.gone]
            self.store.stage(objects=records, gone=gone, bodies={"views": views_of(rows)}, meta=counters_of(rows))
            self._version = rows.version
            for object_id in gone:
                self.colors.pop(object_id, None)
            self.space.viewpoints.forget(gone)

    def flush(self, *, final: bool = False) -> int:
        """Write everything that changed; it is on disk when this returns. Returns the rows written.

        What the home looks like is written once in a while, and always when the memory closes (``final``).
        """
        if self.read_only or self._closed:
            return 0
        self.pull()
        with self.lock:
            self.space.drop_before(self.store.journal.history_kept)
            bodies, meta = self.space.drain_changed(final=final)
            bodies |= {"facts": self.facts.drain_changed(), "frames": self.frames.drain_changed()}
            self.store.stage(bodies=bodies, meta={**meta, **self.rooms.drain_changed()})
        if not self.store.waiting:
            return 0
        rows = self.store.commit(self.clock.now, session=self.clock.current, outbox=self.shared.used)
        self.shared.wake()
        return rows

    def thin(self) -> int:
        """Delete the history that is more than the settings of retention allow; returns the rows deleted."""
        self.check_writable("thin its history")
        self.flush()
        rows = self.store.journal.thin(self.clock.now, self.settings.retention)
        self.flush()
        return rows

    def reopened(self) -> WritePath:
        """The same memory as its journal has it now; this one is not to be used any more."""
        self.shared.close()
        made = WritePath(
            self.store.journal.path,
            self.settings,
            read_only=False,
            image_encoder=self.store.image_encoder,
            index=self._index,
            analyzer=self.space.tracker.analyzer,
            wall_clock=self._wall_clock,
            again=self,
        )
        made.space.keeps_surface, made.space.keeps_keyframes = self.space.keeps_surface, self.space.keeps_keyframes
        objects = made.objects.store
        # whoever follows the changes sees all objects as changed
        objects.version = max(objects.version, self.objects.store.version) + 1
        objects.mark_changed(objects.live())
        return made

    def queue_shared(self, changed: Sequence[str], made: Sequence[str]) -> None:
        """Tell the shared index that objects are what they were again, and that others are no more."""
        if self.shared.used:
            self.store.journal.queue(changed, "upsert")
            self.store.journal.queue(made, "remove")

    def close(self) -> None:
        """Write what is not yet written and release the file; may be called twice."""
        if self._closed:
            return
        try:
            if not self.read_only:
                with self.lock:
                    self.rooms.settle()
            self.flush(final=True)
        finally:
            self._closed = True
            self.shared.close()
            self.store.close()

    def _in_memory_time(self, frame: Frame) -> Frame:
        """The frame with its stamp in memory time; the first one begins a session, one older than the last raises."""
        self._order.accept(frame.stamp)
        if self.clock.current is None:
            offset = None if self._wall_clock is None else self.clock.wall_offset(frame.stamp, self._wall_clock())
            self.clock.begin(frame.stamp, robot=self.settings.store.robot, wall_offset=offset)
        time = self.clock.advance(frame.stamp)
        return frame if time == frame.stamp else replace(frame, stamp=time)

    def _upsert_is_due(self, time: float) -> bool:
        if self._last_upsert is None:
            self._last_upsert = time
        if time - self._last_upsert < self.settings.store.upsert_period:
            return False
        self._last_upsert = time
        return True

    def _stage_events(self, events: Sequence[Event]) -> None:
        self.store.stage(
            events=[EventRecord(one.stamp, one.object_id, str(one.kind), dict(one.evidence)) for one in events]
        )

    def _take_crop(self, crop: Crop) -> None:
        """Keep a picture, and learn the object's colour from it where its embedding does not tell."""
        if self.store.image_encoder != ColorShapeEncoder.name:
            self._learn_color(crop)
        self.store.stage(crops=[CropRecord(crop.object_id, crop.stamp, crop.quality, crop.jpeg)])

    def _learn_color(self, crop: Crop) -> None:
        shares, known = crop_colors(crop.jpeg), self.colors.get(crop.object_id)
        if shares is None:
            _log.warning("the picture of %s cannot be read; its colour stays as it was", crop.object_id)
        else:
            self.colors[crop.object_id] = shares if known is None else known + (shares - known) * _NEW_CROP

    def _restore(self, rows: Rows) -> None:
        """Fill working memory with what the file held of it."""
        self.objects.restore(rows)
        # a file has one layout for all its objects: one written with other columns is written anew, whole
        same = set(rows.columns) == set(self.objects.store.fields)
        self._version = rows.version if same else 0

    def check_writable(self, purpose: str) -> None:
        """Refuse what would change a memory that was opened for reading."""
        if self.read_only:
            path = self.store.journal.path
            raise JournalReadOnly(path, f"was opened for reading; open it for writing to {purpose}")


def _shift(event: Event) -> list[float]:
    """Metres by which an object moved."""
    before, after = event.evidence["before"], event.evidence["after"]
    return np.subtract(after, before).tolist()  # type: ignore[call-overload]
