"""How well objects fit a phrase: the meaning of their labels, and their colour where the phrase names one.

A home holds few different labels, so meaning is compared once per label and not once per object: exact, and nearly
free whatever the size of memory. Colour is a matter of its own: "red mug" asks for a mug first, and
a blue one does not answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastseen.config.store import Find
from lastseen.encoders.colors import COLORS, NEARNESS, color_vector
from lastseen.encoders.words import Parsed, parse
from lastseen.memory.store.table import ObjectTable
from lastseen.protocols import Encoder


class Wording:
    """Scores objects by words; label vectors are kept, so that a label is encoded once."""

    def __init__(self, encoder: Encoder, rules: Find) -> None:
        self.encoder = encoder
        self._rules = rules
        self._known: dict[str, int] = {}
        self._vectors = np.zeros((0, encoder.dim), dtype=np.float32)
        self._label_colors = np.zeros((0, len(COLORS)), dtype=np.float32)

    def scores(self, table: ObjectTable, rows: NDArray[np.int64], text: str) -> NDArray[np.float32]:
        """A score in 0 to 1 for each row; 0 for a row without a label, unless the phrase is a colour alone."""
        parsed = parse(text)
        meaning = self.meaning(table, rows, parsed)
        if parsed.colors:
            # what means something else is out, whatever its colour
            meant = np.flatnonzero(meaning)
            meaning[meant] *= self.color(table, rows[meant], parsed)
        return meaning

    def meaning(self, table: ObjectTable, rows: NDArray[np.int64], parsed: Parsed) -> NDArray[np.float32]:
        """How near the rows' labels are to the words of the phrase, colours aside."""
        columns = table.columns
        if not parsed.words and parsed.colors:
            return np.ones(len(rows), dtype=np.float32)
        query = self.encoder.encode_text([parsed.plain or " ".join(parsed.words)])[0]
        numbers = self._numbers(table)
        similar = np.append(np.clip(self._vectors[numbers] @ query, 0.0, 1.0), 0.0).astype(np.float32)
        # an unlabelled slot is -1 and reads the 0 at the end
        best: NDArray[np.float32] = (similar[columns.labels[rows]] * columns.weights[rows]).max(axis=1, initial=0.0)
        return best

    def color(self, table: ObjectTable, rows: NDArray[np.int64], parsed: Parsed) -> NDArray[np.float32]:
        """How well the rows' colours fit those named, 0 to 1; unseen colours get the benefit of the doubt."""
        # where no colour was seen the label may name one: that is the same for all of a label, and soon said
        of_labels = np.concatenate([self._label_colors[self._numbers(table)], np.zeros((1, len(COLORS)), np.float32)])
        fit: NDArray[np.float32] = color_fit(of_labels, parsed.colors, self._rules)[table.columns.labels[rows, 0]]
        shares = table.columns.colors[rows]
        seen = np.flatnonzero(shares.any(axis=1))
        fit[seen] = color_fit(shares[seen], parsed.colors, self._rules)
        return fit

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


def color_fit(shares: NDArray[np.float32], colors: Sequence[str], rules: Find) -> NDArray[np.float32]:
    """How well shares of the basic colours, row by row, fit those that were named, 0 to 1."""
    named = color_vector(colors) > 0
    unseen = shares.sum(axis=1) <= 0
    as_named = shares @ NEARNESS
    best = as_named.max(axis=1)
    whole = np.divide(as_named[:, named].min(axis=1), best, out=np.zeros_like(best), where=best > 0)
    part = np.minimum(shares[:, named].min(axis=1) / rules.color_share, 1.0) * rules.partial_color
    fit = np.where(unseen, rules.unknown_color, np.maximum(whole, part))
    return fit.astype(np.float32)


def main_color(shares: NDArray[np.float32]) -> str | None:
    """The colour people would name first; None where none was seen."""
    top = int(shares.argmax())
    return COLORS[top] if shares[top] > 0 else None
