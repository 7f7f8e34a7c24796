"""Planes kept over frames: a wall, a floor or a table top that no single view shows whole.

A plane that was once seen large is recognised later where only a part of it is in sight; what lies flat on it is its
own. A level plane that is soft and as low as a bed or a sofa is a thing, not structure: what most of the area seen
says, over all views.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.perception.kernels import lie_on
from lastseen.perception.planes import Plane

Floats = NDArray[np.float32]

SAME_DIRECTION = 0.97
"""Cosine between normals of one plane in two views: 14 degrees, for sectors of ten."""
SAME_OFFSET = 0.06
"""Metres between the offsets of one plane in two views: noise at range and drift."""
NEAR = 0.3
"""Metres between the boxes of two views of one plane; a wall goes on behind a door frame."""
SOFT_LOW, SOFT_HIGH = 0.2, 0.68
"""Metres above the floor between which beds and sofas lie; tables and counters are higher."""
FLOOR_AREA = 0.5
"""Square metres of a level plane that may be the floor."""
NEW_AREA = 0.25
"""Square metres that the first view of a surface must show."""
AROUND = 0.1
"""Metres around the box of a surface in which what lies in its plane is still its own."""
MOST = 256
"""Planes kept; the one seen longest ago makes room."""


@dataclass(slots=True, eq=False)
class Surface:
    """A plane in the world, the box of what was seen of it, and the votes on what it is."""

    plane: Plane
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    area: float
    seen: int
    thing_votes: float = 0.0
    votes: float = 0.0
    direction: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        self.see_as(self.plane)

    def see_as(self, plane: Plane) -> None:
        """Take another view of the plane for the true one."""
        self.plane = plane
        x, y, z = plane.normal.tolist()
        self.direction = (x, y, z)

    @property
    def is_thing(self) -> bool:
        """Whether most of what was seen of it showed a bed, a sofa or a box rather than structure."""
        return 2 * self.thing_votes > self.votes

    @property
    def box(self) -> NDArray[np.float64]:
        """The lowest and highest corner of all that was seen of it, (2, 3)."""
        return np.stack([self.low, self.high])


class SurfaceMap:
    """The planes of all frames so far."""

    def __init__(self) -> None:
        self.surfaces: list[Surface] = []
        self._frames = 0

    def begin_frame(self) -> None:
        """Count a frame."""
        self._frames += 1

    def find(self, plane: Plane, low: NDArray[np.floating], high: NDArray[np.floating]) -> Surface | None:
        """The known surface that a plane seen within a box belongs to; the nearest of several."""
        best: tuple[float, Surface] | None = None
        x, y, z = plane.normal.tolist()
        for surface in self.surfaces:
            # most differ in direction; numbers one by one are told in a fifth of an array's time
            a, b, c = surface.direction
            if x * a + y * b + z * c < SAME_DIRECTION:
                continue
            # the offset at the place seen: normals of two views differ a little, and offsets far away a lot
            middle = 0.5 * (np.maximum(low, surface.low) + np.minimum(high, surface.high))
            gap = abs(float(plane.normal @ middle) - plane.offset) + abs(
                float(surface.plane.normal @ middle) - surface.plane.offset
            )
            apart = np.maximum(np.maximum(low - surface.high, surface.low - high), 0.0).max()
            if gap <= SAME_OFFSET and apart <= NEAR and (best is None or gap < best[0]):
                best = (gap, surface)
        return None if best is None else best[1]

    def add(
        self, plane: Plane, low: NDArray[np.floating], high: NDArray[np.floating], *, area: float, thing: bool
    ) -> Surface | None:
        """Enter one view of a plane with the box of its points and a vote on what it is; None if small and new."""
        surface = self.find(plane, low, high)
        if surface is None:
            if area < NEW_AREA:
                return None
            surface = Surface(plane, low.astype(np.float64), high.astype(np.float64), area, self._frames)
            self.surfaces.append(surface)
            if len(self.surfaces) > MOST:
                self.surfaces.remove(min(self.surfaces, key=lambda one: one.seen))
        if area > surface.area:
            surface.see_as(plane)
            surface.area = area
        surface.low, surface.high = np.minimum(surface.low, low), np.maximum(surface.high, high)
        surface.seen = self._frames
        surface.votes += area
        surface.thing_votes += area * thing
        return surface

    def floor_height(self) -> float | None:
        """The height of the lowest large level plane in metres; None before one was seen."""
        heights = [
            one.plane.offset
            for one in self.surfaces
            if one.plane.level and one.plane.normal[2] > 0 and one.area >= FLOOR_AREA
        ]
        return min(heights) if heights else None

    def is_above_floor(self, plane: Plane) -> bool:
        """Whether a level plane lies clearly above the floor; never before the floor was seen."""
        floor = self.floor_height()
        return floor is not None and plane.offset - floor >= SOFT_LOW

    def as_low_as_a_bed(self, plane: Plane) -> bool:
        """Whether a level plane lies where beds and sofas do; never before the floor was seen."""
        floor = self.floor_height()
        return floor is not None and SOFT_LOW <= plane.offset - floor <= SOFT_HIGH

    def clear(self, free: NDArray[np.bool_], world: Floats, margin: Floats) -> None:
        """Clear ``free`` (h, w) where world points (h, w, 3) lie within ``margin`` of a known surface and its box."""
        known = [surface for surface in self.surfaces if not surface.is_thing]
        if known:
            lie_on(
                world,
                margin,
                np.stack([surface.plane.normal for surface in known]).astype(np.float32),
                np.array([surface.plane.offset for surface in known], dtype=np.float32),
                np.stack([surface.low for surface in known]).astype(np.float32) - np.float32(AROUND),
                np.stack([surface.high for surface in known]).astype(np.float32) + np.float32(AROUND),
                free,
            )
