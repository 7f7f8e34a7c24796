"""A floor plan: typed rooms, the walls between them, the openings in the walls, and the mesh of it all.

Room rectangles reach to the middle of their walls, so that together they cover the floor and a robot in a doorway
is always in a room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastseen.sim.catalog.palette import Rgb
from lastseen.sim.catalog.shape import BOX_CORNERS, BOX_FACES
from lastseen.sim.home import Room
from lastseen.sim.mesh import Mesh, Pattern

Rectangle = tuple[float, float, float, float]
WALL_THICKNESS = 0.12
"""Metres: a plastered partition wall."""
WALL_HEIGHT = 2.6
"""Metres: the usual clear height of a flat."""
OUTSIDE: Rgb = (206, 200, 190)
TRIM: Rgb = (238, 236, 230)
SKY: Rgb = (176, 208, 236)
LEAF: Rgb = (120, 78, 46)
CEILING: Rgb = (244, 243, 240)
_SLAB = 0.05
"""Metres: the thickness of floors and ceilings."""

_WALL_TINTS: tuple[Rgb, ...] = (
    (232, 226, 212),
    (222, 228, 232),
    (236, 228, 216),
    (220, 230, 218),
    (234, 220, 214),
    (226, 222, 234),
    (238, 234, 222),
)
_WET_TINTS: tuple[Rgb, ...] = ((214, 230, 236), (222, 236, 232), (236, 238, 240))
_FLOORS: dict[str, tuple[tuple[Rgb, Pattern], ...]] = {
    "wet": (((196, 204, 208), Pattern.TILES), ((214, 208, 196), Pattern.TILES)),
    "soft": (((176, 168, 156), Pattern.CARPET), ((178, 138, 96), Pattern.WOOD)),
    "dry": (((178, 138, 96), Pattern.WOOD), ((150, 108, 70), Pattern.WOOD), ((198, 164, 122), Pattern.WOOD)),
}
_WET = ("kitchen", "bathroom", "laundry room", "entrance")


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


def walls_between(rooms: Sequence[Room]) -> tuple[Wall, ...]:
    """Every straight piece of wall between two rooms or a room and the outside."""
    xs = sorted({value for room in rooms for part in room.rectangles for value in (part[0], part[2])})
    ys = sorted({value for room in rooms for part in room.rectangles for value in (part[1], part[3])})
    owner: dict[tuple[int, int], int] = {}
    for room in rooms:
        for x0, y0, x1, y1 in room.rectangles:
            for i in range(xs.index(x0), xs.index(x1)):
                for j in range(ys.index(y0), ys.index(y1)):
                    owner[i, j] = room.id
    walls: list[Wall] = []
    for i, x in enumerate(xs):
        sides = [(owner.get((i - 1, j)), owner.get((i, j))) for j in range(len(ys) - 1)]
        walls.extend(Wall("y", x, a, b, low, high) for a, b, low, high in _merged(ys, sides))
    for j, y in enumerate(ys):
        sides = [(owner.get((i, j - 1)), owner.get((i, j))) for i in range(len(xs) - 1)]
        walls.extend(Wall("x", y, a, b, low, high) for a, b, low, high in _merged(xs, sides))
    return tuple(walls)


def _merged(
    edges: list[float], sides: list[tuple[int | None, int | None]]
) -> list[tuple[float, float, int | None, int | None]]:
    pieces: list[tuple[float, float, int | None, int | None]] = []
    for start, end, (low, high) in zip(edges[:-1], edges[1:], sides, strict=True):
        if low == high:
            continue
        if pieces and pieces[-1][1] == start and pieces[-1][2:] == (low, high):
            start = pieces.pop()[0]  # noqa: PLW2901 - the piece before is the same wall
        pieces.append((start, end, low, high))
    return pieces


def wall_boxes(plan: FloorPlan) -> NDArray[np.float64]:
    """The solid parts of all walls as boxes (n, 2, 3), windows and the front door counted as solid."""
    boxes: list[NDArray[np.float64]] = []
    for index, wall in enumerate(plan.walls):
        boxes += [_wall_box(plan, wall, solid) for solid in _solids(plan, index, wall, windows_solid=True)]
    return np.array(boxes)


def structure_mesh(plan: FloorPlan, rng: np.random.Generator, *, ceiling: bool) -> Mesh:
    """Floors, walls with their openings, window panes, the front door and, if wanted, the ceiling."""
    parts: list[Mesh] = []
    tints: dict[int | None, Rgb] = {None: OUTSIDE}
    for room in plan.rooms:
        palette = _WET_TINTS if room.type in ("bathroom", "laundry room") else _WALL_TINTS
        tints[room.id] = palette[int(rng.integers(len(palette)))]
        kinds = _FLOORS["wet" if room.type in _WET else "soft" if room.type == "bedroom" else "dry"]
        color, pattern = kinds[int(rng.integers(len(kinds)))]
        for x0, y0, x1, y1 in room.rectangles:
            parts.append(_box((x0, y0, -_SLAB), (x1, y1, 0.0), [color] * 6, pattern))
            if ceiling:
                top = plan.wall_height
                parts.append(_box((x0, y0, top), (x1, y1, top + _SLAB), [CEILING] * 6, Pattern.PLASTER))
    for index, wall in enumerate(plan.walls):
        sides = [TRIM] * 6
        across = 0 if wall.along == "y" else 2
        sides[across], sides[across + 1] = tints[wall.low], tints[wall.high]
        for solid in _solids(plan, index, wall, windows_solid=False):
            box = _wall_box(plan, wall, solid)
            parts.append(_box(box[0], box[1], sides, Pattern.PLASTER))
        for opening in plan.openings_in(index):
            if opening.walkable:
                continue
            window = opening.kind is OpeningKind.WINDOW
            box = _wall_box(plan, wall, (opening.start, opening.end, opening.sill, opening.head))
            axis = 0 if wall.along == "y" else 1
            thin = 0.02 if window else 0.03
            box[:, axis] = wall.at - thin, wall.at + thin
            color, pattern = (SKY, Pattern.PLAIN) if window else (LEAF, Pattern.WOOD)
            parts.append(_box(box[0], box[1], [color] * 6, pattern))
            if window:
                along = 1 - axis
                bar = box.copy()
                bar[:, along] = opening.middle - 0.02, opening.middle + 0.02
                bar[:, axis] = wall.at - 0.03, wall.at + 0.03
                parts.append(_box(bar[0], bar[1], [TRIM] * 6, Pattern.PLAIN))
    return Mesh.joined(parts)


def _solids(
    plan: FloorPlan, index: int, wall: Wall, *, windows_solid: bool
) -> list[tuple[float, float, float, float]]:
    """The solid rectangles of one wall as (start, end, low, high)."""
    solids: list[tuple[float, float, float, float]] = []
    # ends reach into the crossing wall, so that corners are closed
    half = plan.wall_thickness / 2.0
    cursor = wall.start - half
    for opening in plan.openings_in(index):
        if windows_solid and not opening.walkable:
            continue
        solids.append((cursor, opening.start, 0.0, plan.wall_height))
        if opening.sill > 0.0:
            solids.append((opening.start, opening.end, 0.0, opening.sill))
        solids.append((opening.start, opening.end, opening.head, plan.wall_height))
        cursor = opening.end
    solids.append((cursor, wall.end + half, 0.0, plan.wall_height))
    return solids


def _wall_box(plan: FloorPlan, wall: Wall, solid: tuple[float, float, float, float]) -> NDArray[np.float64]:
    start, end, low, high = solid
    half = plan.wall_thickness / 2.0
    if wall.along == "x":
        return np.array([[start, wall.at - half, low], [end, wall.at + half, high]])
    return np.array([[wall.at - half, start, low], [wall.at + half, end, high]])


def _box(low: ArrayLike, high: ArrayLike, sides: Sequence[Rgb], pattern: Pattern) -> Mesh:
    """A box whose six sides (-x, +x, -y, +y, -z, +z) may differ in colour."""
    bottom, top = np.asarray(low), np.asarray(high)
    vertices = (BOX_CORNERS + np.array([0.5, 0.5, 0.0])) * (top - bottom) + bottom
    colors = np.repeat(np.array(sides, dtype=np.uint8), 2, axis=0)
    patterns = np.full(len(BOX_FACES), int(pattern), dtype=np.uint8)
    return Mesh(vertices.astype(np.float32), BOX_FACES, colors, patterns)
