"""``Memory``: what a robot saw, where and when. Every way in ends in ``observe``; every question starts here."""

from __future__ import annotations

import time as wall_time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from lastseen.closing import Closes
from lastseen.config import Settings
from lastseen.detection import Box, Detection
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.encoders.registry import open_encoders
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.browse import Browse
from lastseen.memory.corrections import Corrections
from lastseen.memory.facts import Fact
from lastseen.memory.object import NOT_FROM_HERE, Answer, Point
from lastseen.memory.objects import Event
from lastseen.memory.places.tracker import Step
from lastseen.memory.query.filter import Filter
from lastseen.memory.query.finder import Finder
from lastseen.memory.reads import Reads
from lastseen.memory.reply import Reply
from lastseen.memory.sessions import Sessions
from lastseen.memory.shared_index import SharedIndex
from lastseen.memory.space.space import labels_of
from lastseen.memory.store.clock import Moment
from lastseen.memory.store.store import LongTermStore, measure
from lastseen.memory.write_path import WritePath
from lastseen.observation import Observation
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


class Memory(Reads, Corrections, Closes):
    """What a robot saw, where and when.

    Here is what every program needs: ``observe``, ``find``, ``ask`` and ``tell``. ``Reads`` has what is known of
    objects (``object``, ``objects``, ``history``, ``what_changed``, ``relations``), rooms, places, floor and poses;
    ``Corrections`` what does not come from a frame (``relabel``, ``merge``, ``undo``, ``forget`` ...) and
    ``subscribe``.

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
        self.encoder, stored = open_encoders(encoder, image_encoder, self.settings)
        self._image_encoder = stored
        self._wall_clock = wall_clock
        self._models: dict[str, Backend] = {}
        self._placed: tuple[bool, ...] = ()
        self._subscribers = []
        self._sessions = Sessions(self, self._another, self._reopen)
        self._sessions.map_id = map_id
        self.box_yaw: float | None = None
        """Along which axes the detections of the running session are measured; its first frame decides."""
        self._read_from(
            WritePath(
                path,
                self.settings,
                read_only=read_only,
                image_encoder=stored if isinstance(stored, str | None) else stored.name,
                index=index or self.settings.store.index,
                analyzer=self.analyzer,
                wall_clock=wall_clock,
            )
        )

    @classmethod
    def open(cls, path: str | Path | None = None, **options: Unpack[Options]) -> Self:
        """Open a memory; with a path it is durable, without one it ends with the process. Options: see ``Memory``."""
        return cls(path, **options)

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

    def new_session(self, *, map_id: str | None = None) -> None:
        """Let the next frame begin a session: its stamps may start anew, memory time goes on.

        ``map_id`` is what its source calls the map of its poses. The id of an earlier session is believed at once,
        another one puts the session into quarantine until it is aligned; without an id the session is taken for the
        same map, as long as what it sees does not speak against it.
        """
        self._sessions.end()
        self._sessions.map_id = map_id
        self.box_yaw = None
        self._writes.end_session()

    @property
    def current(self) -> Memory:
        """The memory of the map that the robot is in: this one, or that of a session in quarantine."""
        return self._sessions.apart or self

    @property
    def waiting(self) -> int:
        """Confirmed objects of the last session that ended in a map of its own, which wait to be aligned."""
        return self._sessions.waiting

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
        now = self._writes.clock.now if as_of is None else self._writes.clock.time(as_of, name="as_of")
        limits = Filter(
            near=near,
            radius=radius,
            within=within,
            label=label,
            # what is asked of robots is bounded by wall time, which they share
            since=None if since is None or robots is not None else self._writes.clock.time(since, name="since"),
            before=None if before is None or robots is not None else self._writes.clock.time(before, name="before"),
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
            return answer.with_alignment(self.browse.alignment)
        # what the robot sees now is in the map it is in, what was known before is not
        apart._writes.pull()
        now = apart._writes.clock.now
        fresh_after = None if include_stale else now - self.settings.lifecycle.stale_after
        limits = replace(limits, since=None, before=None, fresh_after=fresh_after)
        query = apart._finder.query(text, image=image, embedding=embedding, k=k)
        seen = apart._finder.find(query, limits, now=now)
        hits = tuple(replace(hit, id=self._sessions.prefix + hit.id) for hit in seen.hits)
        return replace(seen, hits=hits).followed_by(answer)

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

    def stats(self) -> dict[str, Any]:
        """What memory holds (counts), its bytes on disk and in RAM by kind, and the state of a shared index."""
        self._writes.pull()
        counts = self.browse.counts()
        named = ("tentative", "confirmed", "missing", "removed", "surfaces")
        return {
            "counts": {**{name: int(counts[name]) for name in named}, "sessions": len(self._writes.clock.sessions)},
            **measure(self._writes.store, self._writes.objects),
            "encoder": self.encoder.name,
            "image_encoder": self._writes.store.image_encoder,
            "shared_index": self.shared.state(),
        }

    @property
    def store(self) -> LongTermStore:
        """The journal and indexes behind this memory: for tools, not for everyday use."""
        return self._writes.store

    @property
    def shared(self) -> SharedIndex:
        """The index that several robots share, as this memory reaches it."""
        return self._writes.shared

    def _read_from(self, writes: WritePath) -> None:
        """Answer from these parts."""
        self._writes = writes
        self.browse = Browse(writes, self._pose_here)
        image_encoder = None if isinstance(self._image_encoder, str) else self._image_encoder
        self._finder = Finder(writes, self.browse, encoder=self.encoder, image_encoder=image_encoder)

    def _another(self, path: Path | None) -> Memory:
        """A memory of the same kind for a session alone; it takes its poses as they are."""
        image_encoder = self._finder.image_encoder or self._writes.store.image_encoder
        made = Memory(
            path,
            settings=self.settings,
            encoder=self.encoder,
            image_encoder=image_encoder,
            index="faiss",
            wall_clock=self._wall_clock,
        )
        made._sessions.enabled = False
        # also in RAM: it may be what the session is recognised by
        made.space.keeps_surface = self.space.keeps_surface
        return made

    def _reopen(self) -> None:
        self._image_encoder = self._finder.image_encoder
        self._read_from(self._writes.reopened())

    def _lifted(self, frame: Frame, detections: Sequence[Detection]) -> list[Observation]:
        """Detections with embeddings of this memory's own kind, placed in the world by the frame's depth."""
        # loaded with the first of them: a question needs neither
        from lastseen.appearance import with_embeddings
        from lastseen.box_axes import axes_of, in_axes, in_world
        from lastseen.lift import lift_each

        encoder = self._finder.image_encoder
        if encoder is None and self._writes.store.image_encoder in (None, ColorShapeEncoder.name):
            encoder = self._finder.image_encoder = ColorShapeEncoder()
            self._writes.store.image_encoder = encoder.name
        found = list(detections) if encoder is None else with_embeddings(frame, detections, encoder)
        if self.box_yaw is None:
            self.box_yaw = axes_of(frame)
        # boxes that a segmenter measured lie along the axes of the world already
        yaw = 0.0 if any(one.world_box is not None for one in found) else self.box_yaw
        with_crops = self.settings.store.store_crops
        lifted = lift_each(in_axes(frame, yaw), found, self.settings.lift, with_crops=with_crops)
        self._placed = tuple(each is not None for each in lifted)
        return in_world([each for each in lifted if each is not None], yaw)

    def _ask(self, question: str) -> Reply:
        # loaded with the first of them, as tell is: most questions are finds, and a command is short
        from lastseen.memory.ask import ask

        apart = self._sessions.apart
        if apart is not None and (reply := ask(apart, question)).status == "answered":
            return reply
        reply = ask(self, question)
        if apart is None or not reply.objects:
            return reply
        return replace(reply, sentence=f"{reply.sentence} {NOT_FROM_HERE}")
