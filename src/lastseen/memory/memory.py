"""``Memory``: what a robot saw, where and when. Every way in ends in ``observe``; every question starts here."""

from __future__ import annotations

import time as wall_time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.encoders.registry import known_encoders, open_encoder, reads_both
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.ask import ask
from lastseen.memory.browse import Browse
from lastseen.memory.corrections import Corrections
from lastseen.memory.facts import Fact
from lastseen.memory.fleet import Shared
from lastseen.memory.history import Change, HistoryEntry, changes, object_history
from lastseen.memory.object import Answer, Object, Point
from lastseen.memory.objects import Event, ObjectState, Relation
from lastseen.memory.places.tracker import Step
from lastseen.memory.query import Filter, Finder
from lastseen.memory.query.constraints import Surroundings
from lastseen.memory.reply import Reply
from lastseen.memory.space.space import labels_of
from lastseen.memory.space_reads import SpaceReads
from lastseen.memory.store.clock import Moment
from lastseen.memory.store.records import SessionRecord
from lastseen.memory.store.store import LongTermStore, measure
from lastseen.memory.tell import tell
from lastseen.memory.write_path import WritePath
from lastseen.observation import OBJECT, Observation
from lastseen.protocols import Encoder, SceneAnalyzer
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
        self._browse = Browse(
            self._objects,
            self._store,
            self._clock,
            lock=writes.lock,
            flush=writes.flush,
            pull=writes.pull,
            places=self._place_of_points,
            pose=self.pose,
            facts=writes.facts,
        )
        self._finder = Finder(
            self._store,
            self._clock,
            writes.shared,
            self.settings,
            encoder=opened,
            image_encoder=None if isinstance(image_encoder, str) else image_encoder,
            describe=self._browse.with_places,
            around=Surroundings(
                self._browse.extents,
                self._place_of_points,
                self._browse.support,
                self._browse.here,
                writes.lock,
                writes.facts,
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
        self._writes.close()

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
        self._writes.check_writable("observe")
        seen = None
        if detections is not None:
            seen, observations = labels_of(detections), self._lifted(frame, detections)
        events = self._publish(self._writes.observe(frame, observations or (), seen=seen, step=step))
        self._writes.flush_if_due()
        return events

    def _lifted(self, frame: Frame, detections: Sequence[Detection]) -> list[Observation]:
        """Detections with embeddings of this memory's own kind, placed in the world by the frame's depth."""
        # loaded with the first of them: a question needs neither
        from lastseen.appearance import with_embeddings
        from lastseen.lift import lift_all

        encoder = self._finder.image_encoder
        if encoder is None and self._store.look in (None, ColorShapeEncoder.name):
            encoder = self._finder.image_encoder = ColorShapeEncoder()
            self._store.look = encoder.name
        found = list(detections) if encoder is None else with_embeddings(frame, detections, encoder)
        return lift_all(frame, found, self.settings.lift, with_crops=self.settings.store.store_crops)

    def new_session(self) -> None:
        """Let the next frame begin a session: its stamps may start anew, memory time goes on."""
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
        return self._finder.find(query, limits, now=now, past=as_of is not None)

    def ask(self, question: str) -> Reply:
        """Answer a question in words: where, when, how many, what is in, what changed ... (docs/search.md).

        >>> memory.ask("how many chairs are in the kitchen?").count  # doctest: +SKIP
        """
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
        return self._objects.matched

    def thin(self) -> int:
        """Delete at once the history that ``retention`` does not keep, objects never; returns the rows deleted."""
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
            "image_encoder": self._store.look,
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
