"""Where something lies from here, in the planner's own terms: whole degrees, positive to the left, and metres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lastseen.pose2d import Pose2D, wrap_angle

Where = dict[str, Any]
"""``distance`` in metres (two decimals) and ``angle`` in whole degrees, positive left; where the way there is known,
``way`` holds its straight segments as pairs of metres and degrees."""


def whole_degrees(radians: float) -> int:
    """Degrees in (-180, 180], rounded."""
    degrees = round(math.degrees(wrap_angle(radians)))
    return 180 if degrees == -180 else degrees


def where(here: Pose2D, there: Pose2D) -> Where:
    """Distance and angle of a pose as seen from another."""
    return {"distance": round(here.distance_to(there), 2), "angle": whole_degrees(here.bearing_to(there))}


def say_angle(degrees: float) -> str:
    """An angle as prompts write it.

    >>> say_angle(30), say_angle(0), say_angle(-90)
    ('+30 deg', '0 deg', '-90 deg')
    """
    return f"{round(degrees):+d} deg" if round(degrees) else "0 deg"


def say_where(there: Where) -> str:
    """Distance and angle as prompts write them, for example ``3.2 m at +45 deg``."""
    return f"{there['distance']:.1f} m at {say_angle(there['angle'])}"


def say_way(way: Sequence[Sequence[float]]) -> str:
    """The segments of a way as prompts write them.

    >>> say_way([[2.1, -175], [1.6, 40]])
    '; way 2.1 m at -175 deg, then 1.6 m at +40 deg'
    """
    told = ", then ".join(f"{metres:.1f} m at {say_angle(degrees)}" for metres, degrees in way)
    return f"; way {told}" if told else ""
