"""Rooms: the seen floor cut at doors and narrows, each region named by what stands in it (docs/rooms.md)."""

from lastseen.memory.rooms.floor_plan import Door, FloorPlan, Wall
from lastseen.memory.rooms.room import Room

__all__ = ["Door", "FloorPlan", "Room", "Wall"]
