"""Furnishing one room by the rows of the priors: each rule offers places, and the first that fits is taken."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lastseen.config.programs import Homes
from lastseen.sim.catalog import CLASSES, Group, Shape
from lastseen.sim.floorplan.plan import Constraint, OpeningKind
from lastseen.sim.placement.space import Boxes, Placed, Side, Space, ground_below, world_parts
from lastseen.sim.priors import FRONT, FURNISHINGS, Furnishing, Rule

_MATCHING = ("kitchen counter", "kitchen sink", "kitchen island")
"""Built as one kitchen: the same colour."""
_IN_FRONT = (Rule.BEFORE, Rule.AROUND, Rule.FLANKING, Rule.UNDERFOOT, Rule.AT_DOOR, Rule.BESIDE)
_SAME_RUN = 1.7
"""Metres from the last of a run within which its next optional part must stand."""
_WORKTOPS = ("kitchen counter", "kitchen sink", "dishwasher")
_GAP = 0.01
"""Metres between a thing and the wall behind it."""
_ALONG = 8
"""Places tried along each wall."""
_TELEVISION = 5.0
"""Metres across a room beyond which a screen on the far wall is no longer watched."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place to try, and the wall behind it if there is one."""

    x: float
    y: float
    yaw: float
    side: Side | None = None
    z: float = 0.0


class Furnisher:
    """Places furniture in one room and keeps it walkable."""

    def __init__(self, space: Space, rng: np.random.Generator, ids: Iterator[int], settings: Homes) -> None:
        self.space = space
        self.placed: list[Placed] = []
        self._rng = rng
        self._ids = ids
        self._settings = settings
        self._fitted_color: str | None = None
        self._run: tuple[_Spot, float, float] | None = None

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
                places = _spots(row.rule, shape, self.space, self._rng, target)
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

    def _place_first(self, row: Furnishing, color: str, shape: Shape, places: Iterator[_Spot]) -> bool:
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

    def _fits(self, row: Furnishing, shape: Shape, spot: _Spot, z: float) -> bool:
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

    def _fits_on_wall(self, shape: Shape, spot: _Spot) -> bool:
        assert spot.side is not None
        parts = world_parts(shape, spot.x, spot.y, spot.z, spot.yaw)
        axis = 0 if spot.side.wall.along == "x" else 1
        start, end = parts[:, 0, axis].min() - 0.1, parts[:, 1, axis].max() + 0.1
        openings = self.space.plan.openings_in(spot.side.index)
        if any(opening.start < end and opening.end > start for opening in openings):
            return False
        return self.space.is_free(parts, on_floor=False)

    def _front(self, label: str, shape: Shape, spot: _Spot) -> Boxes | None:
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
        spot = _Spot(*target.to_world(x, y), target.yaw)
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
        places: list[tuple[_Spot, float]] = []
        for side in ordered:
            for direction in (1.0, -1.0) if self._rng.random() < 0.5 else (-1.0, 1.0):
                corner = side.start + 0.01 if direction > 0 else side.end - 0.01
                for inset in (0.0, 0.62, 0.95, 1.3):
                    along = corner + direction * (inset + width / 2)
                    if side.start + width / 2 <= along <= side.end - width / 2:
                        places.append((_at_side(side, along, depth), direction))
        if self._run is not None:
            last, direction, end = self._run
            # round the corner from where the run ended, before any other wall
            reach = math.inf if essential else _SAME_RUN
            places = [place for place in places if math.hypot(place[0].x - last.x, place[0].y - last.y) < reach]
            places.sort(key=lambda place: math.hypot(place[0].x - last.x, place[0].y - last.y))
            assert last.side is not None
            places.insert(0, (_at_side(last.side, end + direction * width / 2, depth), direction))
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

    def _put(self, label: str, color: str, shape: Shape, spot: _Spot, ground: tuple[float, int | None]) -> None:
        at = round(spot.x, 4), round(spot.y, 4), ground[0], spot.yaw
        thing = Placed(next(self._ids), label, color, shape, *at, room_id=self.space.room.id, support_id=ground[1])
        self.placed.append(thing)
        self.space.take(thing.parts)
        front = self._front(label, shape, spot)
        if front is not None and label in _WORKTOPS:
            self.space.worktop_fronts = np.concatenate([self.space.worktop_fronts, front])
        elif front is not None:
            self.space.fronts = np.concatenate([self.space.fronts, front])


def _spots(
    rule: Rule, shape: Shape, space: Space, rng: np.random.Generator, target: Placed | None
) -> Iterator[_Spot]:
    """Places for a shape by a rule, the best first; none where the rule needs a target and there is none."""
    if rule in (Rule.WALL, Rule.MIDDLE_OF_WALL, Rule.CORNER):
        return _at_walls(rule, shape, space, rng)
    if rule in (Rule.CENTRE, Rule.UNDERFOOT):
        return _in_the_room(shape, space, rng)
    if rule is Rule.HUNG:
        return _hung(shape, space, rng)
    if rule is Rule.AT_DOOR:
        return _at_door(shape, space)
    if target is None:
        return iter(())
    by_target = {
        Rule.BESIDE: lambda: _beside(shape, target, rng),
        Rule.AROUND: lambda: _around(shape, target, rng),
        Rule.FLANKING: lambda: _flanking(shape, target, rng),
        Rule.BEFORE: lambda: _before(shape, target),
        Rule.OPPOSITE: lambda: _opposite(shape, space, target),
        Rule.OVER: lambda: _over(shape, space, target),
    }
    return by_target[rule]()


def _shuffled_sides(space: Space, rng: np.random.Generator) -> list[Side]:
    """The walls of a room in random order, long ones more likely first."""
    lengths = np.array([max(side.end - side.start, 0.01) for side in space.sides])
    order = rng.permutation(len(lengths))
    keys = rng.random(len(lengths)) ** (1.0 / lengths)
    return [space.sides[i] for i in sorted(order, key=lambda i: -keys[i])]


def _at_side(side: Side, along: float, depth: float) -> _Spot:
    """With the back to a wall."""
    x, y = side.point(along, depth / 2 + _GAP)
    return _Spot(x, y, side.yaw, side)


def _at_walls(rule: Rule, shape: Shape, space: Space, rng: np.random.Generator) -> Iterator[_Spot]:
    depth, width = float(shape.size[0]), float(shape.size[1])
    sides = _shuffled_sides(space, rng)
    if rule is Rule.MIDDLE_OF_WALL:
        # a sofa that looks down the length of a hall is too far from its television
        sides.sort(key=lambda side: _depth_before(side, space) > _TELEVISION)
    for side in sides:
        first, last = side.start + width / 2 + _GAP, side.end - width / 2 - _GAP
        if first > last:
            continue
        if rule is Rule.CORNER:
            places = [first, last] if rng.random() < 0.5 else [last, first]
        elif rule is Rule.MIDDLE_OF_WALL:
            middle = (first + last) / 2
            places = [middle + sign * step * 0.15 for step in range(12) for sign in ((1, -1) if step else (1,))]
            places = [place for place in places if first <= place <= last] + [first, last]
        else:
            places = [first, last, *rng.uniform(first, last, _ALONG)]
            places = [places[i] for i in rng.permutation(len(places))]
        for place in places:
            yield _at_side(side, float(place), depth)


def _depth_before(side: Side, space: Space) -> float:
    x0, y0, x1, y1 = space.bounds
    return y1 - y0 if side.wall.along == "x" else x1 - x0


def _in_the_room(shape: Shape, space: Space, rng: np.random.Generator) -> Iterator[_Spot]:
    x0, y0, x1, y1 = max(space.room.rectangles, key=lambda r: (r[2] - r[0]) * (r[3] - r[1]))
    middle = ((x0 + x1) / 2, (y0 + y1) / 2)
    lengthwise = math.pi / 2 if x1 - x0 > y1 - y0 else 0.0
    if shape.size[0] > shape.size[1]:
        lengthwise = math.pi / 2 - lengthwise
    for attempt in range(36):
        spread = min(0.05 + 0.04 * attempt, 1.0)
        dx = rng.uniform(-spread, spread) * (x1 - x0) / 2
        dy = rng.uniform(-spread, spread) * (y1 - y0) / 2
        turn = lengthwise if attempt % 3 < 2 else math.pi / 2 - lengthwise
        yield _Spot(middle[0] + float(dx), middle[1] + float(dy), turn)


def _hung(shape: Shape, space: Space, rng: np.random.Generator) -> Iterator[_Spot]:
    height = float(shape.size[2])
    for side in _shuffled_sides(space, rng):
        for _ in range(4):
            low, high = side.start + float(shape.size[1]) / 2, side.end - float(shape.size[1]) / 2
            if low + 0.1 < high - 0.1:
                yield _on_wall(side, float(rng.uniform(low + 0.1, high - 0.1)), shape, 1.55 - height / 2, space)


def _on_wall(side: Side, along: float, shape: Shape, z: float, space: Space) -> _Spot:
    x, y = side.point(along, float(shape.size[0]) / 2 + 0.001)
    return _Spot(x, y, side.yaw, side, z=round(min(z, space.plan.wall_height - float(shape.size[2]) - 0.1), 3))


def _over(shape: Shape, space: Space, target: Placed) -> Iterator[_Spot]:
    top = float(target.parts[:, 1, 2].max())
    for side in space.sides:
        along, across = (target.x, target.y) if side.wall.along == "x" else (target.y, target.x)
        near = abs(across - side.face) < float(target.shape.size[0])
        if near and math.isclose(math.cos(side.yaw - target.yaw), 1.0, abs_tol=1e-6):
            yield _on_wall(side, along, shape, max(top + 0.05, 1.2), space)


def _beside(shape: Shape, target: Placed, rng: np.random.Generator) -> Iterator[_Spot]:
    out = (float(shape.size[0]) - float(target.shape.size[0])) / 2
    for side in (1, -1) if rng.random() < 0.5 else (-1, 1):
        for gap in (0.04, 0.10, 0.2):
            reach = float(target.shape.size[1]) / 2 + float(shape.size[1]) / 2 + gap
            yield _Spot(*target.to_world(out, side * reach), target.yaw)


def _around(shape: Shape, target: Placed, rng: np.random.Generator) -> Iterator[_Spot]:
    depth, width = float(target.shape.size[0]), float(target.shape.size[1])
    own = float(shape.size[0])
    per_side = max(1, int((width - 0.2) / (float(shape.size[1]) + 0.12)))
    places = [(-width / 2 + (i + 0.5) * width / per_side) for i in range(per_side)]
    slots = [(sign, place) for place in places for sign in (1, -1)]
    order = [slots[i] for i in rng.permutation(len(slots))]
    for tuck in (0.18, 0.06, -0.03):
        for sign, place in order:
            x, y = target.to_world(sign * (depth / 2 + own / 2 - tuck), place)
            yield _Spot(x, y, target.yaw + (math.pi if sign > 0 else 0.0))
        for sign in (1, -1):
            x, y = target.to_world(0.0, sign * (width / 2 + own / 2 - tuck))
            yield _Spot(x, y, target.yaw - sign * math.pi / 2)


def _before(shape: Shape, target: Placed) -> Iterator[_Spot]:
    reach = (float(target.shape.size[0]) + float(shape.size[0])) / 2
    if target.label == "desk":
        for tuck in (0.2, 0.1, -0.02):
            for aside in (-0.2, -0.1, 0.0):
                yield _Spot(*target.to_world(reach - tuck, aside), target.yaw + math.pi)
        return
    gaps = (0.06, 0.02) if shape.size[2] < 0.05 else (0.42, 0.36, 0.5, 0.6)
    for gap in gaps:
        for aside in (0.0, 0.15, -0.15, 0.3, -0.3):
            yield _Spot(*target.to_world(reach + gap, aside), target.yaw)


def _flanking(shape: Shape, target: Placed, rng: np.random.Generator) -> Iterator[_Spot]:
    reach = (float(target.shape.size[1]) + float(shape.size[0])) / 2
    for gap in (0.4, 0.5, 0.65, 0.8):
        for sign in (1, -1) if rng.random() < 0.5 else (-1, 1):
            for out in (0.0, 0.2):
                yield _Spot(*target.to_world(out, sign * (reach + gap)), target.yaw - sign * math.pi / 2)


def _at_door(shape: Shape, space: Space) -> Iterator[_Spot]:
    for side in space.sides:
        for opening in space.plan.openings_in(side.index):
            if opening.kind is OpeningKind.FRONT_DOOR:
                x, y = side.point(opening.middle, float(shape.size[0]) / 2 + 0.08)
                yield _Spot(x, y, side.yaw)


def _opposite(shape: Shape, space: Space, target: Placed) -> Iterator[_Spot]:
    depth, width = float(shape.size[0]), float(shape.size[1])
    facing = [side for side in space.sides if math.cos(side.yaw - target.yaw) < -0.99]
    for offset in (0.0, 0.2, -0.2, 0.4, -0.4, 0.7, -0.7, 1.0, -1.0, 1.4, -1.4):
        for side in facing:
            along = (target.x if side.wall.along == "x" else target.y) + offset
            if side.start + width / 2 + _GAP <= along <= side.end - width / 2 - _GAP:
                yield _at_side(side, along, depth)
