"""The working memory itself: one row per object, one column per fact, and where each object stands.

Rows are storage, not identity: a freed row is used again, an object is known by its number, and whatever depends on
an order is ordered by number. So a memory that was written down and restored goes on exactly as the first one.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.objects.columns import FIRST_CAPACITY, Columns
from lastseen.memory.objects.grid import Floats, HashGrid, Rows
from lastseen.memory.objects.labels import LABEL_SLOTS, LabelTable
from lastseen.observation import MAX_SURFACE_POINTS

RING = 32
"""Sightings per object that a loop closure can move: the last ones decide where it is now."""
EMPTY_POSES = 4
"""Camera places kept while an empty place is being looked at, to tell distinct views from one stare."""
RIVALS = 8
"""Neighbours kept per object that were seen beside it in one frame and therefore are not it."""
LEVEL_HALVES = (0.1, 0.4, 1.0, 2.5)
"""Half size in metres up to which a thing stands on each level of the grid: cups, chairs, beds, what is larger."""
SMALL_HALF = 0.15
"""Half size in metres up to which an observation is looked up without widening the search."""
ID_PREFIX = "obj-"


class State(IntEnum):
    """Where an object is in its life; being stale is a matter of the time asked at, so it is not a state."""

    FREE = 0
    PROTO = 1
    CONFIRMED = 2
    MISSING = 3
    REMOVED = 4


class ObjectStore(Columns):
    """Columns of every object, the grid over them and the numbers that lead to rows."""

    seq: NDArray[np.int64]
    state: NDArray[np.uint8]
    xyz: Floats
    extent: Floats
    precision: Floats
    spread: Floats
    hits: NDArray[np.int32]
    first_seen: Floats
    last_seen: Floats
    stability: NDArray[np.float32]
    emb_hits: NDArray[np.int32]
    emb_mean: NDArray[np.float32]
    gallery: NDArray[np.float16]
    gallery_n: NDArray[np.uint8]
    bins: NDArray[np.bool_]
    n_bins: NDArray[np.int16]
    label_ids: NDArray[np.int32]
    label_scores: NDArray[np.float32]
    points: NDArray[np.float16]
    points_origin: Floats
    n_points: NDArray[np.int16]
    expected: NDArray[np.float32]
    detected: NDArray[np.float32]
    empty_views: NDArray[np.int16]
    empty_from: NDArray[np.float32]
    missing_since: Floats
    born_free: NDArray[np.bool_]
    rivals: NDArray[np.int64]
    rivals_n: NDArray[np.int32]
    ring_frame: NDArray[np.int64]
    ring_camera: NDArray[np.float32]
    ring_world: NDArray[np.float32]
    ring_n: NDArray[np.int32]
    crop_quality: NDArray[np.float32]
    changed_at: NDArray[np.int64]

    def __init__(self, settings: Settings) -> None:
        super().__init__(FIRST_CAPACITY)
        self.settings = settings
        self.labels = LabelTable()
        self.dim: int | None = None
        self.next_seq = 1
        association = settings.association
        growth = association.radius_growth
        self.grid = HashGrid(
            tuple(association.radius + half for half in LEVEL_HALVES),
            slack=growth * association.max_sigma + SMALL_HALF,
            capacity=self.capacity,
        )
        self.version = 0
        self.gone: list[tuple[int, int]] = []
        self.row_of: dict[int, int] = {}
        self._free: list[int] = []
        self.used = 0
        views = settings.views
        for name, dtype, shape in (
            ("seq", np.int64, ()),
            ("state", np.uint8, ()),
            ("xyz", np.float64, (3,)),
            ("extent", np.float64, (3,)),
            ("precision", np.float64, ()),
            ("spread", np.float64, ()),
            ("hits", np.int32, ()),
            ("first_seen", np.float64, ()),
            ("last_seen", np.float64, ()),
            ("stability", np.float32, ()),
            ("emb_hits", np.int32, ()),
            ("bins", np.bool_, (views.azimuth_bins * views.elevation_bins,)),
            ("n_bins", np.int16, ()),
            ("label_ids", np.int32, (LABEL_SLOTS,)),
            ("label_scores", np.float32, (LABEL_SLOTS,)),
            ("points", np.float16, (MAX_SURFACE_POINTS, 3)),
            ("points_origin", np.float64, (3,)),
            ("n_points", np.int16, ()),
            ("expected", np.float32, ()),
            ("detected", np.float32, ()),
            ("empty_views", np.int16, ()),
            ("empty_from", np.float32, (EMPTY_POSES, 3)),
            ("missing_since", np.float64, ()),
            ("born_free", np.bool_, ()),
            ("rivals", np.int64, (RIVALS,)),
            ("rivals_n", np.int32, ()),
            ("ring_frame", np.int64, (RING,)),
            ("ring_camera", np.float32, (RING, 3)),
            ("ring_world", np.float32, (RING, 3)),
            ("ring_n", np.int32, ()),
            ("crop_quality", np.float32, ()),
            ("changed_at", np.int64, ()),
        ):
            self.add(name, dtype, shape)

    def __len__(self) -> int:
        return len(self.row_of)

    def use_embeddings(self, dim: int) -> None:
        """Fix the length of embeddings; the first one met decides, and a different one later is refused."""
        if self.dim is None:
            self.dim = dim
            self.add("emb_mean", np.float32, (dim,))
            self.add("gallery", np.float16, (self.settings.lifecycle.gallery_size, dim))
            self.add("gallery_n", np.uint8)
        elif self.dim != dim:
            raise InvalidValue(
                "observation.embedding",
                dim,
                f"has another length than the {self.dim} of this memory",
                remedy="use one encoder per memory",
            )

    def reserve(self, count: int) -> None:
        """Make sure that this many rows can be taken without growing."""
        if len(self._free) + self.capacity - self.used >= count:
            return
        self.grow(max(self.capacity * 2, self.capacity + count))
        self.grid.grow(self.capacity)

    def take(self, count: int) -> Rows:
        """Rows for new objects, numbered in order; every column of them is zero except the number."""
        self.reserve(count)
        rows = self._take_rows(count)
        self.seq[rows] = np.arange(self.next_seq, self.next_seq + count)
        self.row_of.update(zip(range(self.next_seq, self.next_seq + count), rows.tolist(), strict=True))
        self.next_seq += count
        return rows

    def take_numbered(self, numbers: NDArray[np.int64]) -> Rows:
        """Rows for objects that have their numbers already, from a restored memory or an undone deletion."""
        self.reserve(len(numbers))
        rows = self._take_rows(len(numbers))
        self.seq[rows] = numbers
        self.row_of.update(zip(numbers.tolist(), rows.tolist(), strict=True))
        return rows

    def _take_rows(self, count: int) -> Rows:
        reused = self._free[-count:] if count else []
        del self._free[len(self._free) - len(reused) :]
        fresh = count - len(reused)
        rows = np.array([*reused, *range(self.used, self.used + fresh)], dtype=np.int64)
        self.used += fresh
        return rows

    def drop(self, row: int) -> None:
        """Delete an object: every column of its row becomes zero again."""
        number = int(self.seq[row])
        self.grid.remove(row)
        for name in self.names:
            self.column(name)[row] = 0
        del self.row_of[number]
        self.gone.append((self.version, number))
        self._free.append(row)

    def settle(self, rows: Rows) -> None:
        """Put objects where they now stand in the grid and mark them as changed."""
        if len(rows):
            self.grid.place(rows, self.grid.keys_of(self.xyz[rows], self.reach(rows)))
            self.touch(rows)

    def touch(self, rows: Rows) -> None:
        """Note that these objects differ from what was last written down."""
        self.changed_at[rows] = self.version

    def reach(self, rows: Rows) -> Floats:
        """How far from its centre an object can be met, in metres."""
        association = self.settings.association
        half = 0.5 * self.extent[rows].max(axis=1)
        reach: Floats = association.radius + np.minimum(association.radius_growth * half, LEVEL_HALVES[-1])
        return reach

    def live(self) -> Rows:
        """The rows in use, in the order of their numbers."""
        rows = np.flatnonzero(self.seq[: self.used])
        return rows[np.argsort(self.seq[rows])]

    def row(self, object_id: str) -> int:
        """The row of an id; an id that is not remembered raises."""
        text = object_id.removeprefix(ID_PREFIX)
        row = self.row_of.get(int(text)) if text.isdecimal() and text.isascii() else None
        if row is None or not object_id.startswith(ID_PREFIX):
            raise InvalidValue("object_id", object_id, "is not remembered", remedy="see memory.objects()")
        return row

    def id(self, row: int) -> str:
        """The id of a row's object."""
        return id_text(int(self.seq[row]))


def id_text(number: int) -> str:
    """The id of an object as everyone outside writes it.

    >>> id_text(7)
    'obj-7'
    """
    return f"{ID_PREFIX}{number}"
