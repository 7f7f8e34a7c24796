"""Where something lies from here, in the planner's own terms: whole degrees, positive to the left, and metres."""

from __future__ import annotations

import math

from lastseen.pose2d import Pose2D, wrap_angle

Where = dict[str, float]
"""``distance`` in metres (two decimals) and ``angle`` in whole degrees, positive left."""


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
