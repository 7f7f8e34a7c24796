"""Places: stretches of space of one kind, how their types are compared, and when a new one is believed.

There is no fixed list of types: whatever a model says is kept, and only its spelling is levelled; see docs/places.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

UNKNOWN = "unknown"
"""The type of a place whose scene could not be told."""

MAX_DESCRIPTION = 240
"""Characters: one or two short sentences per place."""
_SYNONYMS = {"hallway": "corridor"}
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+")


@lru_cache(maxsize=1024)
def normalize_scene_type(text: str) -> str:
    """Lower-case, without punctuation, single spaces, ``hallway`` as ``corridor``; letters of any script stay.

    >>> normalize_scene_type("  Upstairs_Hallway. ")
    'upstairs corridor'
    """
    lowered = unicodedata.normalize("NFC", text.lower())
    kept = "".join(_kept(character) for character in lowered)
    # dropping punctuation can bring two halves of one letter together, so the letters are composed once more
    words = unicodedata.normalize("NFC", kept).split()
    return " ".join(_SYNONYMS.get(word, word) for word in words)


def is_corridor(scene_type: str) -> bool:
    """Whether a type names a place one passes through."""
    return "corridor" in normalize_scene_type(scene_type)


def _kept(character: str) -> str:
    if character in "_-" or character.isspace():
        return " "
    return character if character.isalpha() or character.isdigit() else ""


@dataclass(slots=True)
class Place:
    """A room, a corridor or another coherent space, as far as its scene type tells."""

    place_id: int
    place_type: str
    episode: int = 0
    objects_list: set[str] = field(default_factory=set)
    semantic_description: str = ""
    anchors: list[int] = field(default_factory=list)

    @property
    def scene_type(self) -> str:
        """The normalised type, the one that is compared."""
        return normalize_scene_type(self.place_type)

    @property
    def is_corridor(self) -> bool:
        """Whether this is a place one passes through, which is never re-entered as itself."""
        return is_corridor(self.place_type)

    def learn(self, objects: Iterable[str], description: str) -> None:
        """Add objects, and take the newer description, cut to two sentences, unless it is blank."""
        self.objects_list.update(text for text in (" ".join(name.split()) for name in objects) if text)
        shortened = two_sentences(description)
        if shortened:
            self.semantic_description = shortened

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, sets sorted."""
        return {
            "place_id": self.place_id,
            "place_type": self.place_type,
            "episode": self.episode,
            "objects_list": sorted(self.objects_list),
            "semantic_description": self.semantic_description,
            "anchors": list(self.anchors),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Place:
        """The place that ``to_dict`` wrote."""
        return cls(
            place_id=values["place_id"],
            place_type=values["place_type"],
            episode=values["episode"],
            objects_list=set(values["objects_list"]),
            semantic_description=values["semantic_description"],
            anchors=list(values["anchors"]),
        )


def two_sentences(text: str) -> str:
    """The first two sentences on one line, cut at ``MAX_DESCRIPTION``.

    >>> two_sentences("A kitchen.  It is bright. It is big.")
    'A kitchen. It is bright.'
    """
    kept = " ".join(_SENTENCE_END.split(" ".join(text.split()))[:2])
    return kept if len(kept) <= MAX_DESCRIPTION else kept[: MAX_DESCRIPTION - 1].rstrip() + "…"


@dataclass(slots=True)
class Sighting:
    """A scene type that differs from the current place's, and what was seen with it so far."""

    scene_type: str
    agreed: int = 0
    objects: set[str] = field(default_factory=set)
    description: str = ""


class Dwell:
    """Holds back a change of place until every one of ``k`` consecutive analyses named the same new type."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.pending: Sighting | None = None

    def analyzed(
        self, scene_type: str, *, current: str, objects: Iterable[str] = (), description: str = ""
    ) -> Sighting | None:
        """Take one analysis; return the sighting once it is confirmed."""
        normalized = normalize_scene_type(scene_type)
        pending, self.pending = self.pending, None
        if normalized == normalize_scene_type(current):
            return None
        if pending is None:
            pending = Sighting(scene_type)
        elif normalize_scene_type(pending.scene_type) != normalized:
            # all k must agree: a third opinion ends the attempt, and the next period may start another
            return None
        pending.agreed += 1
        pending.objects.update(objects)
        pending.description = description or pending.description
        if pending.agreed >= self.k:
            return pending
        self.pending = pending
        return None

    def to_dict(self) -> dict[str, Any] | None:
        """The pending sighting in plain JSON values."""
        if self.pending is None:
            return None
        return {
            "scene_type": self.pending.scene_type,
            "agreed": self.pending.agreed,
            "objects": sorted(self.pending.objects),
            "description": self.pending.description,
        }

    def restore(self, values: Mapping[str, Any] | None) -> None:
        """Take up the sighting that ``to_dict`` wrote."""
        self.pending = (
            None
            if values is None
            else Sighting(values["scene_type"], values["agreed"], set(values["objects"]), values["description"])
        )
