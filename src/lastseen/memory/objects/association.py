"""Which observation is which object: position, size and appearance decide, for all observations of a frame together.

A pair must pass the gate (the part of the distance that the difference in size does not explain is within the
radius), then ``score = alpha * spatial + (1 - alpha) * appearance`` must pass the threshold, and among the pairs that
do, the one-to-one assignment with the highest sum wins. Pairs outside every gate cannot be assigned, so one optimal
assignment over the frame is the optimal assignment inside each gated cluster. Labels play no part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, dot
from lastseen.memory.objects.appearance import SAME_APPEARANCE
from lastseen.memory.objects.batch import Batch, SeenColumns
from lastseen.memory.objects.boxes import sides, turned
from lastseen.memory.objects.columns import (
    BODY,
    CONFIRMED,
    COUNTS,
    GAUGES,
    LARGEST_HALF,
    MAX_SIGMA,
    SMALL_HALF,
    Floats,
    Gate,
    Plain,
    Rows,
)
from lastseen.memory.objects.grid import GridColumns, near
from lastseen.memory.objects.store import ObjectStore

WIDE = 0.9
"""Metres of an observation's half size that widen its search: a whole sofa finds the piece of it seen before."""
UNKNOWN_APPEARANCE = 0.9
"""Appearance score of a pair without embeddings: place and size then have to agree a little better than they would
between equal embeddings."""
CUT_AGREEMENT = 0.5
"""Sizes agree at least this much when the image cuts the observation off: how large it is was not seen."""
CUT_SLACK = 0.05
"""Metres that a cut-off observation smaller than an object may reach out of its box and still be a sliver of it,
whose appearance is not known."""
SEVERAL_TIMES = 4.0
"""Ratio of two volumes from which a box that holds another is a different thing: a table and what stands on it."""
KNOWN_HITS = 4
"""Observations from which an object's box is known well enough for that; a first piece of a thing may be any part."""
SIZE_TOLERANCE = 0.2
"""Metres added to sizes before they are compared: views are partial, and noise of poses blurs boxes."""
_X, _WIDE_X, _REACH, _YAW = BODY.first("xyz"), BODY.first("extent"), BODY.first("reach"), BODY.first("yaw")
Seen = tuple[tuple[float, float, float], tuple[float, float, float]]
"""Offset and size of an observation along the axes of an object's box."""
_HITS, _SURFACE_HITS = COUNTS.first("hits"), COUNTS.first("surface_hits")
_EMB_HITS, _EMB_NORM = COUNTS.first("emb_hits"), GAUGES.first("emb_norm")


class KnownColumns(NamedTuple):
    """What association reads of the objects: few columns, for each takes time on its way to compiled code."""

    state: NDArray[np.uint8]
    body: Floats
    counts: NDArray[np.int32]
    gauges: NDArray[np.float32]
    emb_mean: NDArray[np.float32]


_NO_ROWS, _NO_SCORES = np.empty(0, dtype=np.int64), np.empty(0)


@dataclass(slots=True)
class Pairs:
    """Gated pairs of one frame, in no order; ``cosine`` is NaN where an embedding is unknown or could not decide."""

    index: NDArray[np.int64]
    rows: Rows
    score: Floats
    cosine: Floats


def associate(store: ObjectStore, batch: Batch) -> tuple[Pairs, Rows]:
    """The pairs of an observation and an object near enough to be one, and the row matched to each observation.

    The row is -1 where an observation is something new.
    """
    matched = np.full(len(batch), -1, dtype=np.int64)
    if not len(store):
        return Pairs(_NO_ROWS, _NO_ROWS, _NO_SCORES, _NO_SCORES), matched
    known = tuple(KnownColumns(store.state, store.body, store.counts, store.gauges, store.emb_mean))
    seen, grid, gate = tuple(batch.columns), store.grid, tuple(store.gate)
    while True:
        index, rows = np.empty((2, grid.room), dtype=np.int64)
        score, cosine = np.empty((2, grid.room))
        passing = np.empty(grid.room, dtype=np.bool_)
        found = index, rows, score, cosine, passing
        close_by, count, alone = _associate(*found, matched, seen, known, tuple(grid.columns), gate)
        if close_by <= grid.room:
            break
        grid.room = 2 * close_by
    pairs = Pairs(index[:count], rows[:count], score[:count], cosine[:count])
    if not alone:
        match_best(pairs, passing[:count], store, matched)
    return pairs, matched


@compiled
def _associate(
    index: Rows,
    rows: Rows,
    score: Floats,
    cosine: Floats,
    passing: NDArray[np.bool_],
    matched: Rows,
    seen_columns: Plain,
    known_columns: Plain,
    grid_columns: Plain,
    gate: Plain,
) -> tuple[int, int, bool]:
    """Fill the gated pairs with their scores, and match those that pass.

    Returns how many objects are close by (more than there is room for: nothing was done), how many of these pairs are
    gated, and whether no observation and no object is in two that pass: then ``matched`` is the best matching.
    """
    seen, objects = SeenColumns(*seen_columns), KnownColumns(*known_columns)
    grid, rules = GridColumns(*grid_columns), Gate(*gate)
    widen = np.zeros(len(seen.xyz))
    for one in range(len(widen)):
        size = max(seen.extent[one, 0], seen.extent[one, 1], seen.extent[one, 2])
        if rules.radius_growth * size > 2.0 * SMALL_HALF:
            widen[one] = WIDE
    close_by = near(seen.xyz, widen, grid, index, rows)
    if close_by > len(rows):
        return close_by, 0, True
    count = 0
    for at in range(close_by):
        one, row = index[at], rows[at]
        place = in_box(seen.xyz[one], seen.extent[one], seen.yaw[one], objects.body[row])
        spatial = agree_in_space(place, seen.sigma[one], seen.cut[one], objects.body[row], rules)
        if not spatial > 0.0:
            continue
        times = _times_as_large(place, objects.body[row])
        if times > SEVERAL_TIMES and objects.counts[row, _HITS] >= KNOWN_HITS:
            continue
        # a cup is no piece of the table top it stands on, nor a cabinet the floor it stands on
        surface = 2 * objects.counts[row, _SURFACE_HITS] > objects.counts[row, _HITS]
        if seen.surface[one] != surface and not _alike_in_size(place, objects.body[row]):
            continue
        appearance, alike = 1.0, np.nan
        # where even an equal embedding would not do, none is compared
        if rules.spatial_weight * spatial + (1.0 - rules.spatial_weight) > rules.threshold:
            length = objects.gauges[row, _EMB_NORM]
            if seen.has_embedding[one] and objects.counts[row, _EMB_HITS] > 0 and length > 0.0:
                alike = min(max(dot(objects.emb_mean[row], seen.embeddings[one]) / np.float64(length), -1.0), 1.0)
                appearance = 0.5 + 0.5 * alike
            else:
                appearance = UNKNOWN_APPEARANCE
        sliver = seen.cut[one] and _is_sliver(place, objects.body[row])
        if appearance < UNKNOWN_APPEARANCE and sliver:
            appearance = UNKNOWN_APPEARANCE
        index[count], rows[count], cosine[count] = one, row, alike
        score[count] = rules.spatial_weight * spatial + (1.0 - rules.spatial_weight) * appearance
        count += 1
    alone = True
    for at in range(count):
        # what was seen to be gone comes back by its appearance, not by something else standing there
        gone = objects.state[rows[at]] > CONFIRMED and cosine[at] < SAME_APPEARANCE
        passing[at] = score[at] > rules.threshold and not gone
        if passing[at] and alone:
            alone = matched[index[at]] < 0
            for other in matched:
                alone = alone and other != rows[at]
            matched[index[at]] = rows[at]
    return close_by, count, alone


@compiled
def in_box(xyz: Floats, extent: Floats, yaw: float, known: Floats) -> Seen:
    """An observation's offset from an object and its size, both along the axes of the object's box."""
    x, y = turned(xyz[0] - known[_X], xyz[1] - known[_X + 1], known[_YAW])
    wide, deep = sides(extent[0], extent[1], yaw - known[_YAW])
    return (x, y, xyz[2] - known[_X + 2]), (wide, deep, extent[2])


@compiled
def agree_in_space(place: Seen, sigma: float, cut: bool, known: Floats, rules: Gate) -> float:
    """How well places and sizes agree, up to 1; 0 or less is outside the gate.

    ``place`` is the observation by ``in_box``, ``known`` the object's row of ``body``. A part of a thing has its
    centre away from the thing's, by up to half the difference in size: that much of the offset is explained. With
    ``radius_growth`` and ``size_weight`` 0 this is 1 - distance / radius.
    """
    offset, extent = place
    away = size = 0.0
    for axis in range(3):
        away += offset[axis] ** 2
        size += extent[axis] ** 2
    # farther apart than their sizes explain: most of what the cells hold goes here, before anything costs more
    far = (
        min(0.5 * rules.radius_growth * math.sqrt(size), LARGEST_HALF)
        + rules.radius_growth * MAX_SIGMA
        + known[_REACH]
    )
    if away >= far * far:
        return 0.0
    apart, agreement = 0.0, 1.0
    for axis in range(3):
        larger = known[_WIDE_X + axis] - extent[axis]
        # an object's own size widens its search without limit, an observation's only so far
        explained = max(larger, min(-larger, 2.0 * WIDE)) * (0.5 * min(rules.radius_growth, 1.0))
        apart += max(abs(offset[axis]) - explained, 0.0) ** 2
        agreement *= ratio(extent[axis], known[_WIDE_X + axis])
    agreement = float(np.cbrt(agreement))
    if cut:
        agreement = max(agreement, CUT_AGREEMENT)
    radius = rules.radius + rules.radius_growth * min(sigma, MAX_SIGMA)
    closeness = 1.0 - math.sqrt(apart) / radius
    return closeness * (1.0 - rules.size_weight * (1.0 - agreement))


@compiled
def _is_sliver(place: Seen, known: Floats) -> bool:
    """Whether what the image cuts off lies in a larger thing's box: it does not show how the thing looks."""
    offset, extent = place
    largest = -np.inf
    for axis in range(3):
        room = 0.5 * (known[_WIDE_X + axis] - extent[axis])
        if abs(offset[axis]) > room + CUT_SLACK:
            return False
        largest = max(largest, room)
    return largest >= CUT_SLACK


@compiled
def _times_as_large(place: Seen, known: Floats) -> float:
    """The volume of an observation's box to that of an object's; noise is added to both sizes."""
    volume = held = 1.0
    for axis in range(3):
        volume *= place[1][axis] + 0.5 * SIZE_TOLERANCE
        held *= known[_WIDE_X + axis] + 0.5 * SIZE_TOLERANCE
    return volume / held


@compiled
def _alike_in_size(place: Seen, known: Floats) -> bool:
    """Whether no side of an observation's box is over twice as long as that of an object's, or under half."""
    least = 1.0
    for axis in range(3):
        least = min(least, ratio(place[1][axis], known[_WIDE_X + axis]))
    return least >= 0.5


@compiled
def ratio(one: float, other: float) -> float:
    """The smaller of two sizes to the larger."""
    return (min(one, other) + SIZE_TOLERANCE) / (max(one, other) + SIZE_TOLERANCE)


def match_best(pairs: Pairs, passing: NDArray[np.bool_], store: ObjectStore, matched: Rows) -> None:
    """The one-to-one matching of the passing pairs with the highest sum of scores."""
    index, rows = pairs.index[passing], pairs.rows[passing]
    # columns by object number, so that ties do not depend on where rows lie
    row_of = np.array([row for _, row in sorted(set(zip(store.seq[rows].tolist(), rows.tolist(), strict=True)))])
    column = {row: place for place, row in enumerate(row_of.tolist())}
    gain = np.zeros((len(matched), len(row_of)))
    gain[index, [column[row] for row in rows.tolist()]] = pairs.score[passing] - store.settings.association.threshold
    from scipy.optimize import linear_sum_assignment

    who, what = linear_sum_assignment(gain, maximize=True)
    real = gain[who, what] > 0.0
    matched[:] = -1
    matched[who[real]] = row_of[what[real]]


def size_agreement(extent: Floats, others: Floats) -> Floats:
    """1 for equal sizes, toward 0 the more they differ: the geometric mean over the axes of smaller to larger."""
    smaller, larger = np.minimum(extent, others), np.maximum(extent, others)
    return np.cbrt(((smaller + SIZE_TOLERANCE) / (larger + SIZE_TOLERANCE)).prod(axis=-1))
