"""Places: stretches of space of one kind, in which what was seen adds up; see docs/places.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lastseen.memory.places.scene_type import is_corridor, normalize_scene_type

_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+")


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

    def learn(self, objects: Iterable[str], description: str, *, max_characters: int) -> None:
        """Add objects, and take the newer description, cut to two sentences, unless it is blank."""
        self.objects_list.update(text for text in (" ".join(name.split()) for name in objects) if text)
        shortened = two_sentences(description, max_characters=max_characters)
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


def two_sentences(text: str, *, max_characters: int) -> str:
    """The first two sentences on one line, never longer than allowed.

    >>> two_sentences("A kitchen.  It is bright. It is big.", max_characters=200)
    'A kitchen. It is bright.'
    """
    kept = " ".join(_SENTENCE_END.split(" ".join(text.split()))[:2])
    return kept if len(kept) <= max_characters else kept[: max_characters - 1].rstrip() + "…"
