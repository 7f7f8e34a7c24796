"""A room as users see it, and its kind: votes of the things that stand in it, of the scene analyzer, of its shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from lastseen.memory.places.place import normalize_scene_type
from lastseen.vlm.household import ESSENTIAL, ROOMS, is_one_of, rooms_of

UNKNOWN = "unknown"
"""The name of a room of which too little was seen to tell its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One room of the seen floor; positions are metres in the world frame.

    ``id`` stays the same while the room grows and when the file is opened again. ``name`` is its kind ("kitchen"), or
    "unknown" where too little was seen; ``confidence`` tells how sure that is, 0 to 1. ``storey`` counts from 0, the
    floor the memory began on. ``area`` is the seen floor in square metres, ``outline`` its border, counter-clockwise,
    and ``center`` a point well inside. ``next_to`` are the rooms behind its doors and passages.
    ``provenance`` is told where its name was given by ``Memory.tell``, else seen.
    """

    id: int
    name: str
    confidence: float
    storey: int
    area: float
    center: tuple[float, float]
    outline: tuple[tuple[float, float], ...]
    next_to: tuple[int, ...]
    provenance: str = "seen"


_STRAY = 0.02, 0.1
"""Chance that a piece of furniture, and that a thing one carries, is in a room one does not expect it in."""
_CARRIED = 0.4
"""What a thing one carries counts beside a piece of furniture."""
FURNITURE = 0.6
"""Metres along its longest side from which a thing is furniture: what is smaller is carried about."""
_MORE = 0.5
"""What each further thing of a name adds, of what the first one did: six chairs are not six witnesses."""
_SCENE = 0.25
"""Weight of one answer of the scene analyzer, which saw one view, beside one piece of furniture."""
_MOST_SCENE = 3.0
"""Weight of all its answers together."""
_SCENE_RIGHT = 0.6
"""How often a scene analyzer names the room it is in rather than one it looks into."""
_LONG = 2.5
"""Times longer than wide from which a room is one to pass through."""
_PASSED = 1.0
"""Weight of each door of such a room, counted up to four."""
_LACKING = 1.5
"""Weight against a kind of room without anything that makes it one: a kitchen without a stove."""
_LOOKED_AT = 3
"""Kinds of furniture seen from which a room was seen well enough to say what it lacks."""
_LEAST_EVIDENCE = 0.5
"""Weight of evidence below which a room stays unknown: one thing that may stand anywhere is not enough."""
_SURE = 0.4
"""Confidence below which a room stays unknown."""
CORRIDOR = "corridor"


@dataclass(slots=True)
class Votes:
    """What speaks for a room's kind.

    ``furniture`` and ``carried`` are labels with how much of each was seen there (1 for a thing that is surely called
    so), ``scenes`` what the scene analyzer said there, each with how often. ``width`` and ``length`` are metres,
    ``doors`` the number of rooms next to it.
    """

    furniture: dict[str, float] = field(default_factory=dict)
    carried: dict[str, float] = field(default_factory=dict)
    scenes: dict[str, float] = field(default_factory=dict)
    width: float = 0.0
    length: float = 0.0
    doors: int = 0


def name_of(votes: Votes) -> tuple[str, float]:
    """The likeliest kind and how sure it is; unknown where little or nothing speaks.

    >>> name_of(Votes(furniture={"bed": 1.0, "wardrobe": 1.0}, carried={"remote": 1.0}))[0]
    'bedroom'
    """
    kinds = {normalize_scene_type(kind): kind for kind in ROOMS}
    told = {kind: count for kind, count in votes.scenes.items() if kind != UNKNOWN}
    for kind in sorted(told):
        kinds.setdefault(kind, kind)
    score = dict.fromkeys(kinds, 0.0)
    weight = 0.0
    for things, share, stray in ((votes.furniture, 1.0, _STRAY[0]), (votes.carried, _CARRIED, _STRAY[1])):
        for label, amount in sorted(things.items()):
            expected = rooms_of(label)
            if not expected:
                continue
            counts = share * (min(amount, 1.0) + _MORE * math.log1p(max(amount - 1.0, 0.0)))
            weight += counts * max(expected.values())
            _add(score, expected, counts, stray=stray)
    said = sum(told.values())
    if said > 0.0:
        counts = min(_SCENE * said, _MOST_SCENE)
        weight += counts * _SCENE_RIGHT * max(told.values()) / said
        _add(
            score,
            {kind: _SCENE_RIGHT * count / said for kind, count in told.items()},
            counts,
            stray=(1.0 - _SCENE_RIGHT) / len(kinds),
        )
    if votes.width and votes.length >= _LONG * votes.width and votes.doors > 1:
        passed = _PASSED * min(votes.doors, 4)
        weight += passed
        score[CORRIDOR] += passed
    if len(votes.furniture) >= _LOOKED_AT:
        seen = [*votes.furniture, *votes.carried]
        for kind, essential in ESSENTIAL.items():
            if not any(is_one_of(label, essential) for label in seen):
                score[normalize_scene_type(kind)] -= _LACKING
    if votes.doors < 2:
        score[CORRIDOR] -= _LACKING
    if weight < _LEAST_EVIDENCE:
        return UNKNOWN, 0.0
    best = max(sorted(score), key=lambda kind: score[kind])
    confidence = 1.0 / sum(math.exp(score[kind] - score[best]) for kind in score)
    return (kinds[best], confidence) if confidence >= _SURE else (UNKNOWN, confidence)


def _add(score: dict[str, float], expected: Mapping[str, float], counts: float, *, stray: float) -> None:
    """Add the logarithm of how likely each kind makes what was seen, relative to knowing nothing."""
    known = {normalize_scene_type(kind): share for kind, share in expected.items()}
    for kind in score:
        score[kind] += counts * math.log((known.get(kind, 0.0) + stray) * len(score))
