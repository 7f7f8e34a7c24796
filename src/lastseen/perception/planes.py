"""Large planes of one depth image (floor, table tops, walls, ceiling), from its normals and the direction of gravity.

The world's z is up, so a supporting surface is a peak in the heights of level points and a wall a peak in the
distances of upright points that face one way: two histograms instead of a random search, and the same every time.
Each plane falls into connected regions; a region that is too small belongs to what it lies on or in.

Planes are kept over frames, for no single view shows a wall or a table top whole: one that was once seen large is
recognised later where only a part of it is in sight, and what lies flat on it is its own. A level plane that is soft
and as low as a bed or a sofa is a thing, not structure: what most of the area seen says, over all views.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.perception.kernels import facing_pixels, lie_on, on_plane, peak_heights, sectors_of

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

MARGIN, NOISE = 0.015, 0.003
"""Metres by which a flat surface is rough by depth noise, and what is added for each square metre of range."""
PLANE_SHARE = 0.02
"""Share of the pixels that makes a level or upright plane."""
LEVEL_AREA = 0.5
"""Square metres; a larger level surface supports things: floor, table, bed."""
WALL_AREA = 1.0
"""Square metres; a larger upright surface is a wall, not a cupboard's side."""
KNOWN_AREA = 0.05
"""Square metres that are enough where earlier frames saw a plane."""
VIEW_SHARE, BORDER_SHARE = 0.2, 0.15
"""Share of the image, and of its border, at which a plane is seen from too near to tell its size."""
REGION_AREA = 0.05
"""Square metres; a smaller region at the height of a plane is something else that happens to be as high."""
LEVEL = 0.94
"""Cosine to the vertical of a level surface: 20 degrees, for noisy normals and soft beds."""
UPRIGHT = 0.25
"""The same for a wall."""
LOOSE = 1.6
"""Margins within which a pixel is on a plane whatever its normal says: normals bend next to what stands there."""
FACES = 0.5
"""Cosine between the normals of a pixel and of the plane it may lie on: 60 degrees."""
APART = 0.1
"""Metres between two planes of one frame that face one way, where the second is small: less is a flat thing on it."""
CLOSE = 2.2
"""Margins from a plane within which noise and soft carpets still belong to it."""
HEADINGS = 36
"""Directions a wall may face, ten degrees each."""
BIN = 0.02
"""Metres of a histogram bin: about the noise of a depth camera at two metres."""
MOST = 6
"""Planes of one orientation looked for: a room seldom shows more."""
SAME_DIRECTION = 0.97
"""Cosine between normals of one plane in two views: 14 degrees, for sectors of ten."""
SAME_OFFSET = 0.06
"""Metres between the offsets of one plane in two views: noise at range and drift."""
NEAR = 0.3
"""Metres between the boxes of two views of one plane; a wall goes on behind a door frame."""
NEAR_TOP = 0.05
"""The same for tables, seats and beds: furniture of one height stands side by side."""
SOFT_LOW, SOFT_HIGH = 0.2, 0.68
"""Metres above the floor between which beds and sofas lie; tables and counters are higher."""
FLOOR_AREA = 0.5
"""Square metres of a level plane that may be the floor."""
NEW_AREA = 0.25
"""Square metres that the first view of a surface must show."""
LONGEST = 2.6
"""Metres of a bed or a sofa; what is longer is a row of cupboards or a bench along a wall."""
AROUND = 0.1
"""Metres around the box of a surface in which what lies in its plane is still its own."""
MOST_KEPT = 256
"""Planes kept; the one seen longest ago makes room."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Points p with ``normal`` . p = ``offset`` in the world; the normal looks towards the camera."""

    normal: Floats
    offset: float

    @property
    def level(self) -> bool:
        """Whether it is a floor or a table top rather than a wall."""
        return abs(float(self.normal[2])) > LEVEL

    def height_of(self, point: NDArray[np.floating]) -> float:
        """Metres that a point stands out of it towards the camera."""
        return float(self.normal @ point) - self.offset


@dataclass(slots=True)
class Planes:
    """The planes of an image: ``regions`` numbers their connected regions from 1, ``plane_of`` has their planes."""

    regions: Labels
    close: Bools
    margin: Floats
    areas: Floats
    min_pixels: float
    points: Floats
    normals: Floats
    known: Callable[[Plane, NDArray[np.float64], NDArray[np.float64]], bool]
    plane_of: list[Plane] = field(default_factory=list)

    def claim(self, normal: Floats, height: Floats, seeds: Bools, *, min_area: float) -> None:
        """Take the pixels at every peak in the heights of the seeds that is large enough in square metres."""
        free = seeds & (self.regions == 0)
        near, facts = np.empty(free.size, dtype=np.float32), np.empty(9)
        for _ in range(MOST):
            count = peak_heights(height, free, BIN, self.min_pixels, near)
            if not count:
                return
            middle = float(np.median(near[:count]))
            distance = np.empty_like(height)
            on_plane(height, middle, self.margin, seeds, self.areas, self.points, distance, facts)
            plane = Plane(normal, middle)
            if self._is_large(plane, facts, min_area):
                self._take(plane, distance, seeds)
            # what is just above or below belongs to the same surface, not to a second one
            free &= distance > 2.0

    def _is_large(self, plane: Plane, facts: NDArray[np.float64], min_area: float) -> bool:
        area, view_share, border_share = facts[:3].tolist()
        if area >= min_area or area < KNOWN_AREA:
            return bool(area >= min_area)
        if any(
            float(one.normal @ plane.normal) > LEVEL and abs(one.offset - plane.offset) < APART
            for one in self.plane_of
        ):
            return False
        if view_share >= VIEW_SHARE and border_share >= BORDER_SHARE:
            return True
        return self.known(plane, facts[3:6], facts[6:9])

    def _take(self, plane: Plane, distance: Floats, seeds: Bools) -> None:
        around = distance < CLOSE
        # a wall at the height of a table is not the table; next to it normals bend, and say nothing
        faces = (self.normals @ plane.normal > FACES) | ndimage.binary_dilation(seeds & around, iterations=2)
        on = (((distance < LOOSE) & faces) | (around & seeds)) & (self.regions == 0)
        parts, count = ndimage.label(on)
        if not count:
            return
        flat = parts.ravel()
        metres = np.bincount(flat, weights=np.where(seeds, self.areas, 0.0).ravel(), minlength=count + 1)
        sizes = np.bincount(flat, minlength=count + 1)
        facing = np.bincount(flat, weights=seeds.ravel(), minlength=count + 1)
        # a small region that faces the same way is the plane seen through a gap
        keep = (metres >= REGION_AREA) | (facing > 0.5 * sizes)
        keep[0] = False
        numbers = np.zeros(count + 1, dtype=np.int32)
        numbers[keep] = len(self.plane_of) + np.arange(1, int(keep.sum()) + 1, dtype=np.int32)
        self.plane_of += [plane] * int(keep.sum())
        self.regions += numbers[parts]
        self.close |= around & faces


def find_planes(
    points: Floats,
    normals: Floats,
    depth: Floats,
    *,
    areas: Floats,
    known: Callable[[Plane, NDArray[np.float64], NDArray[np.float64]], bool] = lambda *_: False,
) -> Planes:
    """The large planes of an image; ``points`` and ``normals`` are in world axes.

    ``areas`` are the square metres behind each pixel: a plane counts when it is as large as furniture hardly is, or
    when it is ``known`` (plane, lowest and highest point) from earlier frames.
    """
    planes = Planes(
        regions=np.zeros(depth.shape, dtype=np.int32),
        close=np.zeros(depth.shape, dtype=np.bool_),
        margin=MARGIN + NOISE * depth**2,
        areas=areas,
        min_pixels=PLANE_SHARE * depth.size,
        points=points,
        normals=normals,
        known=known,
    )
    up = np.array([0.0, 0.0, 1.0], dtype=np.float32)
    planes.claim(up, np.ascontiguousarray(points[..., 2]), normals[..., 2] > LEVEL, min_area=LEVEL_AREA)
    planes.claim(-up, -points[..., 2], normals[..., 2] < -LEVEL, min_area=WALL_AREA)
    sectors = np.empty(depth.shape, dtype=np.int16)
    sectors_of(normals, UPRIGHT, HEADINGS, sectors)
    counts = np.bincount(sectors.ravel() + 1, minlength=HEADINGS + 1)[1:]
    # neighbours together, so that a wall on the border of two sectors counts whole
    wide = counts + np.roll(counts, 1) + np.roll(counts, -1)
    facing, mean = np.empty(depth.shape, dtype=np.bool_), np.empty(3)
    for sector in np.argsort(-wide, kind="stable")[:MOST]:
        if wide[sector] < planes.min_pixels:
            break
        count = facing_pixels(sectors, int(sector), HEADINGS, planes.regions, normals, facing, mean)
        if count < planes.min_pixels:
            continue
        mean[2] = 0.0
        direction = (mean / max(float(np.linalg.norm(mean)), 1e-6)).astype(np.float32)
        planes.claim(direction, points @ direction, facing, min_area=WALL_AREA)
    return planes


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
        return 2 * self.thing_votes > self.votes and float(np.max(self.high - self.low)) <= LONGEST

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
            near = NEAR_TOP if plane.level and self.is_above_floor(plane) else NEAR
            if gap <= SAME_OFFSET and apart <= near and (best is None or gap < best[0]):
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
            if len(self.surfaces) > MOST_KEPT:
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
