"""What a memory knows of objects, rooms, places and poses: the part of ``Memory`` that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.browse import Browse
from lastseen.memory.history import Change, HistoryEntry, changes, object_history
from lastseen.memory.object import Object
from lastseen.memory.objects import EventKind, ObjectState, Relation
from lastseen.memory.places import Place, SpatialMemory
from lastseen.memory.places.events import SpatialEvent
from lastseen.memory.rooms import FloorPlan, Room
from lastseen.memory.session_frames import SessionFrame
from lastseen.memory.sessions import Sessions
from lastseen.memory.space.floor import FloorGrid
from lastseen.memory.space.keyframes import Keyframe
from lastseen.memory.space.space import LastPose, Space
from lastseen.memory.space.viewpoints import Spot
from lastseen.memory.store.clock import Moment
from lastseen.memory.store.records import SessionRecord
from lastseen.memory.write_path import WritePath
from lastseen.observation import OBJECT


class Reads:
    """The part of ``Memory`` that reads objects and space; all of it may be read while frames come in."""

    _writes: WritePath
    _sessions: Sessions
    _placed: tuple[bool, ...]
    browse: Browse
    """Pages, earlier states, pictures and what changed lately: for whoever displays this memory."""

    def object(self, object_id: str) -> Object:
        """Everything remembered of one object, pictures included; an id that is not remembered raises."""
        apart, prefix = self._sessions.apart, self._sessions.prefix
        if apart is not None and object_id.startswith(prefix):
            return replace(apart.object(object_id.removeprefix(prefix)), id=object_id)
        with self._writes.lock:
            state = self._writes.objects.state(object_id)
        self._writes.pull()
        crops = tuple(crop.jpeg for crop in self._writes.store.crops(object_id))
        return self.browse.described([replace(state, image_crops=crops)])[0]

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
        states = self.states(label, kind=kind, include_tentative=include_tentative, include_removed=include_removed)
        return self.browse.described(states)

    def states(
        self,
        label: str | None = None,
        *,
        kind: str | None = OBJECT,
        include_tentative: bool = False,
        include_removed: bool = False,
    ) -> list[ObjectState]:
        """The same as working memory's own records."""
        with self._writes.lock:
            return self._writes.objects.states(
                label=label, kind=kind, include_tentative=include_tentative, include_absent=include_removed
            )

    def history(self, object_id: str) -> list[HistoryEntry]:
        """Where an object was known and what happened to it, oldest first; an id that is not remembered raises."""
        with self._writes.lock:
            self._writes.objects.state(object_id)
        self._writes.flush()
        return object_history(self._writes.store, self._writes.clock, object_id)

    def what_changed(self, since: Moment | None = None, *, newest: int | None = None) -> list[Change]:
        """What happened to objects since a time, oldest first; one that was never confirmed is left out.

        ``newest`` looks at no more than so many events, from the last one back. What appeared where its place had
        been seen free before has come: ``evidence["place_was_free"]`` is then true, else it may only be found late.
        """
        self._writes.flush()
        store, clock = self._writes.store, self._writes.clock
        start = None if since is None else clock.time(since, name="since")
        with store.guard:
            found = changes(store, clock, since=start, newest=newest)
        with self._writes.lock:
            came = self._writes.objects.newcomers()
        return [
            replace(one, evidence={**one.evidence, "place_was_free": True})
            if one.kind == EventKind.APPEARED and one.object_id in came
            else one
            for one in found
        ]

    def relations(self, object_id: str) -> list[Relation]:
        """How an object stands to those around it: in, on, under, next to; nearest first within each."""
        with self._writes.lock:
            return self._writes.objects.relations(object_id)

    @property
    def matched(self) -> tuple[str | None, ...]:
        """The object that each observation of the newest frame went to, in their order; None for none."""
        apart, prefix = self._sessions.apart, self._sessions.prefix
        if apart is not None:
            return tuple(None if one is None else prefix + one for one in apart.matched)
        return self._writes.objects.matched

    @property
    def matched_detections(self) -> tuple[str | None, ...]:
        """The same for the detections of the newest frame; None also for those that depth did not place."""
        apart, prefix = self._sessions.apart, self._sessions.prefix
        if apart is not None:
            return tuple(None if one is None else prefix + one for one in apart.matched_detections)
        ids = iter(self._writes.objects.matched)
        return tuple(next(ids, None) if placed else None for placed in self._placed)

    @property
    def spatial(self) -> SpatialMemory:
        """The places, the anchors on the robot's path, and where it is among them."""
        return self._writes.space.spatial

    @property
    def space(self) -> Space:
        """What the home looks like and where the robot went: for whoever displays this memory."""
        return self._writes.space

    def keyframes(self) -> tuple[Keyframe, ...]:
        """Pictures of what the robot saw, oldest first, each with its pose and the objects in it."""
        with self._writes.lock:
            return self._writes.space.keyframes.all

    @property
    def floor(self) -> FloorGrid:
        """The explored floor: free, occupied and unknown cells in the world frame."""
        return self._writes.space.floor

    @property
    def place_events(self) -> list[SpatialEvent]:
        """What the newest frame did to places and anchors, in the order it happened."""
        return self._writes.place_events

    def places(self) -> list[Place]:
        """Every place in the order of its id; ``spatial`` holds the anchors."""
        with self._writes.lock:
            graph = self.spatial.graph
            return [graph.places[place_id] for place_id in sorted(graph.places)]

    def rooms(self) -> list[Room]:
        """Every room in the order of its id: the seen floor cut at doors and narrows, named by what stands there."""
        with self._writes.lock:
            return self._writes.rooms.all()

    def floor_plans(self) -> list[FloorPlan]:
        """Walls and doors of each storey, as straight pieces to draw: what the rooms were cut from."""
        with self._writes.lock:
            return self._writes.rooms.floor_plans()

    def room_of(self, object_id: str) -> Room | None:
        """The room an object stands in; None where the floor around it was not seen."""
        with self._writes.lock:
            return self._writes.rooms.at([self._writes.objects.state(object_id).xyz_world], [object_id])[0]

    def room_at(
        self, points: Sequence[Any] | NDArray[np.float64], ids: Sequence[str] | None = None
    ) -> list[Room | None]:
        """The room of each point (x, y, z); None where nothing was seen near it.

        With the ids of the objects at these points, one at a wall belongs to the side it was seen from.
        """
        with self._writes.lock:
            return self._writes.rooms.at(points, ids)

    def viewpoints(self, object_id: str) -> tuple[Spot, ...]:
        """A few spots (x, y) on the floor from which an object was seen where it stands."""
        with self._writes.lock:
            return self._writes.space.viewpoints.of(object_id)

    def pose(self) -> Pose3D | None:
        """Where the camera was in the newest frame, also of an earlier run; None before the first."""
        last = self.last_pose()
        return None if last is None else last.pose

    def last_pose(self) -> LastPose | None:
        """The same with its memory time; where a session is in quarantine, in the map of that session."""
        apart = self._sessions.apart
        return self._writes.space.pose if apart is None else apart.last_pose()

    def _pose_here(self) -> Pose3D | None:
        """Where the camera is in this memory's map; None while that is not known."""
        return self.pose() if self._sessions.apart is None else None

    @property
    def frame(self) -> FrameTransform:
        """From the map of the running session's poses to this memory's, in which all positions are given."""
        return self._sessions.transform or FrameTransform()

    def in_map(self, frame: Frame) -> Frame:
        """A frame of the running session as ``current`` holds it: where the robot is in the map it is in."""
        return self._sessions.in_map(frame, None)[0]

    @property
    def pose_uncertain(self) -> bool:
        """Whether nothing that the running session saw speaks yet for where it says it is in a map that is known."""
        return self._sessions.pose_uncertain

    def session_frames(self) -> list[SessionFrame]:
        """In which map each session is and how that is known, oldest first; see docs/alignment.md."""
        return [self._writes.frames.of(session.id) for session in self._writes.clock.sessions]

    def sessions(self) -> list[SessionRecord]:
        """Every session of this memory, oldest first."""
        return list(self._writes.clock.sessions)
