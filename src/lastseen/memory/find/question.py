"""One question, ready to be put to this memory or to the index that robots share: both answer alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.config.longterm import Find
from lastseen.errors import InvalidValue
from lastseen.memory.answer import Answer
from lastseen.memory.find.region import Region
from lastseen.memory.find.search import Search
from lastseen.memory.find.wording import Wording
from lastseen.protocols import Encoder

if TYPE_CHECKING:
    from lastseen.memory.find.shared import SharedSearch


@dataclass(slots=True)
class Question:
    """What is asked, by words or by a vector, and what a score must reach to be believed."""

    encoder: Encoder
    wording: Wording
    rules: Find
    text: str | None = None
    vector: NDArray[np.float32] | None = None
    asked: str = ""

    def put_to(self, search: Search | SharedSearch, region: Region, *, k: int, look: str | None) -> Answer:
        """Get the answer; words go to the looks themselves where one encoder reads both."""
        if self.vector is not None:
            return search.by_vector(self.vector, region, asked=self.asked, accept=self.rules.look_accept, k=k)
        if self.text is None:
            if not isinstance(search, Search):
                raise InvalidValue("robots", "all", "needs a question", remedy="ask by text, image or embedding")
            return search.by_region(region, k=k)
        if look == self.encoder.name:
            query = self.encoder.encode_text([self.text])[0]
            accept = self.rules.shared_accept
            return search.by_vector(query, region, asked=repr(self.text), accept=accept, k=k)
        known = self.encoder.name.startswith("wordllama")
        accept = self.rules.wordllama_accept if known else self.rules.lexicon_accept
        return search.by_words(self.wording, self.text, region, accept=accept, k=k)
