"""Things at their places while a room is furnished, what they take up, and whether one can still walk through it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.programs import Homes
from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.catalog import CLASSES, Group, Shape, Surface
from lastseen.sim.floorplan.plan import FloorPlan, Opening, Wall
from lastseen.sim.home import Room, Thing

Boxes = NDArray[np.float64]

TOUCH = 1e-3
"""Metres that two boxes may overlap and still count as touching: rounding, not penetration."""
CELL = 0.05
"""Metres: the grid on which walking is tested."""
_DOOR_CLEARANCE = 0.75
"""Metres kept free on both sides of a doorway: a robot turns there."""
_REACHABLE_SHARE = 0.7
"""Share of a room's open floor that must hang together with its doors."""
UNDERFOOT = 0.03
"""Metres: lower than this is walked over."""


@dataclass(frozen=True, slots=True)
class Side:
    """One wall as seen from inside a room: a line with the direction into the room."""

    wall: Wall
    index: int
    start: float
    end: float
    face: float
    inward: int
    """+1 when the room lies at larger coordinates than the wall."""

    @property
    def yaw(self) -> float:
        """The direction a thing looks that stands with its back to this wall."""
        if self.wall.along == "x":
            return math.pi / 2 if self.inward > 0 else -math.pi / 2
        return 0.0 if self.inward > 0 else math.pi

    def point(self, along: float, out: float) -> tuple[float, float]:
        """The floor point at a place along the wall and a distance out of it."""
        across = self.face + self.inward * out
        return (along, across) if self.wall.along == "x" else (across, along)


@dataclass
class Space:
    """The boxes in one room, the doorways to keep free, and the test for walking."""

    plan: FloorPlan
    room: Room
    settings: Homes
    walls: Boxes
    taken: Boxes = field(default_factory=lambda: np.empty((0, 2, 3)))
    kept_free: Boxes = field(init=False)
    fronts: Boxes = field(default_factory=lambda: np.empty((0, 2, 3)))
    worktop_fronts: Boxes = field(default_factory=lambda: np.empty((0, 2, 3)))
    """Fronts that another part of the same kitchen may close: the dead corner of an L."""
    sides: list[Side] = field(init=False)
    doors: list[tuple[float, float]] = field(init=False)
    windows: list[tuple[int, Opening]] = field(init=False)

    def __post_init__(self) -> None:
        half = self.plan.wall_thickness / 2
        self.sides, self.doors, self.windows, zones = [], [], [], []
        for index, wall in self.plan.walls_of(self.room.id):
            inward = 1 if wall.high == self.room.id else -1
            side = Side(wall, index, wall.start + half, wall.end - half, wall.at + inward * half, inward)
            self.sides.append(side)
            for opening in self.plan.openings_in(index):
                if opening.sill > 0.0:
                    self.windows.append((index, opening))
                    continue
                corners = [side.point(opening.start - 0.03, -0.02), side.point(opening.end + 0.03, _DOOR_CLEARANCE)]
                zones.append(_box(corners, 0.0, 2.2))
                if opening.walkable:
                    self.doors.append(side.point(opening.middle, 0.4))
        self.kept_free = np.array(zones).reshape(-1, 2, 3)
        x0, y0, x1, y1 = self.bounds
        near = (self.walls[:, 1, 0] > x0 - 0.5) & (self.walls[:, 0, 0] < x1 + 0.5)
        near &= (self.walls[:, 1, 1] > y0 - 0.5) & (self.walls[:, 0, 1] < y1 + 0.5)
        self.walls = self.walls[near]

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The rectangle about the room."""
        parts = np.array(self.room.rectangles)
        low, high = parts[:, :2].min(axis=0), parts[:, 2:].max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    def is_free(self, parts: Boxes, *, on_floor: bool, before_others: bool = True, in_run: bool = False) -> bool:
        """Whether these boxes lie in the room and meet no wall and no thing.

        On the floor they also keep out of doorways and, unless they belong ``before_others``, out of the space in
        front of furniture; those ``in_run`` may close off a worktop's corner.
        """
        middle = (parts[:, 0].min(axis=0) + parts[:, 1].max(axis=0)) / 2
        if not self.room.contains(float(middle[0]), float(middle[1])):
            return False
        if overlaps(parts, self.walls) or overlaps(parts, self.taken):
            return False
        if on_floor and overlaps(parts, self.kept_free):
            return False
        if before_others:
            return True
        return not overlaps(parts, self.fronts) and (in_run or not overlaps(parts, self.worktop_fronts))

    def blocks_window(self, parts: Boxes, side: Side) -> bool:
        """Whether something tall would stand before a window of this wall."""
        axis = 0 if side.wall.along == "x" else 1
        start, end = parts[:, 0, axis].min(), parts[:, 1, axis].max()
        # a tap or the top of a back may show
        top = parts[:, 1, 2].max() - 0.1
        return any(
            index == side.index and top > max(opening.sill, 1.0) and start < opening.end and end > opening.start
            for index, opening in self.windows
        )

    def take(self, parts: Boxes) -> None:
        """Remember that these boxes are occupied."""
        self.taken = np.concatenate([self.taken, parts])

    def stays_walkable(self, parts: Boxes | None = None) -> bool:
        """Whether, with these boxes added, all doors and most of the open floor hang together."""
        x0, y0, x1, y1 = self.bounds
        shape = (math.ceil((x1 - x0) / CELL), math.ceil((y1 - y0) / CELL))
        free = np.zeros(shape, dtype=bool)
        for a, b, c, d in self.room.rectangles:
            free[_span(a, c, x0, shape[0]), _span(b, d, y0, shape[1])] = True
        boxes = self.taken if parts is None else np.concatenate([self.taken, parts])
        low = boxes[(boxes[:, 0, 2] < 1.8) & (boxes[:, 1, 2] > UNDERFOOT)]
        for box in np.concatenate([self.walls[self.walls[:, 0, 2] < 1.8], low]):
            columns = _span(box[0, 0], box[1, 0], x0, shape[0])
            free[columns, _span(box[0, 1], box[1, 1], y0, shape[1])] = False
        padded = np.pad(free, 1)
        # distances run from cell middle to cell middle: half a cell of the last one is still free
        distance = ndimage.distance_transform_edt(padded)[1:-1, 1:-1] * CELL - CELL / 2
        roomy = distance >= self.settings.walk_width / 2
        labels, count = ndimage.label(roomy)
        if count == 0:
            return False
        reached = {
            int(labels[min(int((x - x0) / CELL), shape[0] - 1), min(int((y - y0) / CELL), shape[1] - 1)])
            for x, y in self.doors
        }
        if len(reached) > 1 or 0 in reached:
            return False
        main = next(iter(reached), 1)
        share = (labels == main).sum() / roomy.sum()
        return bool(share >= _REACHABLE_SHARE)


def overlaps(parts: Boxes, others: Boxes) -> bool:
    """Whether any of these boxes meets any of those by more than a touch."""
    if not len(others) or not len(parts):
        return False
    low = np.maximum(parts[:, None, 0], others[None, :, 0])
    high = np.minimum(parts[:, None, 1], others[None, :, 1])
    return bool((high - low > TOUCH).all(axis=-1).any())


def _box(corners: list[tuple[float, float]], low: float, high: float) -> Boxes:
    plane = np.array(corners)
    return np.array([[*plane.min(axis=0), low], [*plane.max(axis=0), high]])


def _span(low: float, high: float, origin: float, size: int) -> slice:
    """The cells that an interval touches."""
    first = math.floor((low - origin) / CELL + 1e-6)
    last = math.ceil((high - origin) / CELL - 1e-6)
    return slice(max(first, 0), min(max(last, 0), size))


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape with its class, colour, pose and what it stands on."""

    id: int
    label: str
    color: str
    shape: Shape
    x: float
    y: float
    z: float
    yaw: float
    room_id: int
    support_id: int | None = None

    @property
    def parts(self) -> NDArray[np.float64]:
        """The boxes of its parts in the world; larger than the parts where the yaw is not a right angle."""
        return world_parts(self.shape, self.x, self.y, self.z, self.yaw)

    @property
    def group(self) -> Group:
        """What part its class plays."""
        return CLASSES[self.label].group

    def to_world(self, x: float, y: float) -> tuple[float, float]:
        """A point of its own frame on the floor plan."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return self.x + cos * x - sin * y, self.y + sin * x + cos * y

    def surface_box(self, surface: Surface) -> tuple[float, float, float, float]:
        """A surface's rectangle on the floor plan; exact for right angles."""
        xs, ys = zip(
            *(self.to_world(x, y) for x in (surface.x_min, surface.x_max) for y in (surface.y_min, surface.y_max)),
            strict=True,
        )
        return min(xs), min(ys), max(xs), max(ys)

    def thing(self) -> Thing:
        """The same as the home holds it."""
        return Thing(
            id=self.id,
            label=self.label,
            color=self.color,
            mesh=self.shape.mesh,
            pose=Pose3D.from_pose2d(Pose2D(self.x, self.y, self.yaw), height=self.z),
            room_id=self.room_id,
            support_id=self.support_id,
            movable=self.group is Group.SMALL,
        )


def ground_below(things: Sequence[Placed], parts: NDArray[np.float64]) -> tuple[float, int | None]:
    """How high these boxes stand and on what: the floor, or the rug that the whole footprint lies on."""
    low, high = parts[:, 0].min(axis=0), parts[:, 1].max(axis=0)
    for thing in things:
        if thing.group is Group.RUG and thing.shape.surfaces:
            surface = thing.shape.surfaces[0]
            x0, y0, x1, y1 = thing.surface_box(surface)
            if x0 <= low[0] and y0 <= low[1] and high[0] <= x1 and high[1] <= y1:
                return surface.z, thing.id
    return 0.0, None


def world_parts(shape: Shape, x: float, y: float, z: float, yaw: float) -> NDArray[np.float64]:
    """The boxes about a shape's parts after turning and moving it."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    middle = (shape.parts[:, 0] + shape.parts[:, 1]) / 2 @ turn.T + np.array([x, y, z])
    half = (shape.parts[:, 1] - shape.parts[:, 0]) / 2 @ np.abs(turn).T
    return np.stack([middle - half, middle + half], axis=1)
