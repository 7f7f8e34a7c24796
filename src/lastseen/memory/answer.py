"""What memory says when it is asked: hits in order, and whether they deserve to be believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["found", "ambiguous", "not_found"]


@dataclass(frozen=True, slots=True)
class Hit:
    """One remembered object that answers a query; ``last_seen`` is the frame's stamp in that ``session``."""

    id: str
    label: str | None
    xyz: tuple[float, float, float]
    score: float
    last_seen: float
    stale: bool
    place: str | None = None
    session: int | None = None
    status: str = "confirmed"
    color: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, best first (ties by id), with a verdict: weak evidence is ``not_found``, and ``reason`` says why."""

    status: Status
    reason: str
    hits: tuple[Hit, ...] = ()


def id_order(object_id: str) -> tuple[int, str]:
    """The order of ids that people expect: obj-9 before obj-10."""
    return len(object_id), object_id
