"""Encoders by name, imported only when one is opened, so that the core stays light."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from lastseen.config import Settings
from lastseen.config.perception import Encoding
from lastseen.errors import InvalidValue
from lastseen.protocols import Encoder

_ENCODERS = {
    "color-shape": ("lastseen.encoders.color_shape", "ColorShapeEncoder"),
    "lexicon": ("lastseen.encoders.lexicon", "LexiconEncoder"),
    "wordllama": ("lastseen.encoders.wordllama", "WordLlamaEncoder"),
}
_IMAGE_TEXT = {
    "clip": ("lastseen.encoders.image_text", "ClipEncoder"),
    "siglip2": ("lastseen.encoders.image_text", "Siglip2Encoder"),
}
_STORED_NAMES = {"look": "color-shape"}
"""The first part of the name that memory files keep, where it is not the name of the encoder."""


def known_encoders() -> list[str]:
    """The names that ``open_encoder`` takes, sorted."""
    return sorted([*_ENCODERS, *_IMAGE_TEXT])


def reads_both(name: str) -> bool:
    """Whether an encoder, by the name that a memory keeps of it, has text and images in one embedding space."""
    return name.partition("-")[0] in _IMAGE_TEXT


def open_encoder(name: str, settings: Encoding | None = None) -> Encoder:
    """Open an encoder by name; ``clip:FOLDER`` opens the model in that folder of yours.

    >>> open_encoder("lexicon").dim
    512
    """
    kind, _, folder = name.partition(":")
    kind = _STORED_NAMES.get(kind, kind)
    if kind in _ENCODERS and not folder:
        return _load(*_ENCODERS[kind])()
    if kind in _IMAGE_TEXT:
        return _load(*_IMAGE_TEXT[kind])(folder or None, settings=settings)
    raise InvalidValue("encoder", name, "is not an encoder", remedy=f"choose one of {', '.join(known_encoders())}")


@cache
def open_stored(name: str, settings: Encoding) -> Encoder:
    """Open an encoder by the name that a memory file keeps of it, from the models folder; once in a process.

    Raises:
        InvalidValue: The models folder holds none, or one with other weights.
    """
    encoder = open_encoder(name.partition("-")[0], settings)
    if encoder.name != name:
        remedy = f"give the folder of {name} as clip:FOLDER or siglip2:FOLDER, or run `lastseen reindex`"
        raise InvalidValue("image_encoder", encoder.name, f"is not {name}, which this memory holds", remedy=remedy)
    return encoder


def open_encoders(
    encoder: Encoder | str | None, image_encoder: Encoder | str | None, settings: Settings
) -> tuple[Encoder, Encoder | str | None]:
    """The two encoders of a memory: that of words, open, and that of images, open or as the file names it."""
    if isinstance(image_encoder, str) and (":" in image_encoder or image_encoder in known_encoders()):
        image_encoder = open_encoder(image_encoder, settings.encoding)
    chosen = settings.find.encoder if encoder is None else encoder
    opened = open_encoder(chosen, settings.encoding) if isinstance(chosen, str) else chosen
    if not reads_both(opened.name):
        return opened, image_encoder
    # names are compared by the lexicon: in such a space all texts lie close together
    return open_encoder("lexicon"), image_encoder or opened


def _load(module: str, kind: str) -> Any:
    return getattr(importlib.import_module(module), kind)
