"""Text to vectors: a reproducible stub that needs no model, and the adapter that puts a real one in its place."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from lastseen.errors import InvalidValue

if TYPE_CHECKING:
    from lastseen.protocols import Encoder

EMBEDDER_DIM = 64
"""Length of the stub's vectors: docs/memory-nodes.md."""


class Embedder(Protocol):
    """What retrieval needs of an embedder; equal texts must give equal vectors, and all vectors one length."""

    def embed_text(self, text: str) -> list[float]:
        """The vector of a text."""


class DeterministicEmbedder:
    """Vectors from a hash of the text: the same everywhere and for ever, and blind to meaning.

    Unrelated texts have a cosine near 0, and so do synonyms; only equal texts (case and outer spaces aside) agree.
    """

    def __init__(self, dim: int = EMBEDDER_DIM) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int) or dim < 1:
            raise InvalidValue("embedder.dim", dim, "must be a whole number from 1", remedy="64 is the default")
        self.dim = dim

    def embed_text(self, text: str) -> list[float]:
        """A unit vector that depends on the lower-case, stripped text alone.

        >>> DeterministicEmbedder().embed_text(" Mug ") == DeterministicEmbedder().embed_text("mug")
        True
        """
        # surrogatepass: a broken file name from a robot is text too, and must not end a search
        digest = hashlib.md5(text.lower().strip().encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
        rng = random.Random(int.from_bytes(digest, "big"))
        # uniform and not gauss: random() is the one generator that Python promises never to change
        return normalize([2.0 * rng.random() - 1.0 for _ in range(self.dim)])


class EncoderEmbedder:
    """A real text encoder behind the same call, so that "somewhere to sit" finds the sofa."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def embed_text(self, text: str) -> list[float]:
        """The encoder's vector of one text, as plain floats."""
        return [float(value) for value in self.encoder.encode_text([text])[0]]


def norm(vec: Sequence[float]) -> float:
    """Length of a vector; exactly rounded, so that it is the same on every machine."""
    return math.sqrt(math.fsum([value * value for value in vec]))


def normalize(vec: Sequence[float]) -> list[float]:
    """The vector at unit length; a zero vector stays zero.

    >>> normalize([3.0, 4.0])
    [0.6, 0.8]
    """
    length = norm(vec)
    return [float(value) for value in vec] if length == 0.0 else [value / length for value in vec]
