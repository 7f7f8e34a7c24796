"""How well objects fit a phrase: by name and colour, by appearance, or by both (docs/search.md).

A home holds few different labels, so meaning is compared once per label and not once per object: exact, and nearly
free whatever the size of memory. Colour is a matter of its own: "red mug" asks for a mug first, and a blue one does
not answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.colors import COLORS, NEARNESS, color_vector
from lastseen.encoders.words import Parsed, parse
from lastseen.memory.object import id_order
from lastseen.memory.store.table import ObjectTable
from lastseen.protocols import Encoder

_NEAREST_LABELS = 20
"""Labels that a phrase may mean: synonyms are few."""
_LEXICON_ACCEPT = 0.6
"""Score by name that is enough: between near twins (a cup for a mug, 0.75) and what merely shares a group (0.44)."""
_WORDLLAMA_ACCEPT = 0.42
"""The same with WordLlama: synonyms of household words lie above 0.45, unrelated ones below 0.35."""
EMBEDDING_ACCEPT = 0.8
"""Cosine of two views of one thing; different things of a kind lie below."""
MARGIN = 0.08
"""A runner-up this close in score fits as well: the answer is ambiguous."""
_UNKNOWN_COLOR = 0.8
"""Factor for a thing whose colour was never seen: it may be the one."""
_COLOR_SHARE = 0.27
"""A colour on a quarter of a thing is one that people may call it by: a plant's pot."""
_PARTIAL_COLOR = 0.85
"""Factor for such a part: enough to be found, less than a thing that is all of that colour."""
MOST_RANKED = 200
"""Objects that are ranked one by one: far more than an answer lists, few enough to sort at once."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rows of a table with their scores, best first (ties by id); a score from ``accept`` on fits.

    Scores within ``MARGIN`` are equally good. ``by_appearance`` are the rows that only their appearance lets fit.
    """

    rows: tuple[int, ...]
    scores: tuple[float, ...]
    accept: float
    by_appearance: frozenset[int] = frozenset()

    def pairs(self) -> list[tuple[int, float]]:
        """Rows with their scores."""
        return list(zip(self.rows, self.scores, strict=True))


class NameRanker:
    """Scores objects by their labels and colours; label vectors are kept, so that a label is encoded once."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.accept = _WORDLLAMA_ACCEPT if encoder.name.startswith("wordllama") else _LEXICON_ACCEPT
        self._known: dict[str, int] = {}
        self._vectors = np.zeros((0, encoder.dim), dtype=np.float32)
        self._label_colors = np.zeros((0, len(COLORS)), dtype=np.float32)

    def scores(self, table: ObjectTable, rows: NDArray[np.int64], phrase: Parsed) -> NDArray[np.float32]:
        """A score in 0 to 1 for each row; 0 for a row without a label, unless the phrase is a colour alone."""
        meaning = self.meaning(table, rows, phrase)
        if phrase.colors:
            # what means something else is out, whatever its colour
            meant = np.flatnonzero(meaning)
            meaning[meant] *= self.color(table, rows[meant], phrase)
        return meaning

    def meaning(self, table: ObjectTable, rows: NDArray[np.int64], phrase: Parsed) -> NDArray[np.float32]:
        """How near the rows' labels are to the words of the phrase, colours aside."""
        columns = table.columns
        if not phrase.words and phrase.colors:
            return np.ones(len(rows), dtype=np.float32)
        query = self.encoder.encode_text([phrase.plain or " ".join(phrase.words)])[0]
        numbers = self._numbers(table)
        similar = np.append(np.clip(self._vectors[numbers] @ query, 0.0, 1.0), 0.0).astype(np.float32)
        # an unlabelled slot is -1 and reads the 0 at the end
        return (similar[columns.labels[rows]] * columns.weights[rows]).max(axis=1, initial=0.0)

    def color(self, table: ObjectTable, rows: NDArray[np.int64], phrase: Parsed) -> NDArray[np.float32]:
        """How well the rows' colours fit those named, 0 to 1.

        A thing whose colour was never seen may be the one where a name speaks for it, and is none where only a
        colour was asked for.
        """
        # where no colour was seen the label may name one: that is the same for all of a label, and soon said
        numbers = self._numbers(table)
        of_labels = np.concatenate([self._label_colors[numbers], np.zeros((1, len(COLORS)), np.float32)])
        unseen = _UNKNOWN_COLOR if phrase.words else 0.0
        fit: NDArray[np.float32] = color_fit(of_labels, phrase.colors, unseen=unseen)[table.columns.labels[rows, 0]]
        shares = table.columns.colors[rows]
        seen = np.flatnonzero(shares.any(axis=1))
        fit[seen] = color_fit(shares[seen], phrase.colors, unseen=unseen)
        return fit

    def nearest_labels(self, labels: Sequence[str], *, phrase: Parsed) -> list[str]:
        """The labels nearest to the words of a phrase, nearest first, and no more than can be meant."""
        if not labels:
            return []
        vectors = self.encoder.encode_text([*labels, phrase.plain or " ".join(phrase.words)])
        scores = vectors[:-1] @ vectors[-1]
        best = sorted(range(len(labels)), key=lambda i: (-float(scores[i]), labels[i]))
        return [labels[i] for i in best[:_NEAREST_LABELS]]

    def comparable(self, phrase: Parsed, label: str | None, score: float) -> bool:
        """Whether a name speaks for or against an object: the encoder must know the phrase and the name."""
        if score > 0.0 or not phrase.words:
            return True
        return label is not None and self._knows(phrase.plain) and self._knows(label)

    def _knows(self, text: str) -> bool:
        from lastseen.encoders.lexicon import LexiconEncoder, classes_named

        # only the lexicon can tell; an encoder that was trained has a vector for everything
        return not isinstance(self.encoder, LexiconEncoder) or bool(classes_named(text))

    def _numbers(self, table: ObjectTable) -> NDArray[np.int64]:
        """For each label number of the table, its row in the kept vectors."""
        fresh = [name for name in table.label_names if name not in self._known]
        if fresh:
            phrases = [parse(name) for name in fresh]
            vectors = self.encoder.encode_text(
                [phrase.plain or name for phrase, name in zip(phrases, fresh, strict=True)]
            )
            colors = np.stack([color_vector(phrase.colors) for phrase in phrases])
            for name in fresh:
                self._known[name] = len(self._known)
            self._vectors = np.concatenate([self._vectors, vectors])
            self._label_colors = np.concatenate([self._label_colors, colors])
        return np.array([self._known[name] for name in table.label_names], dtype=np.int64)


def best_rows(table: ObjectTable, rows: NDArray[np.int64], scores: NDArray[np.float32]) -> dict[int, float]:
    """The best rows with their scores above 0, as many as are ranked one by one."""
    if len(rows) > MOST_RANKED:
        best = np.argpartition(-scores, MOST_RANKED)
        cut = scores[best[MOST_RANKED]]
        # all ties at the border stay, or the choice among them would depend on storage order
        keep = np.flatnonzero(scores > cut) if float(cut) > 0 else np.flatnonzero(scores > 0)
        if len(keep) < MOST_RANKED:
            tied = np.flatnonzero(scores == cut)
            order = sorted(tied.tolist(), key=lambda i: id_order(table.ids[int(rows[i])]))
            keep = np.concatenate([keep, np.array(order[: MOST_RANKED - len(keep)], dtype=np.int64)])
        rows, scores = rows[keep], scores[keep]
    return {row: score for row, score in zip(rows.tolist(), scores.tolist(), strict=True) if score > 0}


def fuse(
    names: Mapping[int, float], appearance: Mapping[int, float], *, named: Mapping[int, bool], accept: float
) -> dict[int, float]:
    """One score from two, both in 0 to 1 on one scale, by row: their mean.

    What cannot be known counts as just enough (``accept``): the name of a row that ``named`` says has none to
    compare, the appearance of one without an embedding. The other then decides whether it fits, and a thing that is
    both called and looks like what was asked for comes before one of which only one is known.
    """
    return {
        row: ((names.get(row, 0.0) if named[row] else accept) + appearance.get(row, accept)) / 2.0 for row in named
    }


def color_fit(
    shares: NDArray[np.float32], colors: Sequence[str], *, unseen: float = _UNKNOWN_COLOR
) -> NDArray[np.float32]:
    """How well shares of the basic colours, row by row, fit those that were named, 0 to 1.

    ``unseen`` is for rows without any colour, by default as for a thing that has a name.
    """
    named = color_vector(colors) > 0
    empty = shares.sum(axis=1) <= 0
    as_named = shares @ NEARNESS
    best = as_named.max(axis=1)
    whole = np.divide(as_named[:, named].min(axis=1), best, out=np.zeros_like(best), where=best > 0)
    part = np.minimum(shares[:, named].min(axis=1) / _COLOR_SHARE, 1.0) * _PARTIAL_COLOR
    fit = np.where(empty, unseen, np.maximum(whole, part))
    return fit.astype(np.float32)


def main_color(shares: NDArray[np.float32]) -> str | None:
    """The colour people would name first; None where none was seen."""
    top = int(shares.argmax())
    return COLORS[top] if shares[top] > 0 else None
