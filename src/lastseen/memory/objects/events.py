"""What happened to an object, when, and on what evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class EventKind(StrEnum):
    """The turns an object's life can take."""

    APPEARED = "appeared"
    CONFIRMED = "confirmed"
    MOVED = "moved"
    MISSING = "missing"
    REMOVED = "removed"
    REAPPEARED = "reappeared"
    MERGED = "merged"
    CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class Event:
    """One turn; ``evidence`` holds plain values (numbers, text, lists) so that it can be written down as JSON."""

    stamp: float
    frame_id: int
    kind: EventKind
    object_id: str
    evidence: Mapping[str, object] = field(default_factory=dict)
