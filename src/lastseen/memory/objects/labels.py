"""Labels: a table of names, and label scores as a moving average in a fixed number of slots per object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled

LABEL_SLOTS = 8
"""Names kept per object: a detector that wavers between more than eight names knows none of them."""

MOST_UNUSED = 4096
"""Names after which those that no object has are dropped: a detector of any vocabulary cannot fill the memory."""

Ids = NDArray[np.int32]
Scores = NDArray[np.float32]


class LabelTable:
    """Every label met as a small number; 0 is no label, numbers follow the order of first appearance.

    A label that was forgotten leaves a blank, and its number goes to the next new one.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = ["", *names]
        self._ids = {name: number for number, name in enumerate(self.names) if name}
        self._seen: dict[str, int] = {}

    def id_of(self, label: str) -> int:
        """The number of a label, given to it now if it is new; case and spaces around it do not count."""
        number = self._seen.get(label)
        if number is None:
            name = normal(label)
            number = self._ids.get(name)
            if number is None:
                number = self._new_number()
                self._ids[name], self.names[number] = number, name
            if len(self._seen) > 4 * MOST_UNUSED:
                self._seen.clear()
            self._seen[label] = number
        return number

    def ids_of(self, labels: Iterable[str]) -> list[int]:
        """The numbers of several labels."""
        seen = self._seen.get
        return [seen(label) or self.id_of(label) for label in labels]

    def find(self, label: str) -> int | None:
        """The number of a label met before."""
        return self._ids.get(normal(label))

    def keep(self, numbers: Set[int]) -> frozenset[str]:
        """Forget every label but these; returns the forgotten ones."""
        forgotten = frozenset(name for name, number in self._ids.items() if number not in numbers)
        for name in forgotten:
            self.names[self._ids.pop(name)] = ""
        self._seen.clear()
        return forgotten

    def _new_number(self) -> int:
        if len(self._ids) < len(self.names) - 1:
            return self.names.index("", 1)
        self.names.append("")
        return len(self.names) - 1


def normal(label: str) -> str:
    """The form in which labels are compared and kept."""
    return " ".join(label.split()).casefold()


def ranked(labels: Mapping[str, float]) -> list[tuple[str, float]]:
    """Label scores, best first, ties by name; at most as many as an object keeps."""
    if len(labels) < 2:
        return list(labels.items())
    return sorted(labels.items(), key=lambda item: (-item[1], item[0]))[:LABEL_SLOTS]


@compiled
def blend(
    ids: NDArray[np.int32],
    scores: NDArray[np.float32],
    new_ids: NDArray[np.int32],
    new_scores: NDArray[np.float32],
    weight: float,
) -> None:
    """Move an object's label scores toward those of one observation, in place; without a new label they stay.

    A label that finds no slot takes the weakest one when it is stronger.
    """
    named = False
    for at in range(len(new_ids)):
        named = named or new_ids[at] != 0
    if not named:
        return
    for slot in range(len(ids)):
        scores[slot] *= np.float32(1.0 - weight)
    for at in range(len(new_ids)):
        if new_ids[at] == 0:
            continue
        share = np.float32(weight) * new_scores[at]
        weakest = 0
        for slot in range(len(ids)):
            if ids[slot] == new_ids[at]:
                scores[slot] += share
                break
            if scores[slot] < scores[weakest]:
                weakest = slot
        else:
            if share > scores[weakest]:
                ids[weakest], scores[weakest] = new_ids[at], share
