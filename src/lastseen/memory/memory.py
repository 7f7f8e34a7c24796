"""``Memory``: what a robot saw, where and when. Every way in ends in ``observe``; every question starts here."""

from __future__ import annotations

import time as wall_time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.detection import Box, Detection
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.encoders.registry import known_encoders, open_encoder, reads_both
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.browse import Browse
from lastseen.memory.corrections import Corrections
from lastseen.memory.facts import Fact
from lastseen.memory.fleet import Shared
from lastseen.memory.history import Change, HistoryEntry, changes, object_history
from lastseen.memory.object import Answer, Object, Point
from lastseen.memory.objects import Event, ObjectState, Relation
from lastseen.memory.places.tracker import Step
from lastseen.memory.query import Filter, Finder
from lastseen.memory.query.relations import Surroundings
from lastseen.memory.reply import Reply
from lastseen.memory.session_answers import NOT_FROM_HERE, both, with_alignment
from lastseen.memory.session_frames import SessionFrame
from lastseen.memory.sessions import Sessions
from lastseen.memory.space.space import LastPose, labels_of
from lastseen.memory.space_reads import SpaceReads
from lastseen.memory.store.clock import Moment
from lastseen.memory.store.records import SessionRecord
from lastseen.memory.store.store import LongTermStore, measure
from lastseen.memory.write_path import WritePath
from lastseen.observation import OBJECT, Observation
from lastseen.protocols import Encoder, SceneAnalyzer
from lastseen.vlm.protocol import Backend
from lastseen.vlm.room_rules import RoomRules


class Options(TypedDict, total=False):
    """How a memory is opened, besides its path; see ``Memory``."""

    settings: Settings | None
    read_only: bool
    encoder: Encoder | str | None
    image_encoder: Encoder | str | None
    index: str | None
    scene_analyzer: SceneAnalyzer | None
    wall_clock: Callable[[], float] | None
    map_id: str | None


class Memory(Corrections, SpaceReads):
    """What a robot saw, where and when.

    Time comes from the frames, never from the wall clock: the same stream gives the same memory.

    Args:
        path: The memory file; made when missing, unless ``read_only``. None: it ends with the process.
        settings: See ``lastseen config``.
        read_only: Change nothing; another process may be writing the file.
        encoder: Compares words with names; by default the setting ``find.encoder``.
        image_encoder: The encoder of the observations' embeddings: an open one, ``clip:FOLDER``, or the name that
            the file keeps of it. Vectors of two encoders are never mixed, and where it reads words too (CLIP,
            SigLIP 2) they are compared with the embeddings as well.
        index: A collection that robots share (milvus://host:port/collection); every commit is sent to it and never
            waited for.
        scene_analyzer: Names the kinds of places; by default rules over what was seen, which need no model.
        wall_clock: Dates each session for people; None leaves it undated.
        map_id: What the source of the first session calls its map; see ``new_session``.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        read_only: bool = False,
        encoder: Encoder | str | None = None,
        image_encoder: Encoder | str | None = None,
        index: str | None = None,
        scene_analyzer: SceneAnalyzer | None = None,
        wall_clock: Callable[[], float] | None = wall_time.time,
        map_id: str | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.path = None if path is None else Path(path)
        self.read_only = read_only
        self.analyzer = scene_analyzer or RoomRules()
        if isinstance(image_encoder, str) and (":" in image_encoder or image_encoder in known_encoders()):
            image_encoder = open_encoder(image_encoder, self.settings.encoding)
        chosen = self.settings.find.encoder if encoder is None else encoder
        opened = open_encoder(chosen, self.settings.encoding) if isinstance(chosen, str) else chosen
        if reads_both(opened.name):
            # names are compared by the lexicon: in such a space all texts lie close together
            image_encoder, opened = image_encoder or opened, open_encoder("lexicon")
        self.encoder = opened
        self._models: dict[str, Backend] = {}
        writes = WritePath(
            path,
            self.settings,
            read_only=read_only,
            image_encoder=image_encoder if isinstance(image_encoder, str | None) else image_encoder.name,
            index=index or self.settings.store.index,
            analyzer=self.analyzer,
            wall_clock=wall_clock,
        )
        super().__init__(writes)
        self._wall_clock, self._opened = wall_clock, opened
        self._image_encoder = image_encoder
        self._read_from(writes)
        self._sessions: Sessions[Memory] = Sessions(self, self._another, self._reopen)
        self._sessions.map_id = map_id

    def _read_from(self, writes: WritePath) -> None:
        """Answer from these parts."""
        self._writes = writes
        self._objects, self._store, self._clock = writes.objects, writes.store, writes.clock
        self._browse = Browse(
            self._objects,
            self._store,
            self._clock,
            lock=writes.lock,
            flush=writes.flush,
            pull=writes.pull,
            places=self._place_of_points,
            pose=self._pose_here,
            facts=writes.facts,
        )
        self._finder = Finder(
            self._store,
            self._clock,
            writes.shared,
            self.settings,
            encoder=self._opened,
            image_encoder=None if isinstance(self._image_encoder, str) else self._image_encoder,
            describe=self._browse.with_places,
            around=Surroundings(
                self._browse.extents,
                self._place_of_points,
                self._browse.support,
                self._browse.here,
                writes.lock,
                writes.facts,
                writes.space.storeys,
                self._browse.told_inside,
            ),
        )

    @classmethod
    def open(cls, path: str | Path | None = None, **options: Unpack[Options]) -> Self:
        """Open a memory; with a path it is durable, without one it ends with the process. Options: see ``Memory``."""
        return cls(path, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is not yet written and release the file; may be called twice."""
        self._sessions.end()
        self._writes.close()

    def observe(
        self,
        frame: Frame,
        observations: Sequence[Observation] | None = None,
        *,
        detections: Sequence[Detection] | None = None,
        step: Step | None = None,
        people: Sequence[Box] | None = None,
    ) -> tuple[Event, ...]:
        """Take one frame and what was seen in it, in the order of stamps; returns what happened to objects.

        Args:
            frame: Colour, depth and pose.
            observations: Things seen in the frame, placed in the world; or
            detections: Things seen in its colour image, which are described and lifted with its depth.
            step: What the robot did to come here, where it is known; otherwise the frames' poses tell.
            people: Boxes (left, top, right, bottom) of the people in the colour image, by a detector that knows
                people; they are blanked in pictures that are kept. None: nobody looked for people, and pictures
                are kept only with ``store.keyframes = "always"``.

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
        self._writes.check_writable("observe")
        # a session that begins, or a localizer that jumped, is compared with the map
        self._sessions.begin(frame)
        # an aligned session is in a map of its own: here it is in this memory's
        frame, observations = self._sessions.in_map(frame, observations)
        step = self._sessions.step_of(step)
        if self._sessions.apart is not None:
            return self._sessions.observe_apart(frame, observations, detections=detections, step=step, people=people)
        seen = None
        if detections is not None:
            seen, observations = labels_of(detections), self._lifted(frame, detections)
        observations = observations or ()
        events = self._publish(self._writes.observe(frame, observations, seen=seen, step=step, people=people))
        self._writes.flush_if_due()
        self._sessions.check(frame, observations, step)
        return events

    def correct_poses(self, poses: Mapping[int, Pose3D]) -> tuple[Event, ...]:
        """Take new poses of past frames by frame id (a loop closure); objects seen and anchors made there move."""
        to = self._sessions.transform
        if to is not None:
            poses = {frame_id: to.pose @ pose for frame_id, pose in poses.items()}
        if self._sessions.apart is not None:
            return self._sessions.apart.correct_poses(poses)
        return super().correct_poses(poses)

    def settle(self) -> None:
        """Let what the running session wrote stay, whatever is found out about its map."""
        self._sessions.settle()

    @property
    def current(self) -> Memory:
        """The memory of the map that the robot is in: this one, or that of a session in quarantine."""
        return self._sessions.apart or self

    @property
    def frame(self) -> FrameTransform:
        """From the map of the running session's poses to this memory's, in which all positions are given."""
        return self._sessions.transform or FrameTransform()

    def last_pose(self) -> LastPose | None:
        """Where the camera was in the newest frame and its memory time, in the map of ``current``."""
        return super().last_pose() if self._sessions.apart is None else self._sessions.apart.last_pose()

    def _pose_here(self) -> Pose3D | None:
        """Where the camera is in this memory's map; None while that is not known."""
        return self.pose() if self._sessions.apart is None else None

    def in_map(self, frame: Frame) -> Frame:
        """A frame of the running session as ``current`` holds it: where the robot is in the map it is in."""
        return self._sessions.in_map(frame, None)[0]

    @property
    def doubtful(self) -> bool:
        """Whether nothing that the running session saw speaks yet for where it says it is in a map that is known."""
        return self._sessions.doubtful

    def session_frames(self) -> list[SessionFrame]:
        """In which map each session is and how that is known, oldest first; see docs/alignment.md."""
        return [self._writes.frames.of(session.id) for session in self._clock.sessions]

    def _another(self, path: Path | None) -> Memory:
        """A memory of the same kind for a session alone; it takes its poses as they are."""
        image_encoder = self._finder.image_encoder or self._store.image_encoder
        made = Memory(
            path,
            settings=self.settings,
            encoder=self._opened,
            image_encoder=image_encoder,
            index="faiss",
            wall_clock=self._wall_clock,
        )
        made._sessions.enabled = False
        return made

    def _reopen(self) -> None:
        self._image_encoder = self._finder.image_encoder
        self._read_from(self._writes.reopened())

    def _lifted(self, frame: Frame, detections: Sequence[Detection]) -> list[Observation]:
        """Detections with embeddings of this memory's own kind, placed in the world by the frame's depth."""
        # loaded with the first of them: a question needs neither
        from lastseen.appearance import with_embeddings
        from lastseen.lift import lift_all

        encoder = self._finder.image_encoder
        if encoder is None and self._store.image_encoder in (None, ColorShapeEncoder.name):
            encoder = self._finder.image_encoder = ColorShapeEncoder()
            self._store.image_encoder = encoder.name
        found = list(detections) if encoder is None else with_embeddings(frame, detections, encoder)
        return lift_all(frame, found, self.settings.lift, with_crops=self.settings.store.store_crops)

    def new_session(self, *, map_id: str | None = None) -> None:
        """Let the next frame begin a session: its stamps may start anew, memory time goes on.

        ``map_id`` is what its source calls the map of its poses. The id of an earlier session is believed at once,
        another one puts the session into quarantine until it is aligned; without an id the session is taken for the
        same map, as long as what it sees does not speak against it.
        """
        self._sessions.end()
        self._sessions.map_id = map_id
        self._writes.end_session()

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
        # what was just observed can be searched; a past one is read from the journal
        self._writes.pull() if as_of is None else self.flush()
        # what is asked: words or an embedding; refuses what cannot be asked
        query = self._finder.query(text, image=image, embedding=embedding, k=k)
        # what limits it, with times on memory's clock
        now = self._clock.now if as_of is None else self._clock.time(as_of, name="as_of")
        limits = Filter(
            near=near,
            radius=radius,
            within=within,
            label=label,
            # what is asked of robots is bounded by wall time, which they share
            since=None if since is None or robots is not None else self._clock.time(since, name="since"),
            before=None if before is None or robots is not None else self._clock.time(before, name="before"),
            fresh_after=None if include_stale else now - self.settings.lifecycle.stale_after,
            include_tentative=include_tentative,
            include_removed=include_removed,
        )
        if robots is not None:
            if as_of is not None:
                raise InvalidValue("as_of", as_of, "cannot be asked of a shared index", remedy="leave robots out")
            return self._finder.find_shared(robots, query, limits, now=now, since=since, before=before)
        answer = self._finder.find(query, limits, now=now, past=as_of is not None)
        apart = self._sessions.apart
        if apart is None or as_of is not None:
            return with_alignment(answer, self._sessions.known)
        # what the robot sees now is in the map it is in, what was known before is not
        return both(
            self._sessions.prefix,
            apart.find(
                text,
                image=image,
                embedding=embedding,
                near=near,
                radius=radius,
                within=within,
                label=label,
                include_stale=include_stale,
                include_tentative=include_tentative,
                include_removed=include_removed,
                k=k,
            ),
            answer,
        )

    def ask(self, question: str, *, model: Backend | str | None = None) -> Reply:
        """Answer a question in words: where, when, how many, what is in, what changed ... (docs/search.md).

        ``model`` is a language model that may word the question and phrase the answer, open or by name
        ("openai:MODEL", "gemini"); the answer itself is the memory's, with and without it.

        >>> memory.ask("how many chairs are in the kitchen?").count  # doctest: +SKIP
        """
        if model is None:
            return self._ask(question)
        from lastseen.memory.language import ask_through
        from lastseen.vlm.protocol import open_backend

        if isinstance(model, str):
            if model not in self._models:
                self._models[model] = open_backend(model, self.settings.planner)
            model = self._models[model]
        return ask_through(question, model, ask=self._ask)

    def _ask(self, question: str) -> Reply:
        # loaded with the first of them, as tell is: most questions are finds, and a command is short
        from lastseen.memory.ask import ask

        apart = self._sessions.apart
        if apart is not None:
            reply = ask(apart, question)
            if reply.status == "answered":
                return reply
            reply = ask(self, question)
            return replace(reply, sentence=f"{reply.sentence} {NOT_FROM_HERE}") if reply.objects else reply
        return ask(self, question)

    def tell(
        self,
        text: str,
        *,
        position: Point | None = None,
        extent: Point | None = None,
        outline: Sequence[Sequence[float]] | None = None,
    ) -> Fact:
        """Tell the memory what it has not seen; returns the fact, whose id ``forget`` takes (docs/telling.md).

        Args:
            text: "there is a kettle on the stove", "the mug is in the cupboard", "this is the pantry", "keys live on
                the hook", "rename the office to studio", "note: the boiler is serviced in May".
            position: Where a thing is or a room lies, metres in the world frame; otherwise the text tells, and "here"
                is where the camera was in the newest frame.
            extent: Size of a thing in metres.
            outline: Corners (x, y) of a room or region, metres.

        Raises:
            InvalidValue: It is not understood, or what it refers to is not remembered; nothing was changed.

        >>> memory.tell("keys live on the hook").id  # doctest: +SKIP
        """
        if self._sessions.apart is not None:
            # what is told of here belongs to the map the robot is in, and comes along when that is aligned
            return self._sessions.apart.tell(text, position=position, extent=extent, outline=outline)
        from lastseen.memory.tell import tell

        return tell(self, self._writes, text, keep=self._tell, position=position, extent=extent, outline=outline)

    def use_image_encoder(self, encoder: Encoder) -> None:
        """Give a memory that was opened without it the encoder of its embeddings, so that words reach them too."""
        self._finder.use_image_encoder(encoder)

    @property
    def image_encoder(self) -> Encoder | None:
        """The open encoder of the embeddings, where there is one."""
        return self._finder.image_encoder

    def names_only(self) -> str | None:
        """Why words are compared with names only though the embeddings could be too; None where all is well."""
        return self._finder.text_to_image_encoder()[1]

    def object(self, object_id: str) -> Object:
        """Everything remembered of one object, pictures included; an id that is not remembered raises."""
        apart, prefix = self._sessions.apart, self._sessions.prefix
        if apart is not None and object_id.startswith(prefix):
            return replace(apart.object(object_id.removeprefix(prefix)), id=object_id)
        with self._writes.lock:
            state = self._objects.state(object_id)
        self._writes.pull()
        crops = tuple(crop.jpeg for crop in self._store.crops(object_id))
        return self._browse.described([replace(state, image_crops=crops)])[0]

    def history(self, object_id: str) -> list[HistoryEntry]:
        """Where an object was known and what happened to it, oldest first; an id that is not remembered raises."""
        with self._writes.lock:
            self._objects.state(object_id)
        self.flush()
        return object_history(self._store, self._clock, object_id)

    def states(
        self,
        label: str | None = None,
        *,
        kind: str | None = OBJECT,
        include_tentative: bool = False,
        include_absent: bool = False,
    ) -> list[ObjectState]:
        """Working memory's own records in the order of their ids; with a label, those most likely called so.

        Tentative objects and objects seen to be gone (missing, removed) come only when asked for.
        """
        with self._writes.lock:
            return self._objects.states(
                label=label, kind=kind, include_tentative=include_tentative, include_absent=include_absent
            )

    def objects(
        self,
        label: str | None = None,
        *,
        kind: str | None = OBJECT,
        include_tentative: bool = False,
        include_removed: bool = False,
    ) -> list[Object]:
        """Every remembered object in the order of its id; with a label, those most likely called so.

        Tentative objects, and those seen to be gone (missing, removed), come only when asked for, and so do surfaces
        such as floor, walls and table tops: ``kind="surface"``, or None for both kinds.
        """
        states = self.states(label, kind=kind, include_tentative=include_tentative, include_absent=include_removed)
        return self.described(states)

    def described(self, states: Sequence[ObjectState], *, now: float | None = None) -> list[Object]:
        """Records of working memory as users see them; ``now`` is the memory time that ages count from."""
        return self._browse.described(states, now=now)

    def relations(self, object_id: str) -> list[Relation]:
        """How an object stands to those around it: in, on, under, next to; nearest first within each."""
        with self._writes.lock:
            return self._objects.relations(object_id)

    def what_changed(self, since: Moment | None = None, *, newest: int | None = None) -> list[Change]:
        """What happened to objects since a time, oldest first; one that was never confirmed is left out.

        ``newest`` looks at no more than so many events, from the last one back.
        """
        self.flush()
        start = None if since is None else self._clock.time(since, name="since")
        with self._store.guard:
            return changes(self._store, self._clock, since=start, newest=newest)

    @property
    def matched(self) -> tuple[str | None, ...]:
        """The object that each observation of the newest frame went to, in their order; None for none."""
        if self._sessions.apart is not None:
            return tuple(None if one is None else self._sessions.prefix + one for one in self._sessions.apart.matched)
        return self._objects.matched

    def thin(self) -> int:
        """Delete at once the history that ``retention`` does not keep, objects never; returns the rows deleted."""
        self.settle()
        return self._writes.thin()

    def sessions(self) -> list[SessionRecord]:
        """Every session of this memory, oldest first."""
        return list(self._clock.sessions)

    def stats(self) -> dict[str, Any]:
        """What memory holds (counts), its bytes on disk and in RAM by kind, and the state of a shared index."""
        self._writes.pull()
        return {
            **measure(self._store, self._objects, sessions=len(self._clock.sessions)),
            "encoder": self.encoder.name,
            "image_encoder": self._store.image_encoder,
            "shared_index": self.shared.state(),
        }

    @property
    def browse(self) -> Browse:
        """Pages, earlier states, pictures and what changed lately: for whoever displays this memory."""
        return self._browse

    @property
    def store(self) -> LongTermStore:
        """The journal and indexes behind this memory: for tools, not for everyday use."""
        return self._store

    @property
    def shared(self) -> Shared:
        """The index that several robots share, as this memory reaches it."""
        return self._writes.shared
