"""The answer to a question in words, as a value, and the words in which its sentence speaks of objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lastseen.memory.facts import Fact
from lastseen.memory.history import Change
from lastseen.memory.object import Answer, Object
from lastseen.memory.query.question_kinds import Kind
from lastseen.observation import SURFACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a question: its kind, the evidence, and one plain sentence about it.

    ``status`` is ``answered`` or ``not_remembered``; then the sentence names what is lacking. ``objects`` are those
    that the sentence speaks of, ``pictures`` the ids of those that have one; ``times`` are wall time (UTC) and empty
    in a session without a date. ``facts`` were told and not seen. ``confidence`` is 0 to 1, None where nothing
    speaks for or against it. ``refused`` and ``not_understood`` are those of ``Answer``.

    Where a language model was asked for, ``phrased`` is how it says it, None where nothing it said could be kept;
    ``cut`` counts its sentences that rest on nothing, ``asked`` are the questions it made of the one that was not
    understood, ``model`` is its name and ``model_error`` why it gave nothing.
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
    phrased: str | None = None
    cut: int = 0
    asked: tuple[str, ...] = ()
    model: str | None = None
    model_error: str | None = None


def name(one: Object) -> str:
    """A name with colour and id."""
    color = f"{one.color} " if one.color is not None and one.label is not None else ""
    return f"{color}{one.name or 'something'} ({one.id})"


def is_structure(one: Object) -> bool:
    """Whether it is a wall, a floor or a table top that nothing has named: it is not counted among things."""
    return one.kind == SURFACE and one.label is None


def seen(one: Object) -> str:
    """When an object was last seen, or told."""
    time = f"at memory time {one.last_seen_memory_time:.0f} s" if one.last_seen is None else date(one.last_seen)
    if one.provenance == "told":
        return f"told {time} and not yet seen"
    return f"last seen {time}" + (", restored since" if one.provenance == "restored" else "")


def date(wall: datetime) -> str:
    """A time to the second."""
    return wall.strftime("%Y-%m-%d %H:%M:%S UTC")


def confidence(one: Object) -> float:
    """How sure an object is: its score, halved where it is tentative, stale, gone or only told."""
    return (one.score if one.score is not None else 1.0) * (
        1.0 if one.state == "confirmed" and one.provenance == "seen" else 0.5
    )


def capital(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def noted(answer: Answer) -> str:
    """The parts of a question that an answer did not compare."""
    return noted_words(answer.not_understood)


def noted_words(words: Sequence[str]) -> str:
    """Parts of a question that were not compared."""
    return f" (not compared: {', '.join(words)})" if words else ""
