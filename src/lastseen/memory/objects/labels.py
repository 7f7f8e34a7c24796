"""What things may be called: label scores as a moving average, in a fixed number of slots per object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

LABEL_SLOTS = 8
"""Names kept per object: a detector that wavers between more than eight names knows none of them."""

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
