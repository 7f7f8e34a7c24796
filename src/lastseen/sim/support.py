"""What stands on what: read from boxes, so it holds for generated, loaded and edited homes alike."""

from __future__ import annotations

import numpy as np

from lastseen.sim.home import Home, Thing

TOUCH = 0.05
"""Metres between a bottom and the top below it that still count as standing on it: models are that loose."""


def support_below(home: Home, thing: Thing) -> int | None:
    """The id of the thing whose top carries this one; None for the floor, a wall or thin air."""
    bottom = thing.box[0, 2]
    centre = thing.position[:2]
    below = [
        other
        for other in home.things.values()
        if other.id != thing.id
        and abs(other.box[1, 2] - bottom) <= TOUCH
        and bool((other.box[0, :2] <= centre).all() and (centre <= other.box[1, :2]).all())
        and other.box[0, 2] < bottom - TOUCH / 2.0
    ]
    if not below:
        return None
    return min(below, key=lambda other: (abs(float(other.box[1, 2] - bottom)), -_area(other), other.id)).id


def _area(thing: Thing) -> float:
    return float(np.prod(thing.extent[:2]))
