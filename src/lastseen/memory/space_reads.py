"""What a memory knows of space: places and anchors, rooms, explored floor, viewpoints, and where the robot is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Pose3D
from lastseen.memory.places import Place, SpatialMemory
from lastseen.memory.places.events import SpatialEvent
from lastseen.memory.rooms import FloorPlan, Room
from lastseen.memory.space.floor import FloorGrid
from lastseen.memory.space.keyframes import Keyframe
from lastseen.memory.space.space import LastPose, Space
from lastseen.memory.space.viewpoints import Spot
from lastseen.memory.write_path import WritePath


class SpaceReads:
    """The part of ``Memory`` that reads space; all of it may be read while frames come in."""

    _writes: WritePath

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

    def _place_of_points(self, points: Sequence[Any], ids: Sequence[str]) -> list[tuple[int, str] | None]:
        """Id and name of the room of each object."""
        return [None if room is None else (room.id, room.name) for room in self.room_at(points, ids)]

    def pose(self) -> Pose3D | None:
        """Where the camera was in the newest frame, also of an earlier run; None before the first."""
        last = self.last_pose()
        return None if last is None else last.pose

    def last_pose(self) -> LastPose | None:
        """The same, with the memory time it is of."""
        return self._writes.space.pose
