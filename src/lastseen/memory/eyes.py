"""The encoder of a memory's looks, where it reads words too: with it, words are put to looks that no name answers."""

from __future__ import annotations

from lastseen.config.models import Encoding
from lastseen.encoders.registry import open_encoder, reads_both
from lastseen.errors import IndexMismatch, InvalidValue, MissingExtra
from lastseen.memory.memory import Memory
from lastseen.protocols import Encoder


class Eyes:
    """Gives memories the encoder of their looks; ``encoder`` names one, which then must fit. Opened once."""

    def __init__(self, encoder: str | None = None, rules: Encoding | None = None) -> None:
        self.encoder: Encoder | None = None if encoder is None else open_encoder(encoder, rules)
        self._named = encoder is not None

    def give(self, memory: Memory) -> str | None:
        """Let words be put to a memory's looks; returns why only names are searched, None where all is well."""
        look, rules = memory.store.look, memory.settings.encoding
        if self._named and self.encoder is not None:
            memory.use_image_encoder(self.encoder)
            return None
        if look is None or not reads_both(look) or memory.encoder.name == look:
            return None
        try:
            if self.encoder is None or self.encoder.name != look:
                self.encoder = open_encoder(look.partition("-")[0], rules)
            memory.use_image_encoder(self.encoder)
        except (InvalidValue, MissingExtra, IndexMismatch) as error:
            return f"only names are searched, not looks ({error})"
        return None
