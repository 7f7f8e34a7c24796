"""What memory says when it is asked: hits in order, and whether they deserve to be believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lastseen.memory.object import Object

Status = Literal["found", "ambiguous", "not_found"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What memory says to a question: a verdict with its reason, and the objects that fit, best first (ties by id).

    Weak evidence is ``not_found``; several that fit equally well and stand apart are ``ambiguous``.
    """

    status: Status
    reason: str
    hits: tuple[Object, ...] = ()


def id_order(object_id: str) -> tuple[int, str]:
    """The order of ids that people expect: obj-9 before obj-10."""
    return len(object_id), object_id
