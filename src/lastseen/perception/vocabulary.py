"""Names from a list by appearance: an encoder of images and text picks the nearest name, or none that is sure.

The list is YAML that anyone can edit, of the plainest kind: ``names:`` and ``background:`` with a ``- name`` per
line, or ``- name`` lines alone. Anything else that YAML can do is refused with the line's number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.config.perception import Vocabulary as Rules
from lastseen.encoders.lexicon import confusable
from lastseen.errors import InvalidValue
from lastseen.protocols import Encoder

_SECTIONS = ("names", "background")
_ITEM = re.compile(
    r"""\s*-\s+(?:"(?P<double>[^"\\]*)"|'(?P<single>[^']*)'|(?P<plain>[^\s"'\[\]{}&*!|>%@`#,?-].*?))"""
)
_MOST = 5000
SHARPNESS = 100.0
"""CLIP's learned scale: it turns cosines into shares of belief among the names."""
CLIP_FLOOR = 0.2
"""CLIP's cosine of a picture and words that do not fit lies mostly below."""
SIGLIP_FLOOR = 0.05
"""The same for SigLIP."""
MIN_SHARE = 0.25
"""Belief in a name below which it is a guess."""
MIN_LEAD = 0.1
"""Belief by which a name must lead, unless people mix the next one up with it too."""
KEPT = 3
"""Names given at most: those after the third are noise to memory's vote."""


@dataclass(frozen=True, slots=True)
class WordList:
    """Names to choose from, and background: what is recognised in order not to be named."""

    names: tuple[str, ...]
    background: tuple[str, ...] = ()


def household_list() -> WordList:
    """The list that comes with lastseen."""
    return parse_words(household_text(), source="household.yaml")


@cache
def household_text() -> str:
    """The list that comes with lastseen, as it may be edited."""
    return (resources.files("lastseen.perception") / "household.yaml").read_text(encoding="utf-8")


def read_words(path: str | Path) -> WordList:
    """Read a list from a file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue("vocabulary", str(path), f"cannot be read ({error})", remedy="check the path") from error
    return parse_words(text, source=str(path))


def parse_words(text: str, *, source: str) -> WordList:
    """Read a list from text; names keep their order, and each comes once."""
    found: dict[str, list[str]] = {section: [] for section in _SECTIONS}
    section = "names"
    for number, line in enumerate(text.splitlines(), start=1):
        bare = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        if not bare.strip() or bare == "---":
            continue
        if bare.removesuffix(":") in _SECTIONS and bare.endswith(":"):
            section = bare.removesuffix(":")
            continue
        item = _ITEM.fullmatch(bare)
        name = "" if item is None else next(part for part in item.groups() if part is not None).strip()
        if not name or (item is not None and item["plain"] and re.search(r":(\s|$)", name)):
            raise InvalidValue(
                "vocabulary", line, f"is not a name (line {number} of {source})", remedy="write '- mug', one per line"
            )
        found[section].append(name)
    names, background = (tuple(dict.fromkeys(found[section])) for section in _SECTIONS)
    if not names or len(names) + len(background) > _MOST:
        raise InvalidValue(
            "vocabulary", source, f"has {len(names)} names", remedy=f"give 1 to {_MOST}, one '- name' per line"
        )
    both = sorted(set(names) & set(background))
    if both:
        raise InvalidValue("vocabulary", both[0], "is name and background", remedy=f"keep one of them in {source}")
    return WordList(names, background)


class Namer:
    """Names image embeddings by the nearest words of a list; the words are encoded once."""

    def __init__(self, encoder: Encoder, words: WordList | None = None, *, settings: Rules | None = None) -> None:
        self._rules = settings or Rules()
        if "{}" not in self._rules.template:
            raise InvalidValue("vocabulary.template", self._rules.template, "has no {}", remedy="'a photo of a {}'")
        self._words = words or household_list()
        self._count = len(self._words.names)
        prompts = [self._rules.template.replace("{}", name) for name in self._words.names + self._words.background]
        self._vectors = encoder.encode_text(prompts)
        siglip = encoder.name.startswith("siglip2")
        self._floor = SIGLIP_FLOOR if siglip else CLIP_FLOOR
        groups = [confusable().get(name, name) for name in self._words.names + self._words.background]
        self._group = np.unique(groups, return_inverse=True)[1].reshape(-1)

    def name(self, embeddings: Sequence[NDArray[np.float32]]) -> list[dict[str, float]]:
        """Names of each embedding with their shares of belief, best first; empty where no name is sure enough."""
        if not len(embeddings):
            return []
        cosines = np.stack(embeddings).astype(np.float64) @ self._vectors.T.astype(np.float64)
        belief = np.exp(SHARPNESS * (cosines - cosines.max(axis=1, keepdims=True)))
        belief /= belief.sum(axis=1, keepdims=True)
        return [self._judge(row, shares) for row, shares in zip(cosines, belief, strict=True)]

    def _judge(self, cosines: NDArray[np.float64], shares: NDArray[np.float64]) -> dict[str, float]:
        best = int(shares.argmax())
        alike = self._group == self._group[best]
        # names that people mix up stand together against the others
        together = float(shares[alike].sum())
        lead = together - float(np.max(shares, where=~alike, initial=0.0))
        if best >= self._count or cosines[best] < self._floor:
            return {}
        if together < MIN_SHARE or lead < MIN_LEAD:
            return {}
        order = np.argsort(-shares, kind="stable")[:KEPT].tolist()
        kept = [index for index in order if index < self._count]
        return {self._words.names[index]: min(float(shares[index]), 1.0) for index in kept if shares[index] >= 0.01}
