"""A floor plan: typed rooms, the walls between them, and the openings in the walls.

Room rectangles reach to the middle of their walls, so that together they cover the floor and a robot in a doorway
is always in a room.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from lastseen.sim.home import Room

Rectangle = tuple[float, float, float, float]


class Constraint(Exception):
    """This attempt cannot meet a constraint; the generator tries the next derived seed."""


class OpeningKind(StrEnum):
    """What fills a hole in a wall."""

    DOOR = "door"
    PASSAGE = "passage"
    """A wide opening without a leaf, as between kitchen and dining room."""
    WINDOW = "window"
    FRONT_DOOR = "front door"
    """Closed: the robot stays at home."""


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight piece of wall with one room, or the outside (None), on each side.

    It runs along ``along`` from ``start`` to ``end`` at ``at`` on the other axis; ``low`` is the room at smaller
    coordinates.
    """

    along: Literal["x", "y"]
    at: float
    start: float
    end: float
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Opening:
    """A hole in a wall from ``start`` to ``end`` along it and from ``sill`` to ``head`` above the floor."""

    kind: OpeningKind
    wall: int
    start: float
    end: float
    sill: float
    head: float

    @property
    def middle(self) -> float:
        """The middle along the wall."""
        return (self.start + self.end) / 2.0

    @property
    def walkable(self) -> bool:
        """Whether a robot can pass."""
        return self.kind in (OpeningKind.DOOR, OpeningKind.PASSAGE)


@dataclass(frozen=True)
class FloorPlan:
    """Everything about a house that does not move."""

    rooms: tuple[Room, ...]
    walls: tuple[Wall, ...]
    openings: tuple[Opening, ...]
    wall_thickness: float
    wall_height: float

    def walls_of(self, room_id: int) -> list[tuple[int, Wall]]:
        """The walls of a room with their indices."""
        return [(i, wall) for i, wall in enumerate(self.walls) if room_id in (wall.low, wall.high)]

    def openings_in(self, wall: int) -> list[Opening]:
        """The openings of one wall, by position."""
        return sorted((o for o in self.openings if o.wall == wall), key=lambda o: o.start)
