"""The working memory itself: one row per object, one column per fact, and a grid over their positions.

Rows are storage, not identity: a freed row is used again, an object is known by its number, and whatever depends on
an order is ordered by number. So a memory that was written down and restored goes on exactly as the first one.
"""

from __future__ import annotations

import math
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled
from lastseen.config import Settings
from lastseen.detection import best_label
from lastseen.errors import InvalidValue
from lastseen.memory.objects.columns import (
    BODY,
    CANNOT_LINK_SLOTS,
    COUNTS,
    EMPTY_POSES,
    FIRST_CAPACITY,
    GAUGES,
    ID_PREFIX,
    LARGEST_HALF,
    LEVEL_HALVES,
    MAX_SIGMA,
    NO_EMBEDDINGS,
    RING,
    SMALL_HALF,
    AbsenceRules,
    Columns,
    Floats,
    Gate,
    ObjectColumns,
    Rows,
    UpdateRules,
    id_text,
)
from lastseen.memory.objects.grid import HashGrid, key_of, move
from lastseen.memory.objects.labels import LABEL_SLOTS, LabelTable
from lastseen.observation import MAX_SURFACE_POINTS

_X, _WIDE, _REACH = BODY.first("xyz"), BODY.first("extent"), BODY.first("reach")


_COLUMNS = attrgetter(*("point_bits" if name == "points" else name for name in ObjectColumns._fields))
"""Gives the columns for compiled code at once: one by one takes longer."""


class ObjectStore(Columns):
    """Columns of every object, the grid over them and the numbers that lead to rows.

    What a sighting changes lies together in a few wide columns, so that a frame reads and writes each of them once;
    the narrow names are views into them. Names of columns are those of stored files and do not change.
    """

    seq: NDArray[np.int64]
    state: NDArray[np.uint8]
    body: Floats
    counts: NDArray[np.int32]
    gauges: NDArray[np.float32]
    bins: NDArray[np.bool_]
    label_ids: NDArray[np.int32]
    label_scores: NDArray[np.float32]
    points: NDArray[np.float16]
    empty_from: NDArray[np.float32]
    free_space: NDArray[np.uint8]
    pinned: NDArray[np.bool_]
    neighbours: NDArray[np.int64]
    neighbour_hits: NDArray[np.int32]
    ring_frame: NDArray[np.int64]
    ring_place: NDArray[np.float32]
    changed_at: NDArray[np.int64]
    emb_mean: NDArray[np.float32]
    gallery: NDArray[np.float16]

    xyz: Floats
    extent: Floats
    points_origin: Floats
    precision: Floats
    spread: Floats
    first_seen: Floats
    last_seen: Floats
    reach: Floats
    missing_since: Floats
    yaw: Floats
    hits: NDArray[np.int32]
    emb_hits: NDArray[np.int32]
    gallery_n: NDArray[np.int32]
    n_bins: NDArray[np.int32]
    n_points: NDArray[np.int32]
    surface_hits: NDArray[np.int32]
    ring_n: NDArray[np.int32]
    empty_views: NDArray[np.int32]
    missed: NDArray[np.int32]
    stability: NDArray[np.float32]
    expected: NDArray[np.float32]
    detected: NDArray[np.float32]
    doubt: NDArray[np.float32]
    crop_quality: NDArray[np.float32]
    emb_norm: NDArray[np.float32]
    missed_evidence: NDArray[np.float32]
    missed_views: NDArray[np.float32]
    missed_from: NDArray[np.float32]
    ring_camera: NDArray[np.float32]
    ring_world: NDArray[np.float32]
    point_bits: NDArray[np.uint16]

    def __init__(self, settings: Settings) -> None:
        super().__init__(FIRST_CAPACITY)
        self.settings = settings
        self.labels = LabelTable()
        self.dim: int | None = None
        self.next_seq = 1
        self.version = 0
        self.deleted: list[tuple[int, int]] = []
        self.exported = False
        self.row_of: dict[int, int] = {}
        self.used = 0
        self._free: list[int] = []
        self.emb_mean = NO_EMBEDDINGS
        association, views = settings.association, settings.views
        self.gate = Gate.of(association)
        self.update_rules, self.absence_rules = UpdateRules.of(settings), AbsenceRules.of(settings)
        self.grid = HashGrid(
            tuple(association.radius + half for half in LEVEL_HALVES),
            slack=association.radius_growth * MAX_SIGMA + SMALL_HALF,
        )
        for name, dtype, shape in (
            ("seq", np.int64, ()),
            ("state", np.uint8, ()),
            ("body", np.float64, (BODY.width,)),
            ("counts", np.int32, (COUNTS.width,)),
            ("gauges", np.float32, (GAUGES.width,)),
            ("bins", np.bool_, (views.azimuth_bins * views.elevation_bins,)),
            ("label_ids", np.int32, (LABEL_SLOTS,)),
            ("label_scores", np.float32, (LABEL_SLOTS,)),
            ("points", np.float16, (MAX_SURFACE_POINTS, 3)),
            ("empty_from", np.float32, (EMPTY_POSES, 3)),
            ("free_space", np.uint8, ()),
            ("pinned", np.bool_, ()),
            ("neighbours", np.int64, (CANNOT_LINK_SLOTS,)),
            ("neighbour_hits", np.int32, (CANNOT_LINK_SLOTS,)),
            ("ring_frame", np.int64, (RING,)),
            ("ring_place", np.float32, (RING, 6)),
            ("changed_at", np.int64, ()),
        ):
            self.add(name, dtype, shape)
        self._name_parts()

    @property
    def fields(self) -> tuple[str, ...]:
        """Every fact that is written down, by its narrow name."""
        parts = {"body": BODY.parts, "counts": COUNTS.parts, "gauges": GAUGES.parts}
        names: list[str] = []
        for name in self.names:
            names += parts.get(name, (name,))
        unwritten = {"changed_at"} | ({"gallery_n"} if self.dim is None else set())
        return tuple(name for name in names if name not in unwritten)

    def compiled_columns(self) -> ObjectColumns:
        """The columns that compiled code judges objects by; not to be kept, for growing replaces them."""
        return ObjectColumns._make(_COLUMNS(self))

    def grow(self, capacity: int) -> None:
        """Make room for this many rows."""
        for name in (*BODY.parts, *COUNTS.parts, *GAUGES.parts, "ring_camera", "ring_world", "point_bits"):
            # views of the old pages would keep them from being remapped
            setattr(self, name, None)
        super().grow(capacity)
        self.grid.grow(capacity)
        self._name_parts()

    def _name_parts(self) -> None:
        for wide, layout in (("body", BODY), ("counts", COUNTS), ("gauges", GAUGES)):
            for name, part in layout.parts.items():
                setattr(self, name, self.column(wide)[:, part])
        self.ring_camera, self.ring_world = self.ring_place[:, :, :3], self.ring_place[:, :, 3:]
        self.point_bits = self.points.view(np.uint16)

    def __len__(self) -> int:
        return len(self.row_of)

    def use_embeddings(self, dim: int) -> None:
        """Fix the length of embeddings; the first one met decides, and a different one later is refused."""
        if self.dim is None:
            self.dim = dim
            self.add("emb_mean", np.float32, (dim,))
            self.add("gallery", np.float16, (self.settings.lifecycle.gallery_size, dim))
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

    def allocate(self, count: int) -> Rows:
        """Rows for new objects, numbered in order; every column of them is zero except the number."""
        self.reserve(count)
        rows = self._allocate_rows(count)
        self.seq[rows] = np.arange(self.next_seq, self.next_seq + count)
        self.row_of.update(zip(range(self.next_seq, self.next_seq + count), rows.tolist(), strict=True))
        self.next_seq += count
        return rows

    def allocate_numbered(self, numbers: NDArray[np.int64]) -> Rows:
        """Rows for objects that have their numbers already, from a restored memory or an undone deletion."""
        self.reserve(len(numbers))
        rows = self._allocate_rows(len(numbers))
        self.seq[rows] = numbers
        self.row_of.update(zip(numbers.tolist(), rows.tolist(), strict=True))
        return rows

    def _allocate_rows(self, count: int) -> Rows:
        reused = self._free[-count:] if count else []
        del self._free[len(self._free) - len(reused) :]
        fresh = count - len(reused)
        rows = np.array([*reused, *range(self.used, self.used + fresh)], dtype=np.int64)
        self.used += fresh
        return rows

    def delete(self, row: int) -> None:
        """Delete an object: every column of its row becomes zero again."""
        number = int(self.seq[row])
        self.grid.remove(row)
        for name in self.names:
            self.column(name)[row] = 0
        del self.row_of[number]
        if self.exported:
            # else nobody holds a copy from which it would have to go
            self.deleted.append((self.version, number))
        self._free.append(row)

    def update_grid(self, rows: Rows) -> None:
        """Put objects where they now stand in the grid and mark them as changed."""
        rules, columns = self.settings.association, self.grid.columns
        self.mark_changed(rows)
        for row in rows.tolist():
            self.reach[row] = reach_of.py_func(self.body[row], rules.radius, rules.radius_growth)
            x, y, z = self.xyz[row].tolist()
            key = key_of(x, y, z, self.reach[row], columns.reaches, columns.cells)
            move(row, key, columns.heads, columns.cell, columns.after, columns.on_level)

    def fill_grid(self, rows: Rows) -> None:
        """Put many objects into the grid at once, into which nothing was put."""
        self.grid.fill(rows, self.xyz[rows], self.reach[rows])
        self.mark_changed(rows)

    def end_doubt(self, rows: Rows) -> None:
        """Take back all evidence that these objects are gone."""
        self.empty_views[rows] = 0
        self.doubt[rows] = self.missed_evidence[rows] = self.missed_views[rows] = 0.0

    def mark_changed(self, rows: Rows) -> None:
        """Note that these objects differ from what was last written down."""
        self.changed_at[rows] = self.version

    def live(self) -> Rows:
        """The rows in use, in the order of their numbers."""
        rows = np.flatnonzero(self.seq[: self.used])
        return rows[np.argsort(self.seq[rows])]

    def is_surface(self, rows: Rows | int) -> NDArray[np.bool_]:
        """Whether most sightings of objects were of a surface, row by row."""
        return 2 * self.surface_hits[rows] > self.hits[rows]

    def row(self, object_id: str) -> int:
        """The row of an id; an id that is not remembered raises."""
        text = object_id.removeprefix(ID_PREFIX)
        row = self.row_of.get(int(text)) if text.isdecimal() and text.isascii() else None
        if row is None or not object_id.startswith(ID_PREFIX):
            raise InvalidValue(
                "object_id", object_id, "is not remembered", remedy="see `lastseen objects` or memory.objects()"
            )
        return row

    def label(self, row: int) -> str | None:
        """The likeliest label of a row; ties go to the alphabetically first."""
        held = zip(self.label_ids[row].tolist(), self.label_scores[row].tolist(), strict=True)
        return best_label({self.labels.names[number]: score for number, score in held if number and score > 0.0})

    def id(self, row: int) -> str:
        """The id of a row's object."""
        return id_text(int(self.seq[row]))


@compiled
def reach_of(known: Floats, radius: float, growth: float) -> float:
    """How far from its centre a thing can be met, in metres; ``known`` is its row of ``body``."""
    size = known[_WIDE] ** 2 + known[_WIDE + 1] ** 2 + known[_WIDE + 2] ** 2
    return radius + min(0.5 * growth * math.sqrt(size), LARGEST_HALF)
