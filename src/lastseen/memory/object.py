"""An object as users see it, everywhere: one set of names in Python, on the command line, over REST and MCP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """One remembered object; positions are metres in the world frame, z up.

    ``state`` is tentative (not yet confirmed), confirmed, stale (not seen for long), missing (its place was seen
    empty) or removed (seen empty again later). ``place`` is the kind of place it stands in ("kitchen"), ``place_id``
    which one; None where none is near. ``last_seen`` and ``first_seen`` are wall time (UTC), None in a session
    without a date; ``age`` is the seconds from its last sighting to the newest frame of the memory, and
    ``last_seen_memory_time`` that sighting on memory's own clock. ``score`` tells how well it answers a question,
    0 to 1, None where none was asked.
    """

    id: str
    label: str | None
    position: Point
    extent: Point | None
    state: str
    place: str | None
    place_id: int | None
    color: str | None
    first_seen: datetime | None
    last_seen: datetime | None
    age: float
    last_seen_memory_time: float
    session: int | None
    hits: int | None = None
    stability: float | None = None
    score: float | None = None

    @property
    def stale(self) -> bool:
        """Whether it was not seen for long, though nothing says that it is gone."""
        return self.state == "stale"
