"""Which things one expects in which room: the common sense of the offline model.

Source: compiled by hand in the manner of the room-by-room inventory checklists that home insurers hand out, where
each room has a list of what is usually in it and of what may be. It knows nothing of any simulator or test home.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

UNKNOWN = "unknown"
_MOST_NAMED = 10
"""Things that a place is remembered by."""
_USUAL = 3.0
_POSSIBLE = 1.0

_ROOMS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_SAME = _ROOMS.pop("same")
"""Other names of things, with the one that the rooms use."""


def _names(text: str) -> list[str]:
    return [" ".join(name.split()) for name in text.split(",")]


ESSENTIAL = {room: frozenset(_names(kept["essential"])) for room, kept in _ROOMS.items() if "essential" in kept}
"""Of these a room of the kind has at least one: without any it is likely another room."""
ROOMS = tuple(sorted(_ROOMS))


def _strengths() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for room, kept in _ROOMS.items():
        for column, strength in (("usual", _USUAL), ("possible", _POSSIBLE)):
            for name in _names(kept[column]):
                table.setdefault(_SAME.get(name, name), {})[room] = strength
    return table


_TABLE = _strengths()


@lru_cache(maxsize=4096)
def rooms_of(thing: str) -> dict[str, float]:
    """How strongly each room is expected to hold a thing, summing to 1; empty for things it never heard of.

    A name it does not know is tried by its last words: a red mug is a mug.
    """
    words = thing.lower().split()
    for start in range(len(words)):
        name = " ".join(words[start:])
        known = _TABLE.get(_SAME.get(name, name))
        if known is not None:
            total = sum(known.values())
            return {room: strength / total for room, strength in sorted(known.items())}
    return {}


def is_one_of(label: str, things: frozenset[str]) -> bool:
    """Whether a label names one of some things, synonyms levelled: a kitchen sink is a sink."""
    return _head(label) in things


def same_thing(label: str, target: str) -> bool:
    """Whether a label names the kind of thing that is looked for: the same head noun, synonyms levelled.

    >>> same_thing("mug", "red mug"), same_thing("cup", "mug"), same_thing("mug rack", "mug")
    (True, True, False)
    """
    return bool(_head(label)) and _head(label) == _head(target)


def _head(name: str) -> str:
    words = name.lower().split()
    for start in range(len(words)):
        known = _SAME.get(" ".join(words[start:]), " ".join(words[start:]))
        if known in _TABLE:
            return known
    return words[-1] if words else ""


def room_beliefs(labels: Sequence[tuple[str, float]]) -> dict[str, float]:
    """How likely each room is, from what is seen in it; empty where nothing tells."""
    evidence = dict.fromkeys(ROOMS, 0.0)
    for label, score in labels:
        for room, strength in rooms_of(label).items():
            evidence[room] += score * strength
    total = sum(evidence.values())
    return {room: value / total for room, value in evidence.items()} if total > 0.0 else {}


def likely_room(labels: Sequence[tuple[str, float]]) -> str | None:
    """The likeliest room; ties go to the alphabetically first."""
    beliefs = room_beliefs(labels)
    return best(beliefs) if beliefs else None


def describe_scene(labels: Sequence[tuple[str, float]]) -> tuple[str, tuple[str, ...], str]:
    """The likeliest room or "unknown", what it is remembered by, and a sentence; empty where nothing tells."""
    room = likely_room(labels) or UNKNOWN
    objects = tuple(sorted({label for label, _ in labels})[:_MOST_NAMED])
    named = with_article("place" if room == UNKNOWN else room)
    held = f" with {', '.join(objects[:3])}" if objects else ""
    sentence = f"{named[:1].upper()}{named[1:]}{held}."
    return room, objects, sentence if room != UNKNOWN or objects else ""


def with_article(noun: str) -> str:
    """A noun as a sentence has it: a kitchen, an office."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def best(values: Mapping[str, float]) -> str:
    """The name of the highest value; ties go to the alphabetically first."""
    return min(values, key=lambda name: (-values[name], name))
