"""What every viewer is given: a frame, and what of the memory changed since the frame before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Box
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.memory.objects.boxes import corners
from lastseen.memory.rooms import Room
from lastseen.observation import Observation

LIVE = "live"
"""In place of a file: a viewer that runs, or a server for one, on this machine alone."""
COLORS = {"confirmed": (60, 200, 90), "stale": (150, 150, 150), "tentative": (230, 180, 60)}
SEEN_COLOR, PATH_COLOR, ROOM_COLOR = (255, 120, 40), (80, 140, 255), (200, 200, 200)
JPEG_QUALITY = 80
PER_METRE = 1000.0
"""Depth is shown in millimetres, whole numbers of 16 bits, as cameras give it."""


class Bridge(ABC):
    """A viewer: draws what it is given, at the stamp that ``_begin`` was called with last."""

    def __init__(self) -> None:
        self._revision: int | None = None
        self._objects: Mapping[str, tuple[object, ...]] = {}
        self._rooms: list[tuple[int, str, float]] | None = None
        self._path = 0
        self._closed = False

    def show(
        self,
        frame: Frame,
        memory: Memory,
        *,
        seen: Sequence[Observation] = (),
        belief: Mapping[str, Any] | None = None,
    ) -> None:
        """Show a frame, what was seen in it, what changed in the memory with it, and what a search believes."""
        self._begin(frame.stamp)
        if frame.has_camera:
            boxes = [(box, one.label or "thing") for one in seen if (box := image_box(one, frame)) is not None]
            self._show_camera(frame, boxes)
        if self._revision != memory.browse.revision:
            self._revision = memory.browse.revision
            self._show_changes(memory)
        path = memory.space.path.points
        if len(path) > max(1, self._path):
            self._path = len(path)
            self._show_path(np.array([point[1:] for point in path], dtype=np.float32))
        if belief is not None:
            self._show_belief(belief)

    def close(self) -> None:
        """Finish the file or end the view; may be called twice."""
        if not self._closed:
            self._closed = True
            self._finish()

    def _show_changes(self, memory: Memory) -> None:
        objects = memory.objects(include_tentative=True)
        drawn = {one.id: (one.label, one.position, one.extent, one.yaw, one.state) for one in objects}
        changed = [one for one in objects if self._objects.get(one.id) != drawn[one.id]]
        gone = sorted(self._objects.keys() - drawn.keys())
        self._objects = drawn
        if changed or gone:
            self._show_objects(changed, gone)
        rooms = memory.rooms()
        named = [(room.id, room.name, room.area) for room in rooms]
        if named != self._rooms:
            self._rooms = named
            self._show_rooms([room for room in rooms if room.outline])

    @abstractmethod
    def _begin(self, stamp: float) -> None:
        """Take the time of what is shown from now on, in seconds."""

    @abstractmethod
    def _show_camera(self, frame: Frame, boxes: Sequence[tuple[Box, str]]) -> None:
        """Show the images with the boxes and names of what was seen in them."""

    @abstractmethod
    def _show_objects(self, changed: Sequence[Object], gone: Sequence[str]) -> None:
        """Draw what is new or changed, and take away the ids that are gone."""

    @abstractmethod
    def _show_rooms(self, rooms: Sequence[Room]) -> None:
        """Draw all rooms anew."""

    @abstractmethod
    def _show_path(self, points: NDArray[np.float32]) -> None:
        """Draw the robot's path so far, (n, 3)."""

    @abstractmethod
    def _show_belief(self, belief: Mapping[str, Any]) -> None:
        """Show what a search believes."""

    @abstractmethod
    def _finish(self) -> None:
        """Write what is not yet written."""


def image_box(one: Observation, frame: Frame) -> Box | None:
    """The box of an observation in the colour image, from its extent; None where it is behind the camera."""
    seen = frame.T_world_camera.inverse().transform(corners(one.position, one.extent, one.yaw))
    if (seen[:, 2] < 0.05).any():
        return None
    camera = frame.intrinsics
    u = np.clip(seen[:, 0] / seen[:, 2] * camera.fx + camera.cx, 0, camera.width)
    v = np.clip(seen[:, 1] / seen[:, 2] * camera.fy + camera.cy, 0, camera.height)
    return float(u.min()), float(v.min()), float(u.max()), float(v.max())


def millimetres(frame: Frame) -> NDArray[np.uint16]:
    """The depth image in millimetres; 0 where nothing was measured."""
    return np.nan_to_num(frame.depth * np.float32(PER_METRE)).clip(0, 65535).astype("<u2")


def words(one: Object) -> str:
    """What stands at an object."""
    return f"{one.label or 'thing'} {one.id}" + ("" if one.state == "confirmed" else f" ({one.state})")


def open_bridge(option: str, target: str) -> Bridge:
    """The bridge of ``--rerun`` or ``--foxglove``: a file by its suffix, or ``live``."""
    suffix = {"--rerun": ".rrd", "--foxglove": ".mcap"}[option]
    if target != LIVE and Path(target).suffix != suffix:
        raise InvalidValue(option, target, "is neither live nor a file of it", remedy=f"write live, or NAME{suffix}")
    if target != LIVE and Path(target).exists():
        raise InvalidValue(option, target, "exists already", remedy="name a new file, or delete it first")
    file = None if target == LIVE else Path(target)
    if option == "--rerun":
        from lastseen.bridges.rerun_bridge import RerunBridge

        return RerunBridge(file)
    from lastseen.bridges.foxglove_bridge import FoxgloveBridge

    return FoxgloveBridge(file)
