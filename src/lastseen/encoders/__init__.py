"""Encoders of text and of image crops as unit vectors (embeddings); the defaults need no download and no network.

A memory keeps the name of the encoder that made its embeddings and refuses to mix two. Encoders load on first use:
``open_encoder("lexicon")`` costs nothing heavy, ``open_encoder("wordllama")`` needs the extra ``text``.
"""

from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.encoders.color_shape import ColorShapeEncoder as ColorShapeEncoder
    from lastseen.encoders.lexicon import LexiconEncoder as LexiconEncoder
    from lastseen.encoders.registry import known_encoders as known_encoders
    from lastseen.encoders.registry import open_encoder as open_encoder

__all__ = ["ColorShapeEncoder", "LexiconEncoder", "known_encoders", "open_encoder"]

__getattr__ = lazy_exports(
    __name__,
    {
        "LexiconEncoder": "lastseen.encoders.lexicon",
        "ColorShapeEncoder": "lastseen.encoders.color_shape",
        "known_encoders": "lastseen.encoders.registry",
        "open_encoder": "lastseen.encoders.registry",
    },
)
