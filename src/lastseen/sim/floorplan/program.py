"""Which rooms a house has, and how large each may be.

The areas are rounded from common minimum standards and from what European flats usually have; they are our own
choice of round figures, not measured from any data set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

SMALL_ROOMS = ("bathroom", "laundry room", "entrance", "storage room")
"""Rooms that would be too narrow alone in a deep strip; they may be stacked."""

_CORE = ("living room", "kitchen", "bedroom", "bathroom")
_EXTRAS = (
    ("bedroom", "dining room", "office", "entrance"),
    ("bedroom", "bathroom", "dining room", "office", "entrance", "laundry room"),
)


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
