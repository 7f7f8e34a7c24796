"""A room as users see it."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = "unknown"
"""The name of a room of which too little was seen to tell its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One room of the seen floor; positions are metres in the world frame.

    ``id`` stays the same while the room grows and when the file is opened again. ``name`` is its kind ("kitchen"), or
    "unknown" where too little was seen; ``confidence`` tells how sure that is, 0 to 1. ``storey`` counts from 0, the
    floor the memory began on. ``area`` is the seen floor in square metres, ``outline`` its border, counter-clockwise,
    and ``center`` a point well inside. ``next_to`` are the rooms behind its doors and passages.
    ``provenance`` is told where its name was given by ``Memory.tell``, else seen.
    """

    id: int
    name: str
    confidence: float
    storey: int
    area: float
    center: tuple[float, float]
    outline: tuple[tuple[float, float], ...]
    next_to: tuple[int, ...]
    provenance: str = "seen"
