"""What a memory knows of space: places, rooms, explored floor, viewpoints, where the robot is, and in which map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.places import Place, SpatialMemory
from lastseen.memory.places.events import SpatialEvent
from lastseen.memory.rooms import FloorPlan, Room
from lastseen.memory.session_frames import SessionFrame
from lastseen.memory.sessions import Sessions
from lastseen.memory.space.floor import FloorGrid
from lastseen.memory.space.keyframes import Keyframe
from lastseen.memory.space.space import LastPose, Space
from lastseen.memory.space.viewpoints import Spot
from lastseen.memory.store.records import SessionRecord
from lastseen.memory.write_path import WritePath


class SpaceReads:
    """The part of ``Memory`` that reads space; all of it may be read while frames come in."""

    _writes: WritePath
    _sessions: Sessions

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
