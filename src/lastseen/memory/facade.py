"""The one way in and the one way out: command line, server, agents and the search loop all stand on ``Memory``."""

from __future__ import annotations

import logging
import threading
import time as wall_time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.encoders import open_encoder
from lastseen.errors import IndexMismatch, IndexUnreachable, InvalidValue, JournalReadOnly
from lastseen.frame import Frame, StampOrder, floor_pose
from lastseen.geometry import Pose3D
from lastseen.memory.answer import Answer
from lastseen.memory.browse import Browse
from lastseen.memory.feeding import Feeding
from lastseen.memory.find import Region, Wording
from lastseen.memory.find.question import Question
from lastseen.memory.find.search import Search
from lastseen.memory.fleet import Shared
from lastseen.memory.history import Change, Chronicle, HistoryEntry, RememberedObject, past_table, remembered
from lastseen.memory.last_pose import LastPose
from lastseen.memory.longterm.clock import PAUSE, Clock, Moment
from lastseen.memory.longterm.records import SessionRecord
from lastseen.memory.longterm.sizes import measure
from lastseen.memory.longterm.store import LongTermStore
from lastseen.memory.objects import Crop, Event, ObjectMemory, ObjectState, Relation
from lastseen.memory.objects.snapshot import room
from lastseen.memory.places import Place
from lastseen.memory.places.journaled import spatial_from_meta, spatial_to_meta
from lastseen.memory.places.standing import Standing
from lastseen.observation import Observation
from lastseen.protocols import Encoder

Point = tuple[float, float, float]


_log = logging.getLogger(__name__)


class Memory:
    """What a robot saw, where and when.

    Time comes from the frames, never from the wall clock: the same stream gives the same memory.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        path: str | Path | None = None,
        read_only: bool = False,
        encoder: Encoder | str | None = None,
        look: Encoder | str | None = None,
        index: str | None = None,
        wall_clock: Callable[[], float] | None = wall_time.time,
    ) -> None:
        self.settings = settings or Settings()
        self.path = None if path is None else Path(path)
        self.read_only = read_only
        chosen = self.settings.find.encoder if encoder is None else encoder
        self.encoder = open_encoder(chosen) if isinstance(chosen, str) else chosen
        self._wording = Wording(self.encoder, self.settings.find)
        self._seeing = None if isinstance(look, str) else look
        look_name = look if isinstance(look, str) or look is None else look.name
        self._wall_clock = wall_clock
        # one frame at a time, and no question in the middle of one; commits and searches do not hold it
        self._working = threading.RLock()
        self._order = StampOrder()
        self._last_upsert: float | None = None
        self._closed = False
        self._objects = ObjectMemory(self.settings, crop_sink=self._take_crop)
        self._store, rows = LongTermStore.open(
            path, self.settings, read_only=read_only, look=look_name, room=partial(room, self._objects.store)
        )
        try:
            # nobody knows how long a stopped clock stood: what was seen once or twice before it must be seen anew
            pause = self.settings.lifecycle.proto_ttl + PAUSE
            self._clock = Clock(self._store.journal.sessions(), pause=pause)
            self._feeding = Feeding(self._objects, self._store)
            meta = self._store.journal.meta()
            self.spatial = spatial_from_meta(meta, self.settings)
            self._pose = self._kept_pose = LastPose.from_meta(meta)
            self._spatial_revision = self.spatial.revision
            self._standing: tuple[int, Standing] | None = None
            if rows is not None:
                self._feeding.restore(rows)
            self._shared = Shared.open(index or self.settings.longterm.index, self._store, self._clock, self.settings)
        except BaseException:
            self._store.close()
            raise

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        read_only: bool = False,
        encoder: Encoder | str | None = None,
        look: Encoder | str | None = None,
        index: str | None = None,
        wall_clock: Callable[[], float] | None = wall_time.time,
    ) -> Self:
        """Open a memory; with a path it is durable, without one it ends with the process.

        ``encoder`` gives words their meaning (default: the setting ``find.encoder``); ``look`` is the encoder of the
        observations' embeddings, or its name: vectors of two encoders are never mixed, and one that reads words too
        (CLIP) answers what no name answers. ``index`` may name a collection that robots share
        (milvus://host:port/collection); it is told of every commit and never waited for. ``wall_clock`` dates each
        session for people; None leaves it undated.
        """
        return cls(
            settings,
            path=path,
            read_only=read_only,
            encoder=encoder,
            look=look,
            index=index,
            wall_clock=wall_clock,
        )

    def observe(self, frame: Frame, observations: Sequence[Observation]) -> tuple[Event, ...]:
        """Take one frame and the things seen in it, in the order of stamps; returns what happened to objects.

        A full disk raises after the frame was taken: nothing is lost, and the next upsert tries again.
        """
        if self.read_only:
            raise JournalReadOnly(self.path, "was opened for reading; open it for writing to observe")
        if not isinstance(frame, Frame):
            raise InvalidValue("frame", frame, "is not a Frame", remedy="build one with lastseen.Frame")
        with self._working:
            events, due = self._take(frame, observations)
        if due:
            self.flush()
        return events

    def find(
        self,
        text: str | None = None,
        *,
        image: NDArray[np.uint8] | None = None,
        embedding: NDArray[np.float32] | None = None,
        near: Point | None = None,
        radius: float | None = None,
        within: tuple[Point, Point] | None = None,
        label: str | None = None,
        since: Moment | None = None,
        before: Moment | None = None,
        as_of: Moment | None = None,
        include_stale: bool = True,
        include_tentative: bool = False,
        include_removed: bool = False,
        robots: str | None = None,
        k: int | None = None,
    ) -> Answer:
        """Answer where a thing is, from memory alone; the answer may be ``not_found``, with the reason.

        Ask by text, image or embedding, or by place, time and label alone; all limits combine. ``since`` and
        ``before`` bound the last sighting; ``as_of`` answers from what was known then. ``robots`` asks the shared
        index: "all", or one robot's name; while it is away, this memory answers alone and says so.

        >>> memory.find("red mug", near=(1, 2, 0), radius=3.0)  # doctest: +SKIP
        """
        k = self.settings.find.k if k is None else k
        if k < 1:
            raise InvalidValue("k", k, "must be 1 or more", remedy="5 is usual")
        self._pull()
        now = self._now() if as_of is None else self._clock.time(as_of, name="as_of")
        region = Region(
            near=near,
            radius=radius,
            within=within,
            label=label,
            since=None if since is None else self._clock.time(since, name="since"),
            before=None if before is None else self._clock.time(before, name="before"),
            fresh_after=None if include_stale else now - self.settings.lifecycle.stale_after,
            include_tentative=include_tentative,
            include_removed=include_removed,
        )
        question = Question.of(
            self._wording,
            self.settings.find,
            look=self._store.look,
            text=text,
            image=image,
            embedding=embedding,
            seeing=self._seeing,
        )
        note = ""
        if robots is not None:
            try:
                search = self._shared.search(robots, now=now)
                return question.put_to(search, region, k=k, look=self._store.look)
            except IndexUnreachable as error:
                _log.warning("%s; this memory answers alone", error)
                note = " (the shared index is away: this memory alone)"
        if as_of is not None:
            self.flush()
        with self._store.guard:
            table = self._store.table if as_of is None else past_table(self._store, now)
            local = Search(self._store, table, self._clock, self.settings, now, past=as_of is not None)
            answer = question.put_to(local, region, k=k, look=self._store.look)
        return replace(answer, reason=answer.reason + note) if note else answer

    def see_with(self, encoder: Encoder) -> None:
        """Give a memory that was opened without it the encoder of its looks, so that words can be put to them."""
        if self._store.look is not None and encoder.name != self._store.look:
            raise IndexMismatch(
                "look",
                encoder.name,
                f"is not the encoder of this memory ({self._store.look})",
                remedy="open that one, or run `lastseen reindex`",
            )
        self._seeing = encoder

    def object(self, object_id: str) -> RememberedObject:
        """Everything remembered of one object; an id that is not remembered raises."""
        with self._working:
            state = self._objects.state(object_id)
        self._pull()
        crops = tuple(crop.jpeg for crop in self._store.journal.crops(object_id))
        return remembered(state, crops=crops, read_history=lambda: self._history(object_id))

    def objects(
        self, label: str | None = None, *, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """Objects in the order of their ids; with a label, those most likely called so.

        Proto-objects (tentative) and objects seen to be gone (missing, removed) come only when asked for.
        """
        with self._working:
            return self._objects.states(
                label=label, include_tentative=include_tentative, include_absent=include_absent
            )

    def places(self) -> list[Place]:
        """The places of every episode in the order of their ids; ``spatial`` holds the anchors and the rest."""
        return [self.spatial.graph.places[place_id] for place_id in sorted(self.spatial.graph.places)]

    def what_changed(self, since: Moment | None = None, *, newest: int | None = None) -> list[Change]:
        """What happened to objects since a time, oldest first; a proto that was never confirmed is left out.

        ``newest`` looks at no more than so many events, from the last one back.
        """
        self.flush()
        start = None if since is None else self._clock.time(since, name="since")
        with self._store.guard:
            return Chronicle(self._store, self._clock).changes(since=start, newest=newest)

    def sessions(self) -> list[SessionRecord]:
        """Every session of this memory, oldest first."""
        return list(self._clock.sessions)

    def pose(self) -> Pose3D | None:
        """Where the camera was in the newest frame, also of an earlier run; None before the first."""
        return None if self._pose is None else self._pose.pose

    def last_pose(self) -> LastPose | None:
        """The same, with the memory time it is of."""
        return self._pose

    @property
    def browse(self) -> Browse:
        """Pages, pasts, pictures and what changed lately: for whoever shows this memory to people."""
        return Browse(self._objects, self._store, self._clock, lock=self._working, flush=self.flush, pull=self._pull)

    @property
    def store(self) -> LongTermStore:
        """The journal and indexes behind this memory: for tools, not for everyday use."""
        return self._store

    @property
    def shared(self) -> Shared:
        """The index that several robots share, as this memory reaches it."""
        return self._shared

    def stats(self) -> dict[str, Any]:
        """What memory holds (counts), and the bytes it takes on disk and in RAM, by kind."""
        self._pull()
        return {
            **measure(self._store, self._objects, sessions=len(self._clock.sessions)),
            "encoder": self.encoder.name,
            "look": self._store.look,
        }

    def flush(self) -> int:
        """Write everything that changed; it is on disk when this returns. Returns the rows written."""
        if self.read_only or self._closed:
            return 0
        self._pull()
        with self._working:
            if self.spatial.revision != self._spatial_revision:
                self._spatial_revision = self.spatial.revision
                self._store.stage(meta=spatial_to_meta(self.spatial))
            if self._pose is not None and self._pose is not self._kept_pose:
                self._kept_pose = self._pose
                self._store.stage(meta=self._pose.to_meta())
        if not self._store.waiting:
            return 0
        rows = self._store.commit(self._now(), session=self._clock.current, outbox=self._shared.used)
        self._shared.wake()
        return rows

    def forget(self, object_id: str | None = None, *, before: Moment | None = None) -> list[str]:
        """Delete one object, or all not seen since a time, for good: working memory, file and indexes."""
        if (object_id is None) == (before is None):
            raise InvalidValue("forget", object_id, "takes an id or a time", remedy="give one of id and before=")
        self.flush()
        if object_id is not None:
            self._objects.state(object_id)
            ids = [object_id]
        else:
            assert before is not None
            limit = self._clock.time(before, name="before")
            last = self._store.table.columns.last_seen
            ids = [key for key, row in sorted(self._store.table.row_of.items()) if last[row] < limit]
        with self._working:
            self._feeding.forget(ids)
        self._pull()
        self._store.forget(ids, outbox=self._shared.used)
        self.flush()
        self._shared.wake()
        return ids

    def place_of(self, object_id: str) -> Place | None:
        """The place an object stands in; None where none is near."""
        with self._working:
            (place,) = self.places_at([self._objects.state(object_id).xyz_world])
            return None if place is None else self.spatial.graph.place(place)

    def places_at(self, points: Sequence[Any] | NDArray[np.float64]) -> list[int | None]:
        """The id of the place of each point: that of the nearest anchor within a room's width; None where none is."""
        with self._working:
            if self._standing is None or self._standing[0] != self.spatial.revision:
                reach = self.settings.live.place_reach
                self._standing = self.spatial.revision, Standing(self.spatial.graph, reach=reach)
            standing = self._standing[1]
        return standing.places_of(points)

    def relations(self, object_id: str) -> list[Relation]:
        """How an object stands to those around it: in, on, under, next to; nearest first within each."""
        with self._working:
            return self._objects.relations(object_id)

    def correct_poses(self, poses: Mapping[int, Pose3D]) -> tuple[Event, ...]:
        """Take new poses of past frames by frame id (a loop closure); objects seen and anchors made there move."""
        floor = {frame_id: floor_pose(pose) for frame_id, pose in poses.items()}

        def correct() -> tuple[Event, ...]:
            self.spatial.correct_poses(floor)
            return self._objects.correct_poses(poses)

        return self._corrected(correct)

    def new_session(self) -> None:
        """Let the next frame begin a session: its stamps may start anew, memory time goes on."""
        if self.read_only:
            raise JournalReadOnly(self.path, "was opened for reading; open it for writing to begin a session")
        self.flush()
        with self._working:
            self._order = StampOrder()
            self._clock.current = None
            self.spatial.retire_frames()

    def relabel(self, object_id: str, label: str) -> tuple[Event, ...]:
        """Name an object by hand; later sightings do not change the name."""
        return self._corrected(lambda: self._objects.relabel(object_id, label))

    def delete(self, object_id: str) -> tuple[Event, ...]:
        """Drop an object that is none; ``undo`` brings it back, ``forget`` leaves no trace."""
        return self._corrected(lambda: self._objects.delete(object_id))

    def merge(self, keep: str, lose: str) -> tuple[Event, ...]:
        """Say that two objects are one; the first id stays."""
        return self._corrected(lambda: self._objects.merge(keep, lose))

    def undo(self) -> tuple[Event, ...]:
        """Take back the last relabel, delete or merge of this session."""
        return self._corrected(self._objects.undo)

    def close(self) -> None:
        """Write what is not yet written and release the file; may be called twice."""
        if self._closed:
            return
        try:
            self.flush()
        finally:
            self._closed = True
            self._shared.close()
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, frame: Frame, observations: Sequence[Observation]) -> tuple[tuple[Event, ...], bool]:
        """Take a frame into working memory; tells what happened, and whether an upsert is due."""
        self._objects.check(observations)
        self._order.accept(frame.stamp)
        if self._clock.current is None:
            wall = None if self._wall_clock is None else self._wall_clock() - frame.stamp
            self._clock.begin(frame.stamp, robot=self.settings.longterm.robot, wall_offset=wall)
        time = self._clock.advance(frame.stamp)
        self._pose = LastPose(frame.T_world_camera, time)
        events = self._objects.observe(frame if time == frame.stamp else replace(frame, stamp=time), observations)
        self._feeding.tell(events)
        if self._last_upsert is None:
            self._last_upsert = time
        due = time - self._last_upsert >= self.settings.longterm.upsert_period
        if due:
            self._last_upsert = time
        return events, due

    def _corrected(self, change: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        if self.read_only:
            raise JournalReadOnly(self.path, "was opened for reading; open it for writing to correct it")
        with self._working:
            events = change()
            self._feeding.tell(events)
        self.flush()
        return events

    def _now(self) -> float:
        return self._clock.sessions[-1].last if self._clock.sessions else 0.0

    def _pull(self) -> None:
        if not self.read_only:
            with self._working:
                self._feeding.pull()

    def _history(self, object_id: str) -> list[HistoryEntry]:
        self.flush()
        return Chronicle(self._store, self._clock).of(object_id)

    def _take_crop(self, crop: Crop) -> None:
        self._feeding.take_crop(crop)
