"""What every viewer is given, and what changed since it was last given something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.memory.rooms import Room
from lastseen.observation import Observation

LIVE = "live"
"""In place of a file: a viewer that runs, or a server for one, on this machine alone."""
COLORS = {"confirmed": (60, 200, 90), "stale": (150, 150, 150), "tentative": (230, 180, 60)}
SEEN_COLOR, PATH_COLOR, ROOM_COLOR = (255, 120, 40), (80, 140, 255), (200, 200, 200)
UNIX = 1e8
"""Seconds: a stamp beyond it is a date, one before it the time since some start."""


class Bridge(Protocol):
    """A viewer."""

    def show(
        self,
        frame: Frame,
        memory: Memory,
        *,
        seen: Sequence[Observation] = (),
        belief: Mapping[str, Any] | None = None,
    ) -> None:
        """Show a frame, what was seen in it, the memory after it, and what a search believes."""
        ...

    def close(self) -> None:
        """Finish the file or end the view; may be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class Changes:
    """What a viewer has to draw anew: objects that are new or changed, ids that are gone, rooms where any changed."""

    objects: tuple[Object, ...]
    gone: tuple[str, ...]
    rooms: tuple[Room, ...] | None


class ChangeTracker:
    """Finds what changed in a memory between two frames."""

    def __init__(self) -> None:
        self._shown: Mapping[str, tuple[object, ...]] = {}
        self._rooms: object = None
        self._revision: int | None = None

    def update(self, memory: Memory) -> Changes:
        """What changed since the last call; everything, the first time."""
        revision = memory.browse.revision
        if revision == self._revision:
            return Changes((), (), None)
        self._revision = revision
        objects = memory.objects(include_tentative=True)
        looks = {one.id: (one.label, one.position, one.extent, one.state) for one in objects}
        changed = tuple(one for one in objects if self._shown.get(one.id) != looks[one.id])
        gone = tuple(sorted(self._shown.keys() - looks.keys()))
        self._shown = looks
        rooms = tuple(memory.rooms())
        named = [(room.id, room.name, room.area) for room in rooms]
        if named == self._rooms:
            return Changes(changed, gone, None)
        self._rooms = named
        return Changes(changed, gone, rooms)


def image_box(one: Observation, frame: Frame) -> tuple[float, float, float, float] | None:
    """The box of an observation in the colour image, from its extent; None where it is behind the camera."""
    signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).T.reshape(-1, 3)
    corners = frame.T_world_camera.inverse().transform(one.position + signs * one.extent)
    if (corners[:, 2] < 0.05).any():
        return None
    camera = frame.intrinsics
    u = np.clip(corners[:, 0] / corners[:, 2] * camera.fx + camera.cx, 0, camera.width)
    v = np.clip(corners[:, 1] / corners[:, 2] * camera.fy + camera.cy, 0, camera.height)
    return float(u.min()), float(v.min()), float(u.max()), float(v.max())


def path_points(memory: Memory) -> NDArray[np.float32]:
    """The robot's path so far, (n, 3)."""
    return np.array([point[1:] for point in memory.space.path.points], dtype=np.float32).reshape(-1, 3)


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
