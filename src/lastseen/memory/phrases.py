"""The words in which answers speak of objects: a name with its id, when it was seen, what was not compared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lastseen.memory.object import Answer, Object


def name(one: Object) -> str:
    """A name with colour and id."""
    color = f"{one.color} " if one.color is not None and one.label is not None else ""
    return f"{color}{one.label or 'something'} ({one.id})"


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
