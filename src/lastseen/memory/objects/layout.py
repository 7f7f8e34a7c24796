"""What a row of the object store holds: where each number stands, an object's states, and how ids are written."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Association
from lastseen.memory.objects.grid import Floats

RING = 32
"""Sightings per object that a loop closure can move: the last ones decide where it is now."""
EMPTY_POSES = 4
"""Camera places kept while an empty place is being looked at, to tell distinct views from one stare."""
CANNOT_LINK_SLOTS = 8
"""Neighbours kept per object that were seen beside it in one frame and therefore are not it."""
LEVEL_HALVES = (0.15, 0.5, 1.2, 3.0)
"""Half diagonal in metres up to which a thing stands on each grid level: cups, chairs, beds, what is larger."""
LARGEST_HALF = LEVEL_HALVES[-1]
SMALL_HALF = 0.15
"""Half size in metres up to which an observation is looked up without widening the search."""
MAX_SIGMA = 0.1
"""Metres of an observation's sigma that widen its gate at most; worse guesses are judged by appearance."""
ID_PREFIX = "obj-"
NO_EMBEDDINGS = np.empty((0, 0), dtype=np.float32)
"""Stands for the embeddings of a memory that has none."""


class Gate(NamedTuple):
    """The settings of association as compiled code takes them."""

    radius: float
    radius_growth: float
    spatial_weight: float
    threshold: float
    size_weight: float

    @classmethod
    def of(cls, rules: Association) -> Gate:
        """The gate of these settings."""
        return cls(*(getattr(rules, name) for name in cls._fields))


class Layout:
    """Named parts of a wide column: one place each, or several for a vector."""

    def __init__(self, **sizes: int) -> None:
        self.parts: dict[str, int | slice] = {}
        self.width = 0
        for name, size in sizes.items():
            self.parts[name] = self.width if size == 1 else slice(self.width, self.width + size)
            self.width += size

    def first(self, name: str) -> int:
        """Where a part begins."""
        part = self.parts[name]
        return part.start if isinstance(part, slice) else part


BODY = Layout(
    xyz=3, extent=3, points_origin=3, precision=1, spread=1, last_seen=1, reach=1, first_seen=1, missing_since=1
)
COUNTS = Layout(
    hits=1, ring_n=1, empty_views=1, n_bins=1, missed=1, emb_hits=1, gallery_n=1, n_points=1, surface_hits=1
)
GAUGES = Layout(stability=1, expected=1, detected=1, doubt=1, crop_quality=1, emb_norm=1)


class State(IntEnum):
    """The lifecycle state of an object; being stale is a matter of the time asked at, so it is not a state."""

    FREE = 0
    TENTATIVE = 1
    CONFIRMED = 2
    MISSING = 3
    REMOVED = 4

    @property
    def text(self) -> str:
        """The state as text."""
        return self.name.lower()


TENTATIVE, CONFIRMED, MISSING = State.TENTATIVE.value, State.CONFIRMED.value, State.MISSING.value
"""States as plain numbers: comparing a column with a member of an enumeration takes ten times as long."""


class FreeSpace(IntEnum):
    """Free-space evidence: what is known of an object's place before the object was first seen there.

    The column is called ``newness``, as in stored files.
    """

    UNKNOWN = 0
    UNNOTICED = 1
    """It was open to view, and nothing was detected."""
    OPEN = 2
    """It was so many times; of a tentative object only: a confirmed one is told from a piece of another."""
    FREE = 3
    """It was looked through, or open to view many times with nothing detected."""


class ObjectColumns(NamedTuple):
    """Columns of the store for compiled code; ``points`` are half-precision numbers by their bits."""

    seq: NDArray[np.int64]
    state: NDArray[np.uint8]
    body: Floats
    counts: NDArray[np.int32]
    gauges: NDArray[np.float32]
    bins: NDArray[np.bool_]
    points: NDArray[np.uint16]
    ring_frame: NDArray[np.int64]
    ring_place: NDArray[np.float32]
    empty_from: NDArray[np.float32]
    emb_mean: NDArray[np.float32]
    rivals: NDArray[np.int64]
    rival_hits: NDArray[np.int32]
    changed_at: NDArray[np.int64]


def id_text(number: int) -> str:
    """The id of an object as everyone outside writes it.

    >>> id_text(7)
    'obj-7'
    """
    return f"{ID_PREFIX}{number}"
