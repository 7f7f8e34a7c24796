"""The answer to a question in words, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lastseen.memory.facts import Fact
from lastseen.memory.history import Change
from lastseen.memory.object import Object
from lastseen.memory.query.question_kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a question: its kind, the evidence, and one plain sentence about it.

    ``status`` is ``answered`` or ``not_remembered``; then the sentence names what is lacking. ``objects`` are those
    that the sentence speaks of, ``pictures`` the ids of those that have one; ``times`` are wall time (UTC) and empty
    in a session without a date. ``facts`` were told and not seen. ``confidence`` is 0 to 1, None where nothing
    speaks for or against it. ``refused`` and ``not_understood`` are those of ``Answer``.
    """

    question: str
    kind: Kind
    status: Literal["answered", "not_remembered"]
    sentence: str
    objects: tuple[Object, ...] = ()
    count: int | None = None
    yes: bool | None = None
    times: tuple[datetime, ...] = ()
    places: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    facts: tuple[Fact, ...] = ()
    pictures: tuple[str, ...] = ()
    confidence: float | None = None
    refused: str | None = None
    not_understood: tuple[str, ...] = ()
