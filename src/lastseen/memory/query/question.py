"""One question, ready to be put to this memory or to the index that robots share: both answer alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from lastseen.config.store import Find
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.errors import InvalidValue
from lastseen.memory.answer import Answer
from lastseen.memory.query.region import Region
from lastseen.memory.query.search import Search
from lastseen.memory.query.wording import Wording
from lastseen.protocols import Encoder

if TYPE_CHECKING:
    from lastseen.memory.query.shared import SharedSearch


@dataclass(slots=True)
class Question:
    """What is asked, by words or by a vector, and what a score must reach to be believed.

    ``seeing`` is the open encoder of memory's looks, where there is one: it answers what no name does.
    """

    wording: Wording
    rules: Find
    text: str | None = None
    vector: NDArray[np.float32] | None = None
    asked: str = ""
    seeing: Encoder | None = None

    @classmethod
    def of(
        cls,
        wording: Wording,
        rules: Find,
        *,
        look: str | None,
        text: str | None,
        image: NDArray[np.uint8] | None,
        embedding: NDArray[np.float32] | None,
        seeing: Encoder | None = None,
    ) -> Self:
        """The question as it was given, by one of three ways; ``look`` names the encoder of memory's looks."""
        if sum(asked is not None for asked in (text, image, embedding)) > 1:
            raise InvalidValue("find", "several", "takes one of text, image, embedding", remedy="ask one at a time")
        if image is not None:
            return cls(
                wording,
                rules,
                None,
                _look_encoder(look, wording.encoder, seeing).encode_image([image])[0],
                "that picture",
            )
        if embedding is not None:
            return cls(wording, rules, None, _unit(np.asarray(embedding, dtype=np.float32)), "that look")
        return cls(wording, rules, text, seeing=seeing)

    def put_to(self, search: Search | SharedSearch, region: Region, *, k: int, look: str | None) -> Answer:
        """Get the answer; words go to the looks themselves where one encoder reads both.

        Names come first: a detector's "mug" is surer than the nearest of many look vectors.
        """
        if self.vector is not None:
            return search.by_vector(self.vector, region, asked=self.asked, accept=self.rules.look_accept, k=k)
        if self.text is None:
            if not isinstance(search, Search):
                raise InvalidValue("robots", "all", "needs a question", remedy="ask by text, image or embedding")
            return search.by_region(region, k=k)
        if look == self.wording.encoder.name:
            return self._by_looks(self.wording.encoder, search, region, k=k)
        known = self.wording.encoder.name.startswith("wordllama")
        accept = self.rules.wordllama_accept if known else self.rules.lexicon_accept
        answer = search.by_words(self.wording, self.text, region, accept=accept, k=k)
        if answer.status != "not_found" or self.seeing is None or look != self.seeing.name:
            return answer
        seen = self._by_looks(self.seeing, search, region, k=k)
        return answer if seen.status == "not_found" else seen

    def _by_looks(self, encoder: Encoder, search: Search | SharedSearch, region: Region, *, k: int) -> Answer:
        assert self.text is not None
        siglip = encoder.name.startswith("siglip2")
        accept = self.rules.siglip_accept if siglip else self.rules.shared_accept
        query = encoder.encode_text([self.text])[0]
        margin = self.rules.shared_margin
        return search.by_vector(query, region, asked=repr(self.text), accept=accept, k=k, margin=margin)


def _look_encoder(look: str | None, words: Encoder, seeing: Encoder | None) -> Encoder:
    if look in (None, ColorShapeEncoder.name):
        return ColorShapeEncoder()
    for encoder in (words, seeing):
        if encoder is not None and look == encoder.name:
            return encoder
    raise InvalidValue(
        "image",
        look,
        "is the look of this memory and its encoder is not open",
        remedy="encode the picture with it and ask by embedding=",
    )


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0.0:
        raise InvalidValue("embedding", vector, "has no direction", remedy="check the encoder")
    return vector / np.float32(length)
