"""What one frame hands on: which object each observation became part of, and the pictures worth keeping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.layout import id_text


@dataclass(frozen=True, slots=True)
class Crop:
    """A picture of an object, handed on and not kept: better than those before it, or from a new side."""

    object_id: str
    frame_id: int
    stamp: float
    quality: float
    jpeg: bytes


CropSink = Callable[[Crop], None]


class Matched(NamedTuple):
    """Which objects the observations of one frame became part of, by number.

    ``numbers`` are those of the observations at ``given``; of the others of ``total`` nothing was remembered.
    ``successors`` leads from an object that ended in the same frame to the one it goes on as, or to None.
    """

    total: int
    given: NDArray[np.int64]
    numbers: NDArray[np.int64]
    successors: Mapping[int, int | None]

    def ids(self) -> tuple[str | None, ...]:
        """One id per observation, in the order in which they were given."""
        ids: list[str | None] = [None] * self.total
        for at, first in zip(self.given.tolist(), self.numbers.tolist(), strict=True):
            number: int | None = first
            while number is not None and number in self.successors:
                number = self.successors[number]
            ids[at] = None if number is None else id_text(number)
        return tuple(ids)


NOTHING_MATCHED = Matched(0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), {})
