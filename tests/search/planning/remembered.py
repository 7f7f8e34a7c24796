"""A remembered object with a path to it, for planners to be offered."""

from __future__ import annotations

import math
from typing import Any

from lastseen.memory.object import Object
from lastseen.search.explored import Spot
from lastseen.search.recall import Remembered

PATH = ((2.0, 0.5), (1.0, 0.5 + math.pi / 2))
"""Two metres ahead, then one to the left."""


def remembered_mug(object_id: str = "7", *, metres: float = 3.0, **fields: Any) -> Remembered:
    values: dict[str, Any] = {"label": "mug", "place": "kitchen", **fields}
    mug = Object(
        id=object_id,
        position=(1.0, 2.0, 0.8),
        extent=None,
        state="confirmed",
        place_id=None,
        color=None,
        first_seen=None,
        last_seen=None,
        age=0.0,
        last_seen_memory_time=0.0,
        session=1,
        **values,
    )
    return Remembered(mug, Spot(1.0, 2.0, metres, PATH, 1.0))
