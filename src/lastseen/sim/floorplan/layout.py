"""Which rooms a house has and where they lie: two strips along a corridor, or about a living room in small homes.

This is how most flats are drawn. Public rooms gather at one end and private ones at the other, the living room may
close the corridor's end, and large houses get a second leg of corridor with a wing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lastseen.sim.floorplan.plan import Constraint, Rectangle
from lastseen.sim.home import Room

CORRIDOR = "corridor"


@dataclass(frozen=True, slots=True)
class RoomSize:
    """Floor area in square metres, and the shortest side in metres that still holds its furniture."""

    area: tuple[float, float]
    shortest: float


ROOM_SIZES: dict[str, RoomSize] = {
    "living room": RoomSize((19.0, 30.0), 3.5),
    "kitchen": RoomSize((9.5, 15.0), 2.5),
    "dining room": RoomSize((10.5, 15.0), 3.0),
    "bedroom": RoomSize((11.0, 17.0), 2.9),
    "bathroom": RoomSize((5.0, 8.0), 1.9),
    "office": RoomSize((8.5, 13.0), 2.6),
    "laundry room": RoomSize((5.0, 8.0), 1.9),
    "entrance": RoomSize((4.5, 7.5), 1.8),
    "storage room": RoomSize((4.5, 7.0), 1.8),
    CORRIDOR: RoomSize((4.0, 40.0), 1.2),
}
"""Rounded from common minimum standards and from what European flats usually have, by hand, from no data set."""
_Layout = list[tuple[str, list[Rectangle]]]
"""Types of rooms with their rectangles."""
SMALL_ROOMS = ("bathroom", "laundry room", "entrance", "storage room")
"""Rooms that would be too narrow alone in a deep strip; they may be stacked."""
_CORE = ("living room", "kitchen", "bedroom", "bathroom")
_EXTRAS = (
    ("bedroom", "dining room", "office", "entrance"),
    ("bedroom", "bathroom", "dining room", "office", "entrance", "laundry room"),
)
"""What every house has, and what smaller and larger ones may have besides."""
_TRIES = 200
"""Layouts drawn before the attempt at a house is given up."""
_MAX_ASPECT, _AREA_SLACK = 2.4, 1.3
"""A room is at most this much longer than wide, and this much larger or smaller than its type's area."""
_PUBLIC_FIRST = {
    "living room": 0.0, "dining room": 1.0, "kitchen": 1.5, "entrance": 2.0,
    "office": 3.0, "storage room": 3.5, "laundry room": 3.5, "bathroom": 4.0, "bedroom": 5.0,
}  # fmt: skip
"""Order of the rooms from the public end of a strip to the private one, before noise."""


def room_types(rooms: int, rng: np.random.Generator) -> list[str]:
    """The types of a house with this many rooms; large ones get a corridor and more kinds of rooms."""
    types = list(_CORE)
    corridor_chance = {4: 0.0, 5: 0.3, 6: 0.7}.get(rooms, 1.0)
    if rng.random() < corridor_chance:
        types.append(CORRIDOR)
    limit = {"bedroom": 1 + rooms // 4, "bathroom": 1 + rooms // 6}
    wanted = [*_EXTRAS[0 if rooms < 7 else 1], *(["storage room"] if rooms > 9 else [])]
    while len(types) < rooms:
        choices = [name for name in wanted if types.count(name) < limit.get(name, 1)]
        types.append(choices[int(rng.integers(len(choices)))])
    return types


@dataclass
class _Cell:
    """A segment of a strip: one room over the full depth, or two stacked, the first next to the corridor."""

    types: tuple[str, ...]
    area: float
    width: float = 0.0


def lay_out(types: list[str], rng: np.random.Generator, *, scale: float) -> tuple[Room, ...]:
    """Rooms of these types that share walls and keep to their sizes, or ``Constraint`` when no try fits."""
    for _ in range(_TRIES):
        layout = _along_corridor(types, rng, scale) if CORRIDOR in types else _two_strips(types, rng, scale)
        if layout is not None and all(_fits(name, parts, scale) for name, parts in layout):
            return _numbered(layout, rng)
    raise Constraint(f"no layout of {len(types)} rooms keeps every room within its size")


def _two_strips(types: list[str], rng: np.random.Generator, scale: float) -> _Layout | None:
    public = [name for name in types if name in ("living room", "kitchen", "dining room")]
    private = [name for name in types if name not in public]
    depths = float(rng.uniform(3.8, 5.2)), float(rng.uniform(3.0, 4.2))
    strips = [_strip(_cells(names, rng, scale), rng, noise=2.0) for names in (public, private)]
    return _stretched(strips, depths, gap=0.0, start=0.0, keep_notch=False)


def _along_corridor(types: list[str], rng: np.random.Generator, scale: float) -> _Layout | None:
    names = [name for name in types if name != CORRIDOR]
    gap = float(rng.uniform(1.3, 1.6))
    depths = float(rng.uniform(3.3, 4.6)), float(rng.uniform(3.3, 4.6))
    total = depths[0] + gap + depths[1]
    start = 0.0
    cap = len(types) >= 7 and rng.random() < 0.6
    if cap:
        names.remove("living room")
        start = round(float(rng.uniform(3.5, 4.2)), 2)
    wing: list[str] = [name for name in ("bedroom", "office", "bedroom", "bathroom") if name in names]
    with_wing = len(types) >= 9 and len(wing) >= 3 and rng.random() < 0.7
    if with_wing:
        wing = [wing[0], *(str(name) for name in rng.permutation(wing[1:])[:2])]
        if any(wing.count(name) > names.count(name) for name in wing):
            return None
        for name in wing:
            names.remove(name)
    strips = _balanced(_cells(names, rng, scale), rng)
    notch = not with_wing and rng.random() < 0.4
    layout = _stretched(strips, depths, gap=gap, start=start, keep_notch=notch)
    if layout is None:
        return None
    end = max(parts[0][2] for _, parts in layout)
    legs: list[Rectangle] = [(start, 0.0, end, gap)]
    if with_wing:
        low = -depths[1] if rng.random() < 0.7 else 0.0
        high = gap + depths[0] if low == 0.0 or rng.random() < 0.3 else gap
        legs = [(start, 0.0, end, gap), (end, low, end + gap, high)]
        # the strip that the leg does not pass reaches over its end
        layout = [(name, _reach(parts, end, gap, low, high)) for name, parts in layout]
        _stack_wing(layout, wing, rng, (end + gap, -depths[1], end + gap + float(rng.uniform(3.2, 4.2)), total))
    layout.append((CORRIDOR, legs))
    if cap:
        layout.append(("living room", [(0.0, -depths[1], start, gap + depths[0])]))
    return layout


def _reach(parts: list[Rectangle], end: float, gap: float, low: float, high: float) -> list[Rectangle]:
    x0, y0, x1, y1 = parts[0]
    touched = x1 == end and ((y0 >= gap and high == gap) or (y1 <= 0.0 and low == 0.0))
    return [(x0, y0, end + gap, y1)] if touched else parts


def _stack_wing(
    layout: _Layout, wing: list[str], rng: np.random.Generator, place: tuple[float, float, float, float]
) -> None:
    x0, y0, x1, total = place
    shares = np.array([np.mean(ROOM_SIZES[name].area) for name in wing]) * rng.uniform(0.85, 1.15, len(wing))
    edges = y0 + total * np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
    for name, low, high in zip(wing, edges[:-1], edges[1:], strict=True):
        layout.append((name, [(x0, float(low), x1, float(high))]))


def _cells(names: list[str], rng: np.random.Generator, scale: float) -> list[_Cell]:
    left = list(names)
    cells: list[_Cell] = []
    partners = [name for name in left if name in SMALL_ROOMS and name != "bathroom"]
    if left.count("bathroom") > 1 and partners and "bedroom" in left and rng.random() < 0.8:
        near = partners[int(rng.integers(len(partners)))]
        left.remove("bathroom")
        left.remove(near)
        cells.append(_Cell((near, "bathroom"), scale * float(rng.uniform(10.0, 13.0))))
    cells.extend(_Cell((name,), scale * float(rng.uniform(*ROOM_SIZES[name].area))) for name in left)
    return cells


def _strip(cells: list[_Cell], rng: np.random.Generator, *, noise: float) -> list[_Cell]:
    """Public rooms first; a stacked pair stays next to a bedroom, which its inner bathroom opens to."""
    keys = {id(cell): _PUBLIC_FIRST[cell.types[0]] + float(rng.uniform(0.0, noise)) for cell in cells}
    ordered = sorted(cells, key=lambda cell: keys[id(cell)])
    for cell in [cell for cell in ordered if len(cell.types) == 2]:
        bedrooms = [other for other in ordered if other.types[0] == "bedroom"]
        if bedrooms:
            ordered.remove(cell)
            ordered.insert(ordered.index(bedrooms[0]), cell)
    return ordered


def _balanced(cells: list[_Cell], rng: np.random.Generator) -> list[list[_Cell]]:
    sides: list[list[_Cell]] = [[], []]
    for cell in _strip(cells, rng, noise=1.2):
        lengths = [sum(c.area for c in side) for side in sides]
        side = sides[int(np.argmin(lengths))]
        if cell.types[0] in ("kitchen", "dining room"):
            partner = {"kitchen": "dining room", "dining room": "kitchen"}[cell.types[0]]
            side = next((s for s in sides if any(c.types[0] == partner for c in s)), side)
        side.append(cell)
    if not all(sides):
        return sides
    return [_strip(side, rng, noise=0.6) for side in sides]


def _stretched(
    strips: list[list[_Cell]], depths: tuple[float, float], *, gap: float, start: float, keep_notch: bool
) -> _Layout | None:
    """Both strips brought to one length, or the shorter one left short so that the outline has a notch."""
    if not all(strips):
        return None
    lengths = []
    for cells, depth in zip(strips, depths, strict=True):
        for cell in cells:
            narrowest = max(ROOM_SIZES[name].shortest for name in cell.types)
            cell.width = max(cell.area / depth, narrowest)
        lengths.append(sum(cell.width for cell in cells))
    longest = max(lengths)
    if min(lengths) < longest / 1.5:
        return None
    notched = keep_notch and min(lengths) < longest - 1.5
    layout: _Layout = []
    for index, (cells, depth) in enumerate(zip(strips, depths, strict=True)):
        stretch = 1.0 if notched else longest / lengths[index]
        edges = start + np.concatenate([[0.0], np.cumsum([cell.width * stretch for cell in cells])])
        if not notched:
            edges[-1] = start + longest
        near, far = (gap, gap + depth) if index == 0 else (0.0, -depth)
        for cell, x0, x1 in zip(cells, edges[:-1], edges[1:], strict=True):
            split = near + (far - near) * (0.5 if len(cell.types) == 2 else 1.0)
            for name, (a, b) in zip(cell.types, ((near, split), (split, far)), strict=False):
                layout.append((name, [(float(x0), min(a, b), float(x1), max(a, b))]))
    return layout


def _fits(name: str, parts: list[Rectangle], scale: float) -> bool:
    if name == CORRIDOR:
        return True
    size = ROOM_SIZES[name]
    x0, y0, x1, y1 = parts[0]
    short, long = sorted((x1 - x0, y1 - y0))
    low, high = size.area[0] / _AREA_SLACK * scale, size.area[1] * _AREA_SLACK * scale
    return short >= size.shortest and long <= _MAX_ASPECT * short and low <= short * long <= high


def _numbered(layout: _Layout, rng: np.random.Generator) -> tuple[Room, ...]:
    """Turn and mirror the house, move its corner to (0, 0), round to centimetres, and number the rooms."""
    swap, flip_x, flip_y = (bool(rng.random() < 0.5) for _ in range(3))
    placed = []
    for name, parts in layout:
        turned = []
        for x0, y0, x1, y1 in parts:
            a, b, c, d = (y0, x0, y1, x1) if swap else (x0, y0, x1, y1)
            a, c = (-c, -a) if flip_x else (a, c)
            b, d = (-d, -b) if flip_y else (b, d)
            turned.append((a, b, c, d))
        placed.append((name, turned))
    left = min(part[0] for _, parts in placed for part in parts)
    bottom = min(part[1] for _, parts in placed for part in parts)

    def moved(part: Rectangle) -> Rectangle:
        x0, y0, x1, y1 = (round(v - o, 2) for v, o in zip(part, (left, bottom, left, bottom), strict=True))
        return x0, y0, x1, y1

    return tuple(
        Room(index, name, tuple(moved(part) for part in parts)) for index, (name, parts) in enumerate(placed, start=1)
    )
