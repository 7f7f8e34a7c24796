"""Candidate places for a piece of furniture: one generator per rule of the priors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lastseen.sim.catalog import Shape
from lastseen.sim.floorplan.plan import OpeningKind
from lastseen.sim.placement.space import Placed, Side, Space
from lastseen.sim.priors import Rule

GAP = 0.01
"""Metres between a thing and the wall behind it."""
_ALONG = 8
"""Places tried along each wall."""
_TELEVISION = 5.0
"""Metres across a room beyond which a screen on the far wall is no longer watched."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place to try, and the wall behind it if there is one."""

    x: float
    y: float
    yaw: float
    side: Side | None = None
    z: float = 0.0


def spots(rule: Rule, shape: Shape, space: Space, rng: np.random.Generator, target: Placed | None) -> Iterator[Spot]:
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


def shuffled_sides(space: Space, rng: np.random.Generator) -> list[Side]:
    """The walls of a room in random order, long ones more likely first."""
    lengths = np.array([max(side.end - side.start, 0.01) for side in space.sides])
    order = rng.permutation(len(lengths))
    keys = rng.random(len(lengths)) ** (1.0 / lengths)
    return [space.sides[i] for i in sorted(order, key=lambda i: -keys[i])]


def at_side(side: Side, along: float, depth: float) -> Spot:
    """With the back to a wall."""
    x, y = side.point(along, depth / 2 + GAP)
    return Spot(x, y, side.yaw, side)


def _at_walls(rule: Rule, shape: Shape, space: Space, rng: np.random.Generator) -> Iterator[Spot]:
    depth, width = float(shape.size[0]), float(shape.size[1])
    sides = shuffled_sides(space, rng)
    if rule is Rule.MIDDLE_OF_WALL:
        # a sofa that looks down the length of a hall is too far from its television
        sides.sort(key=lambda side: _depth_before(side, space) > _TELEVISION)
    for side in sides:
        first, last = side.start + width / 2 + GAP, side.end - width / 2 - GAP
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
            yield at_side(side, float(place), depth)


def _depth_before(side: Side, space: Space) -> float:
    x0, y0, x1, y1 = space.bounds
    return y1 - y0 if side.wall.along == "x" else x1 - x0


def _in_the_room(shape: Shape, space: Space, rng: np.random.Generator) -> Iterator[Spot]:
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
        yield Spot(middle[0] + float(dx), middle[1] + float(dy), turn)


def _hung(shape: Shape, space: Space, rng: np.random.Generator) -> Iterator[Spot]:
    height = float(shape.size[2])
    for side in shuffled_sides(space, rng):
        for _ in range(4):
            low, high = side.start + float(shape.size[1]) / 2, side.end - float(shape.size[1]) / 2
            if low + 0.1 < high - 0.1:
                yield _on_wall(side, float(rng.uniform(low + 0.1, high - 0.1)), shape, 1.55 - height / 2, space)


def _on_wall(side: Side, along: float, shape: Shape, z: float, space: Space) -> Spot:
    x, y = side.point(along, float(shape.size[0]) / 2 + 0.001)
    return Spot(x, y, side.yaw, side, z=round(min(z, space.plan.wall_height - float(shape.size[2]) - 0.1), 3))


def _over(shape: Shape, space: Space, target: Placed) -> Iterator[Spot]:
    top = float(target.parts[:, 1, 2].max())
    for side in space.sides:
        along, across = (target.x, target.y) if side.wall.along == "x" else (target.y, target.x)
        near = abs(across - side.face) < float(target.shape.size[0])
        if near and math.isclose(math.cos(side.yaw - target.yaw), 1.0, abs_tol=1e-6):
            yield _on_wall(side, along, shape, max(top + 0.05, 1.2), space)


def _beside(shape: Shape, target: Placed, rng: np.random.Generator) -> Iterator[Spot]:
    out = (float(shape.size[0]) - float(target.shape.size[0])) / 2
    for side in (1, -1) if rng.random() < 0.5 else (-1, 1):
        for gap in (0.04, 0.10, 0.2):
            reach = float(target.shape.size[1]) / 2 + float(shape.size[1]) / 2 + gap
            yield Spot(*target.to_world(out, side * reach), target.yaw)


def _around(shape: Shape, target: Placed, rng: np.random.Generator) -> Iterator[Spot]:
    depth, width = float(target.shape.size[0]), float(target.shape.size[1])
    own = float(shape.size[0])
    per_side = max(1, int((width - 0.2) / (float(shape.size[1]) + 0.12)))
    places = [(-width / 2 + (i + 0.5) * width / per_side) for i in range(per_side)]
    slots = [(sign, place) for place in places for sign in (1, -1)]
    order = [slots[i] for i in rng.permutation(len(slots))]
    for tuck in (0.18, 0.06, -0.03):
        for sign, place in order:
            x, y = target.to_world(sign * (depth / 2 + own / 2 - tuck), place)
            yield Spot(x, y, target.yaw + (math.pi if sign > 0 else 0.0))
        for sign in (1, -1):
            x, y = target.to_world(0.0, sign * (width / 2 + own / 2 - tuck))
            yield Spot(x, y, target.yaw - sign * math.pi / 2)


def _before(shape: Shape, target: Placed) -> Iterator[Spot]:
    reach = (float(target.shape.size[0]) + float(shape.size[0])) / 2
    if target.label == "desk":
        for tuck in (0.2, 0.1, -0.02):
            for aside in (-0.2, -0.1, 0.0):
                yield Spot(*target.to_world(reach - tuck, aside), target.yaw + math.pi)
        return
    gaps = (0.06, 0.02) if shape.size[2] < 0.05 else (0.42, 0.36, 0.5, 0.6)
    for gap in gaps:
        for aside in (0.0, 0.15, -0.15, 0.3, -0.3):
            yield Spot(*target.to_world(reach + gap, aside), target.yaw)


def _flanking(shape: Shape, target: Placed, rng: np.random.Generator) -> Iterator[Spot]:
    reach = (float(target.shape.size[1]) + float(shape.size[0])) / 2
    for gap in (0.4, 0.5, 0.65, 0.8):
        for sign in (1, -1) if rng.random() < 0.5 else (-1, 1):
            for out in (0.0, 0.2):
                yield Spot(*target.to_world(out, sign * (reach + gap)), target.yaw - sign * math.pi / 2)


def _at_door(shape: Shape, space: Space) -> Iterator[Spot]:
    for side in space.sides:
        for opening in space.plan.openings_in(side.index):
            if opening.kind is OpeningKind.FRONT_DOOR:
                x, y = side.point(opening.middle, float(shape.size[0]) / 2 + 0.08)
                yield Spot(x, y, side.yaw)


def _opposite(shape: Shape, space: Space, target: Placed) -> Iterator[Spot]:
    depth, width = float(shape.size[0]), float(shape.size[1])
    facing = [side for side in space.sides if math.cos(side.yaw - target.yaw) < -0.99]
    for offset in (0.0, 0.2, -0.2, 0.4, -0.4, 0.7, -0.7, 1.0, -1.0, 1.4, -1.4):
        for side in facing:
            along = (target.x if side.wall.along == "x" else target.y) + offset
            if side.start + width / 2 + GAP <= along <= side.end - width / 2 - GAP:
                yield at_side(side, along, depth)
