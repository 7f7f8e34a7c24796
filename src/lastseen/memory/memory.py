"""``Memory``: what a robot saw, where and when. Every way in ends in ``observe``; every question starts here."""

from __future__ import annotations

import time as wall_time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastseen.appearance import with_embeddings
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.encoders import open_encoder
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.errors import InvalidValue
from lastseen.frame import Frame, floor_pose
from lastseen.geometry import Pose3D
from lastseen.lift import lift_all
from lastseen.memory.answer import Answer
from lastseen.memory.asking import Asking
from lastseen.memory.browse import Browse
from lastseen.memory.fleet import Shared
from lastseen.memory.forgotten import Forgotten
from lastseen.memory.history import Change, Chronicle, HistoryEntry, RememberedObject, remembered
from lastseen.memory.object import Object
from lastseen.memory.objects import Event, ObjectState, Relation
from lastseen.memory.places import Place, SpatialMemory
from lastseen.memory.places.events import SpatialEvent
from lastseen.memory.places.tracker import Step
from lastseen.memory.query import Region, Wording
from lastseen.memory.space.floor import FloorGrid
from lastseen.memory.space.space import LastPose, labels_of
from lastseen.memory.space.viewpoints import Spot
from lastseen.memory.store.clock import Moment
from lastseen.memory.store.records import SessionRecord
from lastseen.memory.store.sizes import measure
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.write_path import WritePath
from lastseen.observation import Observation
from lastseen.protocols import Encoder, SceneAnalyzer
from lastseen.vlm.room_rules import RoomRules

Point = tuple[float, float, float]
Subscriber = Callable[[Event], None]


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
        image_encoder: Encoder | str | None = None,
        index: str | None = None,
        scene_analyzer: SceneAnalyzer | None = None,
        wall_clock: Callable[[], float] | None = wall_time.time,
    ) -> None:
        self.settings = settings or Settings()
        self.path = None if path is None else Path(path)
        self.read_only = read_only
        chosen = self.settings.find.encoder if encoder is None else encoder
        self.encoder = open_encoder(chosen) if isinstance(chosen, str) else chosen
        self.analyzer = scene_analyzer or RoomRules()
        self._image_encoder = None if isinstance(image_encoder, str) else image_encoder
        self._writing = writing = WritePath(
            path,
            self.settings,
            read_only=read_only,
            image_encoder=image_encoder if isinstance(image_encoder, str | None) else image_encoder.name,
            index=index or self.settings.store.index,
            analyzer=self.analyzer,
            wall_clock=wall_clock,
        )
        self._objects, self._store, self._clock = writing.objects, writing.store, writing.clock
        self._asking = Asking(
            self._store,
            self._clock,
            writing.shared,
            self.settings,
            wording=Wording(self.encoder, self.settings.find),
            seeing=self._image_encoder,
            complete=self._complete,
        )
        self._chronicle = Chronicle(self._store, self._clock)
        self._subscribers: list[Subscriber] = []

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        read_only: bool = False,
        encoder: Encoder | str | None = None,
        image_encoder: Encoder | str | None = None,
        index: str | None = None,
        scene_analyzer: SceneAnalyzer | None = None,
        wall_clock: Callable[[], float] | None = wall_time.time,
    ) -> Self:
        """Open a memory; with a path it is durable, without one it ends with the process.

        Args:
            path: The memory file; made when missing, unless ``read_only``.
            settings: See ``lastseen config``.
            read_only: Change nothing; another process may be writing the file.
            encoder: Gives words their meaning; by default the setting ``find.encoder``.
            image_encoder: The encoder of the observations' embeddings, or its name. Vectors of two encoders are
                never mixed, and one that reads words too (CLIP) answers what no name answers.
            index: A collection that robots share (milvus://host:port/collection); it is told of every commit and
                never waited for.
            scene_analyzer: Names the kinds of places; by default rules over what was seen, which need no model.
            wall_clock: Dates each session for people; None leaves it undated.
        """
        return cls(
            settings,
            path=path,
            read_only=read_only,
            encoder=encoder,
            image_encoder=image_encoder,
            index=index,
            scene_analyzer=scene_analyzer,
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
        self._writing.close()

    def observe(
        self,
        frame: Frame,
        observations: Sequence[Observation] | None = None,
        *,
        detections: Sequence[Detection] | None = None,
        step: Step | None = None,
    ) -> tuple[Event, ...]:
        """Take one frame and what was seen in it, in the order of stamps; returns what happened to objects.

        Args:
            frame: Colour, depth and pose.
            observations: Things seen in the frame, placed in the world; or
            detections: Things seen in its colour image, which are described and lifted with its depth.
            step: What the robot did to come here, where it is known; otherwise the frames' poses tell.

        Raises:
            InvalidValue: The frame or an observation does not fit; nothing was changed.
            StorageFull: The disk is full; the frame was taken, nothing is lost, and the next upsert tries again.
        """
        if not isinstance(frame, Frame):
            raise InvalidValue("frame", frame, "is not a Frame", remedy="build one with lastseen.Frame")
        if (observations is None) == (detections is None):
            raise InvalidValue(
                "observe", "both or none", "takes observations or detections", remedy="give one of them; [] for none"
            )
        self._writing.check_writable("observe")
        seen = None
        if detections is not None:
            seen, observations = labels_of(detections), self._lifted(frame, detections)
        events = self._publish(self._writing.observe(frame, observations or (), seen=seen, step=step))
        self._writing.flush_if_due()
        return events

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call a function with every event of objects from now on; returns what ends it, which may be called twice.

        It is called in the thread that observes or corrects, after the change and before it is written.

        >>> memory.subscribe(lambda event: print(event.kind, event.object_id))  # doctest: +SKIP
        """
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber) if subscriber in self._subscribers else None

    def _publish(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Tell the subscribers, in the order they came, and give the events back."""
        for subscriber in tuple(self._subscribers):
            for event in events:
                subscriber(event)
        return events

    def _correct(self, change: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        """Make a change that does not come from a frame, tell the subscribers and write it."""
        events = self._publish(self._writing.correct(change))
        self.flush()
        return events

    def _lifted(self, frame: Frame, detections: Sequence[Detection]) -> list[Observation]:
        """Detections with embeddings of this memory's own kind, placed in the world by the frame's depth."""
        encoder = self._image_encoder
        if encoder is None and self._store.look in (None, ColorShapeEncoder.name):
            encoder = self._image_encoder = ColorShapeEncoder()
            self._store.look = encoder.name
        found = list(detections) if encoder is None else with_embeddings(frame, detections, encoder)
        return lift_all(frame, found, self.settings.lift, with_crops=self.settings.store.store_crops)

    def new_session(self) -> None:
        """Let the next frame begin a session: its stamps may start anew, memory time goes on."""
        self._writing.end_session()

    def flush(self) -> int:
        """Write everything that changed; it is on disk when this returns. Returns the rows written."""
        return self._writing.flush()

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
        self._writing.pull()
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

    def use_image_encoder(self, encoder: Encoder) -> None:
        """Give a memory that was opened without it the encoder of its embeddings, so that words reach them too."""
        self._asking.see_with(encoder)
        self._image_encoder = encoder

    def object(self, object_id: str) -> RememberedObject:
        """Everything remembered of one object; an id that is not remembered raises."""
        with self._writing.lock:
            state = self._objects.state(object_id)
        self._writing.pull()
        crops = tuple(crop.jpeg for crop in self._store.journal.crops(object_id))
        return remembered(state, crops=crops, read_history=lambda: self._history(object_id))

    def states(
        self, label: str | None = None, *, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """Working memory's own records in the order of their ids; with a label, those most likely called so.

        Proto-objects (tentative) and objects seen to be gone (missing, removed) come only when asked for.
        """
        with self._writing.lock:
            return self._objects.states(
                label=label, include_tentative=include_tentative, include_absent=include_absent
            )

    def objects(
        self, label: str | None = None, *, include_tentative: bool = False, include_removed: bool = False
    ) -> list[Object]:
        """Every remembered object in the order of its id; with a label, those most likely called so.

        Tentative objects, and those seen to be gone (missing, removed), come only when asked for.
        """
        states = self.states(label, include_tentative=include_tentative, include_absent=include_removed)
        return self.described(states)

    def described(self, states: Sequence[ObjectState], *, now: float | None = None) -> list[Object]:
        """Records of working memory as users see them; ``now`` is the memory time that ages count from."""
        now = self._clock.now if now is None else now
        colors = self.browse.colors([state.id for state in states])
        places = self._place_of_points([state.xyz_world for state in states])
        found = []
        for state, place in zip(states, places, strict=True):
            session = self._clock.session_at(state.last_seen)
            x, y, z = state.xyz_world.tolist()
            width, depth, height = state.extent.tolist()
            found.append(
                Object(
                    id=state.id,
                    label=state.label,
                    position=(x, y, z),
                    extent=(width, depth, height),
                    state="stale" if state.stale and state.state == "confirmed" else state.state,
                    place=None if place is None else place[1],
                    place_id=None if place is None else place[0],
                    color=colors.get(state.id),
                    first_seen=self._clock.wall(state.first_seen),
                    last_seen=self._clock.wall(state.last_seen),
                    age=now - state.last_seen,
                    last_seen_memory_time=state.last_seen,
                    session=None if session is None else session.id,
                    hits=state.hits,
                    stability=state.stability,
                )
            )
        return found

    def relations(self, object_id: str) -> list[Relation]:
        """How an object stands to those around it: in, on, under, next to; nearest first within each."""
        with self._writing.lock:
            return self._objects.relations(object_id)

    def what_changed(self, since: Moment | None = None, *, newest: int | None = None) -> list[Change]:
        """What happened to objects since a time, oldest first; a proto that was never confirmed is left out.

        ``newest`` looks at no more than so many events, from the last one back.
        """
        self.flush()
        start = None if since is None else self._clock.time(since, name="since")
        with self._store.guard:
            return self._chronicle.changes(since=start, newest=newest)

    @property
    def spatial(self) -> SpatialMemory:
        """The places, the anchors on the robot's path, and where it is among them."""
        return self._writing.space.spatial

    @property
    def floor(self) -> FloorGrid:
        """The explored floor: free, occupied and unknown cells in the world frame."""
        return self._writing.space.floor

    @property
    def place_events(self) -> list[SpatialEvent]:
        """What the newest frame did to places and anchors, in the order it happened."""
        return self._writing.place_events

    def places(self) -> list[Place]:
        """Every place in the order of its id; ``spatial`` holds the anchors."""
        with self._writing.lock:
            graph = self.spatial.graph
            return [graph.places[place_id] for place_id in sorted(graph.places)]

    def place_of(self, object_id: str) -> Place | None:
        """The place an object stands in; None where none is near."""
        with self._writing.lock:
            (place,) = self.places_at([self._objects.state(object_id).xyz_world])
            return None if place is None else self.spatial.graph.place(place)

    def places_at(self, points: Sequence[Any] | NDArray[np.float64]) -> list[int | None]:
        """The id of the place of each point: that of the nearest anchor within a room's width; None where none is."""
        with self._writing.lock:
            return self._writing.space.place_ids(points)

    def viewpoints(self, object_id: str) -> tuple[Spot, ...]:
        """A few spots (x, y) on the floor from which an object was seen where it stands."""
        with self._writing.lock:
            return self._writing.space.viewpoints.of(object_id)

    def _complete(self, hits: Sequence[Object]) -> list[Object]:
        """Hits with what the searched table does not hold: place, size, stability and number of sightings."""
        places = self._place_of_points([hit.position for hit in hits])
        known = {state.id: state for state in self.browse.states([hit.id for hit in hits])}
        found = []
        for hit, place in zip(hits, places, strict=True):
            place_id, kind = (None, None) if place is None else place
            state = known.get(hit.id)
            if state is None:
                found.append(replace(hit, place_id=place_id, place=kind))
                continue
            width, depth, height = state.extent.tolist()
            found.append(
                replace(
                    hit,
                    place_id=place_id,
                    place=kind,
                    extent=(width, depth, height),
                    hits=state.hits,
                    stability=state.stability,
                )
            )
        return found

    def _place_of_points(self, points: Sequence[Any]) -> list[tuple[int, str] | None]:
        """Id and kind of the place of each point."""
        with self._writing.lock:
            places = self.spatial.graph.places
            return [
                None if found is None else (found, places[found].scene_type)
                for found in self._writing.space.place_ids(points)
            ]

    def pose(self) -> Pose3D | None:
        """Where the camera was in the newest frame, also of an earlier run; None before the first."""
        last = self.last_pose()
        return None if last is None else last.pose

    def last_pose(self) -> LastPose | None:
        """The same, with the memory time it is of."""
        return self._writing.space.pose

    def sessions(self) -> list[SessionRecord]:
        """Every session of this memory, oldest first."""
        return list(self._clock.sessions)

    def stats(self) -> dict[str, Any]:
        """What memory holds (counts), and the bytes it takes on disk and in RAM, by kind."""
        self._writing.pull()
        return {
            **measure(self._store, self._objects, sessions=len(self._clock.sessions)),
            "encoder": self.encoder.name,
            "image_encoder": self._store.look,
        }

    def relabel(self, object_id: str, label: str) -> tuple[Event, ...]:
        """Name an object by hand; later sightings do not change the name."""
        return self._correct(lambda: self._objects.relabel(object_id, label))

    def confirm(self, object_id: str) -> tuple[Event, ...]:
        """Vouch for a tentative object: someone went there and saw it. A search does so with what it found."""
        return self._correct(lambda: self._objects.confirm(object_id))

    def delete(self, object_id: str) -> tuple[Event, ...]:
        """Drop an object that is none; ``undo`` brings it back, ``forget`` leaves no trace."""
        return self._correct(lambda: self._objects.delete(object_id))

    def merge(self, keep: str, lose: str) -> tuple[Event, ...]:
        """Say that two objects are one; the first id stays."""
        return self._correct(lambda: self._objects.merge(keep, lose))

    def undo(self) -> tuple[Event, ...]:
        """Take back the last relabel, delete or merge of this session."""
        return self._correct(self._objects.undo)

    def correct_poses(self, poses: Mapping[int, Pose3D]) -> tuple[Event, ...]:
        """Take new poses of past frames by frame id (a loop closure); objects seen and anchors made there move."""
        floor = {frame_id: floor_pose(pose) for frame_id, pose in poses.items()}

        def correct() -> tuple[Event, ...]:
            self.spatial.correct_poses(floor)
            return self._objects.correct_poses(poses)

        return self._correct(correct)

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
        return Forgotten(ids, not_yet=self._writing.forget(ids))

    @property
    def browse(self) -> Browse:
        """Pages, pasts, pictures and what changed lately: for whoever shows this memory to people."""
        lock, flush, pull = self._writing.lock, self._writing.flush, self._writing.pull
        return Browse(self._objects, self._store, self._clock, lock=lock, flush=flush, pull=pull)

    @property
    def store(self) -> LongTermStore:
        """The journal and indexes behind this memory: for tools, not for everyday use."""
        return self._store

    @property
    def shared(self) -> Shared:
        """The index that several robots share, as this memory reaches it."""
        return self._writing.shared

    def _history(self, object_id: str) -> list[HistoryEntry]:
        self.flush()
        return self._chronicle.of(object_id)
