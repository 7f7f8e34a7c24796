"""The one way in and the one way out: command line, server, agents and the search loop all stand on ``Memory``."""

from __future__ import annotations

import time as wall_time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.encoders import open_encoder
from lastseen.errors import InvalidValue
from lastseen.frame import Frame, floor_pose
from lastseen.geometry import Pose3D
from lastseen.memory.answer import Answer
from lastseen.memory.asking import Asking
from lastseen.memory.browse import Browse
from lastseen.memory.find import Region, Wording
from lastseen.memory.fleet import Shared
from lastseen.memory.forgotten import Forgotten
from lastseen.memory.history import Change, Chronicle, HistoryEntry, RememberedObject, remembered
from lastseen.memory.keeper import Keeper
from lastseen.memory.last_pose import LastPose
from lastseen.memory.longterm.clock import Moment
from lastseen.memory.longterm.records import SessionRecord
from lastseen.memory.longterm.sizes import measure
from lastseen.memory.longterm.store import LongTermStore
from lastseen.memory.objects import Event, ObjectState, Relation
from lastseen.memory.places import Place
from lastseen.observation import Observation
from lastseen.protocols import Encoder

Point = tuple[float, float, float]


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
        wording = Wording(self.encoder, self.settings.find)
        self._keeper = keeper = Keeper(
            path,
            self.settings,
            read_only=read_only,
            look=look if isinstance(look, str) or look is None else look.name,
            index=index or self.settings.longterm.index,
            wall_clock=wall_clock,
        )
        self._objects, self._store, self._clock = keeper.objects, keeper.store, keeper.clock
        self.spatial = keeper.whereabouts.spatial
        seeing = None if isinstance(look, str) else look
        self._asking = Asking(self._store, self._clock, keeper.shared, self.settings, wording=wording, seeing=seeing)
        self._chronicle = Chronicle(self._store, self._clock)

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is not yet written and release the file; may be called twice."""
        self._keeper.close()

    def observe(self, frame: Frame, observations: Sequence[Observation]) -> tuple[Event, ...]:
        """Take one frame and the things seen in it, in the order of stamps; returns what happened to objects.

        A full disk raises after the frame was taken: nothing is lost, and the next upsert tries again.
        """
        if not isinstance(frame, Frame):
            raise InvalidValue("frame", frame, "is not a Frame", remedy="build one with lastseen.Frame")
        return self._keeper.take(frame, observations)

    def new_session(self) -> None:
        """Let the next frame begin a session: its stamps may start anew, memory time goes on."""
        self._keeper.end_session()

    def flush(self) -> int:
        """Write everything that changed; it is on disk when this returns. Returns the rows written."""
        return self._keeper.flush()

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
        self._keeper.pull()
        now = self._clock.now if as_of is None else self._clock.time(as_of, name="as_of")
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
        question = self._asking.question(text, image=image, embedding=embedding)
        past = as_of is not None
        if past:
            self.flush()
        if robots is not None:
            return self._asking.ask_robots(robots, question, region, now=now, past=past, k=k)
        return self._asking.ask(question, region, now=now, past=past, k=k)

    def see_with(self, encoder: Encoder) -> None:
        """Give a memory that was opened without it the encoder of its looks, so that words can be put to them."""
        self._asking.see_with(encoder)

    def object(self, object_id: str) -> RememberedObject:
        """Everything remembered of one object; an id that is not remembered raises."""
        with self._keeper.lock:
            state = self._objects.state(object_id)
        self._keeper.pull()
        crops = tuple(crop.jpeg for crop in self._store.journal.crops(object_id))
        return remembered(state, crops=crops, read_history=lambda: self._history(object_id))

    def objects(
        self, label: str | None = None, *, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """Objects in the order of their ids; with a label, those most likely called so.

        Proto-objects (tentative) and objects seen to be gone (missing, removed) come only when asked for.
        """
        with self._keeper.lock:
            return self._objects.states(
                label=label, include_tentative=include_tentative, include_absent=include_absent
            )

    def relations(self, object_id: str) -> list[Relation]:
        """How an object stands to those around it: in, on, under, next to; nearest first within each."""
        with self._keeper.lock:
            return self._objects.relations(object_id)

    def what_changed(self, since: Moment | None = None, *, newest: int | None = None) -> list[Change]:
        """What happened to objects since a time, oldest first; a proto that was never confirmed is left out.

        ``newest`` looks at no more than so many events, from the last one back.
        """
        self.flush()
        start = None if since is None else self._clock.time(since, name="since")
        with self._store.guard:
            return self._chronicle.changes(since=start, newest=newest)

    def places(self) -> list[Place]:
        """The places of every episode in the order of their ids; ``spatial`` holds the anchors and the rest."""
        return [self.spatial.graph.places[place_id] for place_id in sorted(self.spatial.graph.places)]

    def place_of(self, object_id: str) -> Place | None:
        """The place an object stands in; None where none is near."""
        with self._keeper.lock:
            (place,) = self.places_at([self._objects.state(object_id).xyz_world])
            return None if place is None else self.spatial.graph.place(place)

    def places_at(self, points: Sequence[Any] | NDArray[np.float64]) -> list[int | None]:
        """The id of the place of each point: that of the nearest anchor within a room's width; None where none is."""
        with self._keeper.lock:
            standing = self._keeper.whereabouts.standing()
        return standing.places_of(points)

    def pose(self) -> Pose3D | None:
        """Where the camera was in the newest frame, also of an earlier run; None before the first."""
        last = self._keeper.whereabouts.pose
        return None if last is None else last.pose

    def last_pose(self) -> LastPose | None:
        """The same, with the memory time it is of."""
        return self._keeper.whereabouts.pose

    def sessions(self) -> list[SessionRecord]:
        """Every session of this memory, oldest first."""
        return list(self._clock.sessions)

    def stats(self) -> dict[str, Any]:
        """What memory holds (counts), and the bytes it takes on disk and in RAM, by kind."""
        self._keeper.pull()
        return {
            **measure(self._store, self._objects, sessions=len(self._clock.sessions)),
            "encoder": self.encoder.name,
            "look": self._store.look,
        }

    def relabel(self, object_id: str, label: str) -> tuple[Event, ...]:
        """Name an object by hand; later sightings do not change the name."""
        return self._keeper.correct(lambda: self._objects.relabel(object_id, label))

    def delete(self, object_id: str) -> tuple[Event, ...]:
        """Drop an object that is none; ``undo`` brings it back, ``forget`` leaves no trace."""
        return self._keeper.correct(lambda: self._objects.delete(object_id))

    def merge(self, keep: str, lose: str) -> tuple[Event, ...]:
        """Say that two objects are one; the first id stays."""
        return self._keeper.correct(lambda: self._objects.merge(keep, lose))

    def undo(self) -> tuple[Event, ...]:
        """Take back the last relabel, delete or merge of this session."""
        return self._keeper.correct(self._objects.undo)

    def correct_poses(self, poses: Mapping[int, Pose3D]) -> tuple[Event, ...]:
        """Take new poses of past frames by frame id (a loop closure); objects seen and anchors made there move."""
        floor = {frame_id: floor_pose(pose) for frame_id, pose in poses.items()}

        def correct() -> tuple[Event, ...]:
            self.spatial.correct_poses(floor)
            return self._objects.correct_poses(poses)

        return self._keeper.correct(correct)

    def forget(self, object_id: str | None = None, *, before: Moment | None = None) -> Forgotten:
        """Delete one object, or all not seen since a time, for good: working memory, file and indexes.

        No byte of them is left when this returns, names that nothing else has included, unless ``not_yet`` of the
        answer says what is in the way; then it completes by itself.
        """
        if (object_id is None) == (before is None):
            raise InvalidValue("forget", object_id, "takes an id or a time", remedy="give one of id and before=")
        self.flush()
        if object_id is not None:
            self._objects.state(object_id)
            ids = [object_id]
        else:
            assert before is not None
            ids = self._store.table.not_seen_since(self._clock.time(before, name="before"))
        return Forgotten(ids, not_yet=self._keeper.forget(ids))

    @property
    def browse(self) -> Browse:
        """Pages, pasts, pictures and what changed lately: for whoever shows this memory to people."""
        lock, flush, pull = self._keeper.lock, self._keeper.flush, self._keeper.pull
        return Browse(self._objects, self._store, self._clock, lock=lock, flush=flush, pull=pull)

    @property
    def store(self) -> LongTermStore:
        """The journal and indexes behind this memory: for tools, not for everyday use."""
        return self._store

    @property
    def shared(self) -> Shared:
        """The index that several robots share, as this memory reaches it."""
        return self._keeper.shared

    def _history(self, object_id: str) -> list[HistoryEntry]:
        self.flush()
        return self._chronicle.of(object_id)
