"""Times and points as a request gives them: read and bounded alike for REST, MCP and the command line."""

from __future__ import annotations

import math
import re
from datetime import datetime

from lastseen.errors import InvalidValue
from lastseen.finite import FARTHEST, LATEST
from lastseen.memory.object import Point
from lastseen.memory.store.clock import Moment

DEFAULT_RADIUS = 3.0
"""Metres around a place that is named without a radius: a room's width."""
_NUMBER = r"-?[0-9]{1,15}(?:\.[0-9]{1,12})?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{2,15}(?:Z|[+\- ][0-9]{2}:?[0-9]{2})"
TIME_PATTERN = rf"^(?:|{_NUMBER}|[0-9]{{1,9}}:{_NUMBER}|{_DATE})$"
"""What a time in a request looks like."""


def parse_time(name: str, text: str | None) -> Moment | None:
    """A time as a request gives it: ISO 8601 with its zone, memory time, or a session's stamp; None for no text."""
    if text is None or not text.strip():
        return None
    text = text.strip()
    if re.fullmatch(_NUMBER, text):
        return 0, _checked_seconds(name, float(text))
    pair = re.fullmatch(rf"([0-9]{{1,9}}):({_NUMBER})", text)
    if pair:
        return int(pair[1]), _checked_seconds(name, float(pair[2]))
    try:
        # a plus sign that was not escaped arrives as a space
        found = datetime.fromisoformat(text.replace(" ", "+") if text.count(" ") == 1 and "T" in text else text)
    except ValueError:
        remedy = "give a date (2026-01-31T08:00Z), memory time (12.5) or a session's stamp (2:12.5)"
        raise InvalidValue(name, text, "is no time", remedy=remedy) from None
    if found.tzinfo is None:
        raise InvalidValue(name, text, "has no time zone", remedy="for example 2026-01-31T08:00:00Z")
    return found


def parse_point(name: str, text: str | None) -> Point | None:
    """A place as a request gives it: x,y,z in metres; None for no text."""
    if text is None or not text.strip():
        return None
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidValue(name, text, "is no place", remedy="give x,y,z in metres, for example 1,2,0") from None
    return checked_point(name, (x, y, z))


def parse_outline(name: str, text: str) -> list[tuple[float, float]]:
    """Corners as a command gives them: x,y in metres, parted by spaces."""
    try:
        corners = [tuple(float(part) for part in corner.split(",")) for corner in text.split()]
        return [(x, y) for x, y in corners]
    except ValueError:
        remedy = 'give corners as x,y in metres, for example "0,0 4,0 4,3"'
        raise InvalidValue(name, text, "is no outline", remedy=remedy) from None


def checked_point(name: str, point: Point) -> Point:
    """Refuse a point that no robot has been at."""
    if not all(math.isfinite(value) and abs(value) <= FARTHEST for value in point):
        raise InvalidValue(name, point, f"is beyond {FARTHEST:g} m", remedy="give x, y, z in metres")
    return point


def _checked_seconds(name: str, seconds: float) -> float:
    if abs(seconds) > LATEST:
        raise InvalidValue(name, seconds, f"is beyond {LATEST:g} s", remedy="give seconds")
    return seconds
