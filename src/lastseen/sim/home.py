"""What a home is: typed rooms, walls, and things that stand on floors and on each other.

A home is immutable; a change gives a new home that shares everything that did not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.sim.mesh import Mesh

STRUCTURE_ID = 0
"""The instance id of walls, floors, ceilings and of nothing at all: what no memory should hold."""
_TOUCH = 0.05
"""Metres between a bottom and the top below it that still count as standing on it: models are that loose."""


@dataclass(frozen=True, slots=True)
class Room:
    """A typed room; ``rectangles`` are its floor outline as (x_min, y_min, x_max, y_max), metres."""

    id: int
    type: str
    rectangles: tuple[tuple[float, float, float, float], ...]

    def contains(self, x: float, y: float) -> bool:
        """Whether a point on the floor lies in the room."""
        return any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in self.rectangles)

    @property
    def center(self) -> tuple[float, float]:
        """The centre of the largest rectangle, where a label is drawn."""
        x0, y0, x1, y1 = max(self.rectangles, key=lambda r: ((r[2] - r[0]) * (r[3] - r[1]), r))
        return (x0 + x1) / 2.0, (y0 + y1) / 2.0


@dataclass(frozen=True, eq=False)
class Thing:
    """An object with a class, a colour name and a shape; its id is stable and is what the renderer writes.

    The mesh is in the thing's own frame (origin at the middle of its footprint, on the ground it stands on).
    """

    id: int
    label: str
    color: str
    mesh: Mesh
    pose: Pose3D
    room_id: int | None = None
    support_id: int | None = None
    movable: bool = False

    @cached_property
    def box(self) -> NDArray[np.float64]:
        """Axis-aligned minimum and maximum corner in the world, (2, 3)."""
        return self.mesh.moved(self.pose).bounds

    @property
    def position(self) -> NDArray[np.float64]:
        """The middle of the box: the truth that a remembered position is measured against."""
        return self.box.mean(axis=0)

    @property
    def extent(self) -> NDArray[np.float64]:
        """Full size of the box in metres."""
        return self.box[1] - self.box[0]


@dataclass(frozen=True, eq=False)
class Home:
    """Rooms, the structure (walls, floors, ceilings, instance id 0) and things by id."""

    name: str
    rooms: tuple[Room, ...]
    structure: Mesh
    things: Mapping[int, Thing]
    textures: NDArray[np.uint8] | None = field(default=None)

    def __post_init__(self) -> None:
        for key, thing in self.things.items():
            if key != thing.id or thing.id == STRUCTURE_ID:
                raise InvalidValue("home.things", key, "must be the thing's own id from 1", remedy="number from 1")
        object.__setattr__(self, "things", dict(sorted(self.things.items())))

    @classmethod
    def from_npz(cls, path: str | Path) -> Home:
        """A home from an npz file of labelled triangles; see ``lastseen.sim.from_npz``."""
        from lastseen.sim.from_npz import load_npz

        return load_npz(path)

    @classmethod
    def generate(cls, seed: int, *, rooms: int | None = None) -> Home:
        """A procedural house; see ``lastseen.sim.generate`` for its settings."""
        from lastseen.sim.generate import generate_home

        return generate_home(seed, rooms=rooms)

    @classmethod
    def from_graph(cls, path: str | Path) -> Home:
        """A VirtualHome scene graph as boxes in typed rooms."""
        from lastseen.sim.from_graph import home_from_graph

        return home_from_graph(path)

    def thing(self, thing_id: int) -> Thing:
        """The thing of this id."""
        try:
            return self.things[thing_id]
        except KeyError:
            raise InvalidValue("thing_id", thing_id, f"is not in {self.name}", remedy="see home.things") from None

    def things_of(self, label: str) -> list[Thing]:
        """All things of one class, by id."""
        return [thing for thing in self.things.values() if thing.label == label]

    def labels(self) -> list[str]:
        """The classes present, sorted."""
        return sorted({thing.label for thing in self.things.values()})

    def room_at(self, x: float, y: float) -> Room | None:
        """The room of a floor point; the lowest id where outlines overlap, None outside."""
        return next((room for room in self.rooms if room.contains(x, y)), None)

    def support_below(self, thing: Thing) -> int | None:
        """The id of the thing whose top carries this one, read from boxes; None for the floor, a wall or thin air."""
        bottom, centre = thing.box[0, 2], thing.position[:2]
        below = [
            other
            for other in self.things.values()
            if other.id != thing.id
            and abs(other.box[1, 2] - bottom) <= _TOUCH
            and bool((other.box[0, :2] <= centre).all() and (centre <= other.box[1, :2]).all())
            and other.box[0, 2] < bottom - _TOUCH / 2.0
        ]
        if not below:
            return None
        return min(below, key=lambda o: (abs(float(o.box[1, 2] - bottom)), -float(np.prod(o.extent[:2])), o.id)).id

    def with_thing(self, thing: Thing) -> Home:
        """This home with one thing added or replaced."""
        return replace(self, things={**self.things, thing.id: thing})

    def without_thing(self, thing_id: int) -> Home:
        """This home with one thing gone."""
        self.thing(thing_id)
        return replace(self, things={key: thing for key, thing in self.things.items() if key != thing_id})

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """Axis-aligned minimum and maximum corner of everything, (2, 3)."""
        boxes = [thing.box for thing in self.things.values()]
        if len(self.structure.vertices):
            boxes.append(self.structure.bounds)
        stacked = np.stack(boxes)
        return np.stack([stacked[:, 0].min(axis=0), stacked[:, 1].max(axis=0)])
