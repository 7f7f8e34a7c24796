"""Encoders by name, imported only when asked for, so that the core stays light."""

from __future__ import annotations

import importlib

from lastseen.errors import InvalidValue
from lastseen.protocols import Encoder

_ENCODERS = {
    "lexicon": ("lastseen.encoders.lexicon", "LexiconEncoder"),
    "look": ("lastseen.encoders.look", "LookEncoder"),
    "wordllama": ("lastseen.encoders.wordllama", "WordLlamaEncoder"),
}


def known_encoders() -> list[str]:
    """The names that ``open_encoder`` takes, sorted."""
    return sorted(_ENCODERS)


def open_encoder(name: str) -> Encoder:
    """Open an encoder by name.

    >>> open_encoder("lexicon").dim
    512
    """
    if name not in _ENCODERS:
        raise InvalidValue(
            "encoder", name, "is not an encoder", remedy=f"choose one of {', '.join(known_encoders())}"
        )
    module, kind = _ENCODERS[name]
    encoder: Encoder = getattr(importlib.import_module(module), kind)()
    return encoder
