"""Scene types as models write them, made comparable by the least change that works; see docs/places.md.

There is no fixed list of types: whatever a model says is kept, and only its spelling is levelled.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

UNKNOWN = "unknown"
"""The type of a place whose scene could not be told."""

_SYNONYMS = {"hallway": "corridor"}


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
