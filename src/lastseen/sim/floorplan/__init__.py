"""The part of a house that does not move: rooms, walls, doors and windows."""

from __future__ import annotations

import numpy as np

from lastseen.config.programs import Homes
from lastseen.sim.floorplan.doors import openings_for
from lastseen.sim.floorplan.layout import lay_out, room_types
from lastseen.sim.floorplan.plan import WALL_HEIGHT, WALL_THICKNESS, FloorPlan, walls_between


def draw_plan(rooms: int, rng: np.random.Generator, *, settings: Homes) -> FloorPlan:
    """A connected floor plan with this many rooms, or ``Constraint``."""
    placed = lay_out(room_types(rooms, rng), rng, scale=settings.room_scale)
    walls = walls_between(placed)
    openings = openings_for(placed, walls, rng, settings)
    return FloorPlan(placed, walls, openings, WALL_THICKNESS, WALL_HEIGHT)
