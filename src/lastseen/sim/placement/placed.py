"""A thing at its place, while the house is still being furnished."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.catalog import CLASSES, Group, Shape, Surface
from lastseen.sim.home import Thing


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
