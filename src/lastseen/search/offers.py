"""Where a robot may go, as a planner is told of it: angle and metres of the path, its segments, and what is there."""

from __future__ import annotations

import math
from typing import Any

from lastseen.search.explored import Spot
from lastseen.search.recall import Remembered


def edge_offer(spot: Spot) -> dict[str, Any]:
    """An edge of what was seen."""
    return {**_toward(spot), "width": spot.size, "labels": [list(label) for label in spot.labels]}


def sighting_offer(spot: Spot) -> dict[str, Any]:
    """Where the goal was seen in this search."""
    return {**_toward(spot), "views": round(spot.size)}


def remembered_offer(offer: Remembered) -> dict[str, Any]:
    """An object that memory takes for the goal."""
    found = offer.object
    return {**_toward(offer.spot), "id": found.id, "label": found.label, "place": found.place}


def _toward(spot: Spot) -> dict[str, Any]:
    return {"angle": math.degrees(spot.heading), "distance": spot.metres, "segments": spot.segments}
