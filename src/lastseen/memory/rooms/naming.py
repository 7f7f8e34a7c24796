"""What kind a room is: votes of the things that stand in it, of the scene analyzer, and of its shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from lastseen.memory.places.scene_type import normalize_scene_type
from lastseen.memory.rooms.room import UNKNOWN
from lastseen.vlm.household import ROOMS, rooms_of

_STRAY = 0.03
"""Chance that a thing stands in a room one does not expect it in: misnamed, carried there, or an odd household."""
_MORE = 0.5
"""What each further thing of a name adds, of what the first one did: six chairs are not six witnesses."""
_SCENE = 0.5
"""Weight of one answer of the scene analyzer, which saw one view, beside one thing that stands there."""
_MOST_SCENE = 4.0
"""Weight of all its answers together."""
_SCENE_RIGHT = 0.6
"""How often a scene analyzer names the room it is in rather than one it looks into."""
_LONG = 2.5
"""Times longer than wide from which a room is one to pass through."""
_PASSED = 2.5
"""Weight of a shape that only corridors have."""
_LEAST_EVIDENCE = 0.8
"""Weight of evidence below which a room stays unknown: one thing that may stand anywhere is not enough."""
_SURE = 0.4
"""Confidence below which a room stays unknown."""
CORRIDOR = "corridor"


@dataclass(slots=True)
class Votes:
    """What speaks for a room's kind.

    ``things`` are labels with how much of each was seen there (1 for a thing that is surely called so), ``scenes``
    what the scene analyzer said there, each with how often. ``width`` and ``length`` are metres, ``doors`` the number
    of rooms next to it.
    """

    things: dict[str, float] = field(default_factory=dict)
    scenes: dict[str, float] = field(default_factory=dict)
    width: float = 0.0
    length: float = 0.0
    doors: int = 0


def name_of(votes: Votes) -> tuple[str, float]:
    """The likeliest kind and how sure it is; unknown where little or nothing speaks.

    >>> name_of(Votes(things={"bed": 1.0, "wardrobe": 1.0, "book": 1.0}))[0]
    'bedroom'
    """
    kinds = {normalize_scene_type(kind): kind for kind in ROOMS}
    told = {kind: count for kind, count in votes.scenes.items() if kind != UNKNOWN}
    for kind in sorted(told):
        kinds.setdefault(kind, kind)
    score = dict.fromkeys(kinds, 0.0)
    weight = 0.0
    for label, amount in sorted(votes.things.items()):
        expected = rooms_of(label)
        if not expected:
            continue
        counts = min(amount, 1.0) + _MORE * math.log1p(max(amount - 1.0, 0.0))
        weight += counts * max(expected.values())
        _add(score, expected, counts, stray=_STRAY)
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
        weight += _PASSED
        score[CORRIDOR] += _PASSED
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
