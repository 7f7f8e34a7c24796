"""Doors, passages and windows: every room reachable, and no way through a bathroom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lastseen.config.programs import Homes
from lastseen.sim.floorplan.layout import CORRIDOR
from lastseen.sim.floorplan.plan import WALL_THICKNESS, Constraint, Opening, OpeningKind, Wall
from lastseen.sim.home import Room

_CORNER_GAP = 0.18 + WALL_THICKNESS / 2
"""Metres from the end of a wall to a door: half the crossing wall, and room for the frame."""
_FORBIDDEN = 100.0
_HUBS = (CORRIDOR, "living room", "entrance", "dining room", "kitchen")

_WINDOW_SILL = {"bathroom": 1.4, "laundry room": 1.4, "kitchen": 1.1}
_WINDOW_WIDTH = {"bathroom": (0.5, 0.7), "laundry room": (0.5, 0.7)}


def openings_for(
    rooms: Sequence[Room], walls: Sequence[Wall], rng: np.random.Generator, settings: Homes
) -> tuple[Opening, ...]:
    """Doors that connect all rooms, a front door and windows; ``Constraint`` when a room stays shut off."""
    types = {room.id: room.type for room in rooms}
    pairs: dict[tuple[int, int], list[int]] = {}
    least = settings.door_width + 2 * _CORNER_GAP
    for index, wall in enumerate(walls):
        if wall.low is not None and wall.high is not None and wall.end - wall.start >= least:
            pairs.setdefault((min(wall.low, wall.high), max(wall.low, wall.high)), []).append(index)
    joined = _tree(types, pairs)
    for (a, b), chance in _loops(types, pairs, joined).items():
        if rng.random() < chance:
            joined.append((a, b))
    openings = [_door(walls, pairs[pair], (types[pair[0]], types[pair[1]]), rng, settings) for pair in joined]
    openings += _front_door(rooms, walls, rng, settings)
    openings += _windows(types, walls, openings, rng, settings)
    return tuple(sorted(openings, key=lambda opening: (opening.wall, opening.start)))


def _tree(types: dict[int, str], pairs: dict[tuple[int, int], list[int]]) -> list[tuple[int, int]]:
    """The cheapest way to join all rooms, grown from the corridor or the living room."""
    hub = min(types, key=lambda room: (_HUBS.index(types[room]) if types[room] in _HUBS else 99, room))
    reached, joined = {hub}, []
    parents: dict[int, int] = {}
    while len(reached) < len(types):
        best: tuple[float, int, int] | None = None
        for a, b in sorted(pairs):
            for parent, child in ((a, b), (b, a)):
                if parent in reached and child not in reached:
                    offer = (_cost(types[parent], types[child]), parent, child)
                    best = offer if best is None else min(best, offer)
        if best is None or best[0] >= _FORBIDDEN:
            missing = ", ".join(sorted(types[room] for room in types if room not in reached))
            raise Constraint(f"no suitable door to: {missing}")
        reached.add(best[2])
        joined.append((min(best[1:]), max(best[1:])))
        parents[best[2]] = best[1]
    bathrooms = [room for room in types if types[room] == "bathroom"]
    if all(types[parents[room]] == "bedroom" for room in bathrooms):
        raise Constraint("the only way to a bathroom leads through a bedroom")
    return joined


def _cost(parent: str, child: str) -> float:
    if {parent, child} == {"kitchen", "dining room"}:
        return 0.2
    if parent == "bedroom":
        return 4.0 if child == "bathroom" else _FORBIDDEN
    if parent not in _HUBS or (parent == "kitchen" and child in ("bathroom", "bedroom")):
        return _FORBIDDEN
    return 0.5 * _HUBS.index(parent)


def _loops(
    types: dict[int, str], pairs: dict[tuple[int, int], list[int]], joined: list[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    chances = {
        frozenset(("kitchen", "dining room")): 1.0,
        frozenset(("living room", "dining room")): 0.7,
        frozenset(("living room", "kitchen")): 0.5,
        frozenset(("living room", "entrance")): 0.5,
        frozenset(("living room", CORRIDOR)): 1.0,
    }
    return {
        pair: chances[key]
        for pair in sorted(pairs)
        if pair not in joined and (key := frozenset(types[room] for room in pair)) in chances
    }


def _door(
    walls: Sequence[Wall], candidates: list[int], between: tuple[str, str], rng: np.random.Generator, settings: Homes
) -> Opening:
    index = max(candidates, key=lambda i: (walls[i].end - walls[i].start, -i))
    wall = walls[index]
    room = wall.end - wall.start - 2 * _CORNER_GAP
    open_plan = set(between) <= {"living room", "dining room", "kitchen", CORRIDOR}
    wide = open_plan and room >= 2.0 and rng.random() < 0.75
    width = round(float(rng.uniform(1.3, min(1.9, room * 0.6 + 0.4))), 2) if wide else settings.door_width
    slack = room - width
    # doors stand near a corner, which leaves the wall to the furniture; passages stand in the middle
    place = 0.5 if wide else float(rng.choice([0.0, 1.0])) if rng.random() < 0.75 else float(rng.random())
    start = round(wall.start + _CORNER_GAP + slack * place, 3)
    kind = OpeningKind.PASSAGE if wide else OpeningKind.DOOR
    return Opening(kind, index, start, round(start + width, 3), 0.0, settings.door_height)


def _front_door(
    rooms: Sequence[Room], walls: Sequence[Wall], rng: np.random.Generator, settings: Homes
) -> list[Opening]:
    types = {room.id: room.type for room in rooms}
    least = settings.door_width + 2 * _CORNER_GAP
    for wanted in ("entrance", CORRIDOR, "living room"):
        outer = [
            (i, wall)
            for i, wall in enumerate(walls)
            if None in (wall.low, wall.high)
            and types[wall.low or wall.high or 0] == wanted
            and wall.end - wall.start >= least
        ]
        if outer:
            index, wall = outer[int(rng.integers(len(outer)))]
            start = round((wall.start + wall.end - settings.door_width) / 2, 3)
            end = round(start + settings.door_width, 3)
            return [Opening(OpeningKind.FRONT_DOOR, index, start, end, 0.0, settings.door_height)]
    return []


def _windows(
    types: dict[int, str], walls: Sequence[Wall], taken: Sequence[Opening], rng: np.random.Generator, settings: Homes
) -> list[Opening]:
    windows = []
    used = {opening.wall for opening in taken}
    for index, wall in enumerate(walls):
        if None not in (wall.low, wall.high) or index in used:
            continue
        name = types[wall.low or wall.high or 0]
        low, high = _WINDOW_WIDTH.get(name, (1.1, 1.7))
        if name in ("storage room", "entrance") or rng.random() < 0.2:
            continue
        width = min(float(rng.uniform(low, high)), wall.end - wall.start - 0.8)
        if width < low:
            continue
        start = round((wall.start + wall.end - width) / 2 + float(rng.uniform(-0.15, 0.15)), 3)
        sill = _WINDOW_SILL.get(name, 0.9)
        windows.append(Opening(OpeningKind.WINDOW, index, start, round(start + width, 3), sill, settings.door_height))
    return windows
