"""The columns of working memory: what a row holds, an object's states, how ids are written, and tables that grow.

Each column lies in its own anonymous private mapping. Growing remaps pages instead of copying rows (a fraction of a
millisecond at hundreds of megabytes), and pages that no row has touched cost nothing: what keeps a frame's time flat
while the memory gets larger.
"""

from __future__ import annotations

import math
import mmap
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lastseen.config import Settings
from lastseen.config.memory import Association
from lastseen.errors import InvalidValue

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

FIRST_CAPACITY = 256
"""Rows of an empty table: one page for most columns."""
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
TYPICAL_SIGMA = 0.02
"""Metres of noise that the setting ``position_ema`` is meant for; better observations weigh more."""
ID_PREFIX = "obj-"
NO_EMBEDDINGS = np.empty((0, 0), dtype=np.float32)
"""Stands for the embeddings of a memory that has none."""


Plain = tuple[Any, ...]
"""A named tuple without its name: it reaches compiled code in half the time, and gets its name back there."""


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


class UpdateRules(NamedTuple):
    """The settings of an update as compiled code takes them.

    ``max_precision`` is the inverse variance that a position can gather: at it, an observation of typical noise
    weighs ``position_ema``.
    """

    position_ema: float
    max_precision: float
    label_ewma: float
    azimuth_bins: int
    elevation_bins: int
    radius: float
    radius_growth: float

    @classmethod
    def of(cls, settings: Settings) -> UpdateRules:
        """The rules of these settings."""
        rules, views, gate = settings.lifecycle, settings.views, settings.association
        ema = rules.position_ema
        most = (1.0 - ema) / ema / TYPICAL_SIGMA**2 if ema else math.inf
        bins = views.azimuth_bins, views.elevation_bins
        return cls(ema, most, rules.label_ewma, *bins, gate.radius, gate.radius_growth)


class AbsenceRules(NamedTuple):
    """The settings of absence as compiled code takes them."""

    min_range: float
    max_range: float
    min_views: int
    chance: float
    missed_weight: float
    azimuth_bins: int
    elevation_bins: int
    remove_after: float
    radius: float

    @classmethod
    def of(cls, settings: Settings) -> AbsenceRules:
        """The rules of these settings."""
        absence, views = settings.absence, settings.views
        return cls(
            absence.min_range,
            absence.max_range,
            absence.min_views,
            absence.chance,
            absence.missed_detection_weight,
            views.azimuth_bins,
            views.elevation_bins,
            settings.lifecycle.remove_after,
            settings.association.radius,
        )


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
    xyz=3,
    extent=3,
    points_origin=3,
    precision=1,
    spread=1,
    last_seen=1,
    reach=1,
    first_seen=1,
    missing_since=1,
    yaw=1,
)
COUNTS = Layout(
    hits=1, ring_n=1, empty_views=1, n_bins=1, missed=1, emb_hits=1, gallery_n=1, n_points=1, surface_hits=1
)
GAUGES = Layout(
    stability=1,
    expected=1,
    detected=1,
    doubt=1,
    crop_quality=1,
    emb_norm=1,
    missed_evidence=1,
    missed_views=1,
    missed_from=3,
)


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
    """Free-space evidence: what is known of an object's place before the object was first seen there."""

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
    label_ids: NDArray[np.int32]
    label_scores: NDArray[np.float32]
    pinned: NDArray[np.bool_]
    points: NDArray[np.uint16]
    ring_frame: NDArray[np.int64]
    ring_place: NDArray[np.float32]
    empty_from: NDArray[np.float32]
    emb_mean: NDArray[np.float32]
    neighbours: NDArray[np.int64]
    neighbour_hits: NDArray[np.int32]
    changed_at: NDArray[np.int64]


def id_text(number: int) -> str:
    """The id of an object as everyone outside writes it.

    >>> id_text(7)
    'obj-7'
    """
    return f"{ID_PREFIX}{number}"


class Columns:
    """A table of named columns with one row per thing; new rows are zero.

    A column is an attribute of the same name. Growing replaces the attribute, so no view may be kept across it.
    """

    def __init__(self, capacity: int = FIRST_CAPACITY) -> None:
        self.capacity = capacity
        self._maps: dict[str, mmap.mmap] = {}
        self._specs: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}

    def add(self, name: str, dtype: DTypeLike, shape: tuple[int, ...] = ()) -> None:
        """Add a column of zeros."""
        if name in self._specs:
            raise InvalidValue("column", name, "exists", remedy="add each column once")
        self._specs[name] = (np.dtype(dtype), shape)
        self._maps[name] = _new_map(self._bytes(name, self.capacity))
        setattr(self, name, self._view(name))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in the order they were added."""
        return tuple(self._specs)

    def spec(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Type and row shape of a column."""
        return self._specs[name]

    def column(self, name: str) -> NDArray[Any]:
        """The live array of a column."""
        return getattr(self, name)

    def grow(self, capacity: int) -> None:
        """Make room for this many rows; a smaller number changes nothing."""
        if capacity <= self.capacity:
            return
        self.capacity = capacity
        for name in self._specs:
            # the mapping cannot move while an array looks at it
            setattr(self, name, None)
            self._maps[name] = _resized(self._maps[name], self._bytes(name, capacity))
            setattr(self, name, self._view(name))

    def _bytes(self, name: str, rows: int) -> int:
        dtype, shape = self._specs[name]
        return max(1, rows * dtype.itemsize * int(np.prod(shape, dtype=np.int64)))

    def _view(self, name: str) -> NDArray[Any]:
        dtype, shape = self._specs[name]
        count = self.capacity * int(np.prod(shape, dtype=np.int64))
        array: NDArray[Any] = np.frombuffer(self._maps[name], dtype=dtype, count=count)
        return array.reshape(self.capacity, *shape)


def _new_map(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _resized(old: mmap.mmap, size: int) -> mmap.mmap:
    try:
        old.resize(size)
    except (BufferError, SystemError):
        # a view is still held, or the platform cannot remap: copy once, the old pages go with their last view
        new = _new_map(size)
        new[: len(old)] = old[:]
        return new
    return old
