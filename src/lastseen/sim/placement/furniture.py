"""Furnishing one room by the rows of the priors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from lastseen.config.programs import Homes
from lastseen.sim.catalog import CLASSES, Group, Shape
from lastseen.sim.floorplan.plan import Constraint
from lastseen.sim.placement.space import Boxes, Placed, Space, ground_below, world_parts
from lastseen.sim.placement.spots import Spot, at_side, spots
from lastseen.sim.priors import FRONT, FURNISHINGS, Furnishing, Rule

_MATCHING = ("kitchen counter", "kitchen sink", "kitchen island")
"""Built as one kitchen: the same colour."""
_IN_FRONT = (Rule.BEFORE, Rule.AROUND, Rule.FLANKING, Rule.UNDERFOOT, Rule.AT_DOOR, Rule.BESIDE)
_SAME_RUN = 1.7
"""Metres from the last of a run within which its next optional part must stand."""
_WORKTOPS = ("kitchen counter", "kitchen sink", "dishwasher")


class Furnisher:
    """Places furniture in one room and keeps it walkable."""

    def __init__(self, space: Space, rng: np.random.Generator, ids: Iterator[int], settings: Homes) -> None:
        self.space = space
        self.placed: list[Placed] = []
        self._rng = rng
        self._ids = ids
        self._settings = settings
        self._fitted_color: str | None = None
        self._run: tuple[Spot, float, float] | None = None

    def furnish(self) -> list[Placed]:
        """Place every row of the room's type; ``Constraint`` when an essential one finds no place."""
        for row in FURNISHINGS[self.space.room.type]:
            if row.label in self._settings.exclude or self._rng.random() >= row.chance:
                continue
            wanted = int(self._rng.integers(row.count[0], row.count[1] + 1))
            got = self.place_row(row, wanted)
            if row.essential and got == 0:
                raise Constraint(f"no place for a {row.label} in the {self.space.room.type}")
        return self.placed

    def place_row(self, row: Furnishing, wanted: int) -> int:
        """Place up to so many things of one row; how many found a place."""
        targets = [thing for thing in self.placed if thing.label == row.target]
        if row.target and not targets:
            return 0
        target = targets[-1] if targets else None
        color, shape = self._make(row)
        got = 0
        for index in range(wanted):
            if index and row.rule not in (Rule.AROUND, Rule.BESIDE, Rule.ON):
                color, shape = self._make(row)
            if row.rule is Rule.ON:
                assert target is not None
                done = self._place_on(row.label, color, shape, target, (index + 0.5) / max(wanted, 1))
            elif row.rule is Rule.RUN:
                done = self._place_in_run(row.label, color, shape, essential=row.essential)
            else:
                places = spots(row.rule, shape, self.space, self._rng, target)
                done = self._place_first(row, color, shape, places)
            got += done
            if not done:
                break
            if row.rule is Rule.OPPOSITE and target is not None:
                self._keep_view(target, self.placed[-1])
        return got

    def _keep_view(self, viewer: Placed, screen: Placed) -> None:
        """Nothing tall comes between a sofa and its television, save what belongs before the sofa."""
        low = [min(viewer.x, screen.x), min(viewer.y, screen.y), 0.05]
        high = [max(viewer.x, screen.x), max(viewer.y, screen.y), 1.5]
        across = 1 if abs(math.cos(viewer.yaw)) > 0.5 else 0
        low[across] -= 0.4
        high[across] += 0.4
        self.space.fronts = np.concatenate([self.space.fronts, [[low, high]]])

    def _make(self, row: Furnishing) -> tuple[str, Shape]:
        fitted = row.label in _MATCHING
        color, shape = CLASSES[row.label].make(self._rng, color=self._fitted_color if fitted else None)
        if fitted:
            self._fitted_color = color
        return color, shape

    def _place_first(self, row: Furnishing, color: str, shape: Shape, places: Iterator[Spot]) -> bool:
        group = CLASSES[row.label].group
        for spot in itertools.islice(places, 120):
            if group is Group.HUNG:
                fits = self._fits_on_wall(shape, spot)
                ground: tuple[float, int | None] = (spot.z, None)
            else:
                ground = ground_below(self.placed, world_parts(shape, spot.x, spot.y, 0.0, spot.yaw))
                fits = self._fits(row, shape, spot, ground[0])
            if fits:
                self._put(row.label, color, shape, spot, ground)
                return True
        return False

    def _fits(self, row: Furnishing, shape: Shape, spot: Spot, z: float) -> bool:
        parts = world_parts(shape, spot.x, spot.y, z, spot.yaw)
        flat = CLASSES[row.label].group is Group.RUG
        if not self.space.is_free(
            parts, on_floor=not flat, before_others=row.rule in _IN_FRONT, in_run=row.rule is Rule.RUN
        ):
            return False
        if spot.side is not None and self.space.blocks_window(parts, spot.side):
            return False
        front = self._front(row.label, shape, spot)
        if front is not None and not self.space.is_free(front, on_floor=False):
            return False
        return flat or self.space.stays_walkable(parts)

    def _fits_on_wall(self, shape: Shape, spot: Spot) -> bool:
        assert spot.side is not None
        parts = world_parts(shape, spot.x, spot.y, spot.z, spot.yaw)
        axis = 0 if spot.side.wall.along == "x" else 1
        start, end = parts[:, 0, axis].min() - 0.1, parts[:, 1, axis].max() + 0.1
        openings = self.space.plan.openings_in(spot.side.index)
        if any(opening.start < end and opening.end > start for opening in openings):
            return False
        return self.space.is_free(parts, on_floor=False)

    def _front(self, label: str, shape: Shape, spot: Spot) -> Boxes | None:
        depth = FRONT.get(label)
        if depth is None:
            return None
        half, width = float(shape.size[0]) / 2, float(shape.size[1]) / 2
        cos, sin = math.cos(spot.yaw), math.sin(spot.yaw)
        xs, ys = [], []
        for x, y in ((half + 0.01, -width), (half + depth, width)):
            xs.append(spot.x + cos * x - sin * y)
            ys.append(spot.y + sin * x + cos * y)
        return np.array([[[min(xs), min(ys), 0.05], [max(xs), max(ys), 1.5]]])

    def _place_on(self, label: str, color: str, shape: Shape, target: Placed, share: float) -> bool:
        """On a surface: at the back of it, or along its width where several share it."""
        surface = target.shape.surfaces[0]
        depth, width = float(shape.size[0]), float(shape.size[1])
        x = surface.x_min + depth / 2 + 0.02
        y = surface.y_min + share * (surface.y_max - surface.y_min)
        if x + depth / 2 > surface.x_max + 0.01 or width > surface.y_max - surface.y_min:
            return False
        spot = Spot(*target.to_world(x, y), target.yaw)
        parts = world_parts(shape, spot.x, spot.y, surface.z + target.z, spot.yaw)
        if not self.space.is_free(parts, on_floor=False):
            return False
        self._put(label, color, shape, spot, (surface.z + target.z, target.id))
        return True

    def _place_in_run(self, label: str, color: str, shape: Shape, *, essential: bool) -> bool:
        """Next to the last of the run, or from the corner of another wall; long walls without doors first."""
        depth, width = float(shape.size[0]), float(shape.size[1])
        doors = {opening.wall for opening in self.space.plan.openings if opening.walkable}
        ordered = sorted(
            self.space.sides, key=lambda side: (side.index in doors, -(side.end - side.start), side.index)
        )
        places: list[tuple[Spot, float]] = []
        for side in ordered:
            for direction in (1.0, -1.0) if self._rng.random() < 0.5 else (-1.0, 1.0):
                corner = side.start + 0.01 if direction > 0 else side.end - 0.01
                for inset in (0.0, 0.62, 0.95, 1.3):
                    along = corner + direction * (inset + width / 2)
                    if side.start + width / 2 <= along <= side.end - width / 2:
                        places.append((at_side(side, along, depth), direction))
        if self._run is not None:
            last, direction, end = self._run
            # round the corner from where the run ended, before any other wall
            reach = math.inf if essential else _SAME_RUN
            places = [place for place in places if math.hypot(place[0].x - last.x, place[0].y - last.y) < reach]
            places.sort(key=lambda place: math.hypot(place[0].x - last.x, place[0].y - last.y))
            assert last.side is not None
            places.insert(0, (at_side(last.side, end + direction * width / 2, depth), direction))
        row = Furnishing(label, Rule.RUN)
        for spot, direction in places:
            assert spot.side is not None
            if self._fits(row, shape, spot, 0.0):
                self._put(label, color, shape, spot, (0.0, None))
                along = spot.x if spot.side.wall.along == "x" else spot.y
                end = along + direction * (width / 2 + 0.002)
                self._run = (spot, direction, end)
                return True
        return False

    def _put(self, label: str, color: str, shape: Shape, spot: Spot, ground: tuple[float, int | None]) -> None:
        at = round(spot.x, 4), round(spot.y, 4), ground[0], spot.yaw
        thing = Placed(next(self._ids), label, color, shape, *at, room_id=self.space.room.id, support_id=ground[1])
        self.placed.append(thing)
        self.space.take(thing.parts)
        front = self._front(label, shape, spot)
        if front is not None and label in _WORKTOPS:
            self.space.worktop_fronts = np.concatenate([self.space.worktop_fronts, front])
        elif front is not None:
            self.space.fronts = np.concatenate([self.space.fronts, front])
