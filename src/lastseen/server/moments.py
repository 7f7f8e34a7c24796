"""Times and places as a request writes them, and what they may be."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query

from lastseen.errors import InvalidValue
from lastseen.memory.longterm.clock import Moment

FARTHEST = 1e6
"""Metres from the origin beyond which no robot has been; squares of it are still exact enough."""
LATEST = 1e11
"""Seconds either way that a stamp may name: the year 5000, so that sums with a date stay dates."""

ObjectId = Annotated[str, Path(max_length=64, description="For example obj-7.", examples=["obj-7"])]
MomentText = Annotated[
    str | None,
    Query(max_length=64, description="Memory time (12.5), a session's stamp (2:12.5) or a date with its zone."),
]
Metres = Annotated[float, Query(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False)]
Radius = Annotated[float, Query(gt=0.0, le=FARTHEST, allow_inf_nan=False, description="Metres.")]
Offset = Annotated[int, Query(ge=0, le=10_000_000)]
Limit = Annotated[int, Query(ge=1, le=1000)]

_NUMBER = r"-?\d{1,15}(?:\.\d{1,12})?"


def moment_of(name: str, text: str | None) -> Moment | None:
    """Read a time; a plain number is memory time."""
    if text is None or not text.strip():
        return None
    text = text.strip()
    if re.fullmatch(_NUMBER, text, flags=re.ASCII):
        return 0, _bounded(name, float(text))
    pair = re.fullmatch(rf"(\d{{1,9}}):({_NUMBER})", text, flags=re.ASCII)
    if pair:
        return int(pair[1]), _bounded(name, float(pair[2]))
    try:
        # a plus sign that was not escaped arrives as a space
        found = datetime.fromisoformat(text.replace(" ", "+") if text.count(" ") == 1 and "T" in text else text)
    except ValueError:
        remedy = "give memory time (12.5), a session's stamp (2:12.5) or a date (2026-01-31T08:00Z)"
        raise InvalidValue(name, text, "is no time", remedy=remedy) from None
    if found.tzinfo is None:
        raise InvalidValue(name, text, "has no time zone", remedy="for example 2026-01-31T08:00:00Z")
    return found


def point_of(name: str, text: str | None) -> tuple[float, float, float] | None:
    """Read a place from x,y,z in metres."""
    if text is None or not text.strip():
        return None
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidValue(name, text, "is no place", remedy="give x,y,z in metres, for example 1,2,0") from None
    if not all(math.isfinite(value) and abs(value) <= FARTHEST for value in (x, y, z)):
        raise InvalidValue(name, text, f"is beyond {FARTHEST:g} m", remedy="give x,y,z in metres")
    return x, y, z


def _bounded(name: str, seconds: float) -> float:
    if abs(seconds) > LATEST:
        raise InvalidValue(name, seconds, f"is beyond {LATEST:g} s", remedy="give seconds")
    return seconds
