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

from lastseen.memory.objects.appearance import SAME_APPEARANCE
from lastseen.memory.objects.batch import Batch, SeenColumns
from lastseen.memory.objects.compiled import compiled, dot
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.layout import (
    BODY,
    CONFIRMED,
    COUNTS,
    GAUGES,
    LARGEST_HALF,
    MAX_SIGMA,
    NO_EMBEDDINGS,
    SMALL_HALF,
    Gate,
)
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
_X, _WIDE_X, _REACH = BODY.first("xyz"), BODY.first("extent"), BODY.first("reach")
_HITS = COUNTS.first("hits")
_EMB_HITS, _EMB_NORM = COUNTS.first("emb_hits"), GAUGES.first("emb_norm")


class KnownColumns(NamedTuple):
    """What association reads of the objects: few columns, for each takes time on its way to compiled code."""

    body: Floats
    counts: NDArray[np.int32]
    gauges: NDArray[np.float32]
    emb_mean: NDArray[np.float32]


def _known(store: ObjectStore) -> KnownColumns:
    means = NO_EMBEDDINGS if store.dim is None else store.emb_mean
    return KnownColumns(store.body, store.counts, store.gauges, means)


_NO_ROWS, _NO_SCORES = np.empty(0, dtype=np.int64), np.empty(0)


@dataclass(slots=True)
class Pairs:
    """Gated pairs of one frame, in no order; ``cosine`` is NaN where an embedding is unknown or could not decide."""

    index: NDArray[np.int64]
    rows: Rows
    score: Floats
    cosine: Floats


def gated_pairs(store: ObjectStore, batch: Batch) -> Pairs:
    """Every pair of an observation and an object near enough to be the same thing."""
    if not len(store):
        return Pairs(_NO_ROWS, _NO_ROWS, _NO_SCORES, _NO_SCORES)
    index, rows = store.grid.near(batch.xyz, _widening(batch.extent, store.gate.radius_growth))
    score, cosine = np.empty(len(rows)), np.empty(len(rows))
    count = _score(index, rows, score, cosine, batch.columns, _known(store), store.gate)
    return Pairs(index[:count], rows[:count], score[:count], cosine[:count])


@compiled
def _score(
    index: Rows, rows: Rows, score: Floats, cosine: Floats, seen: SeenColumns, objects: KnownColumns, rules: Gate
) -> int:
    """Leave the gated ones of all pairs, in place and in their order, with their scores; returns how many."""
    kept = 0
    for at in range(len(rows)):
        one, row = index[at], rows[at]
        spatial = agree_in_space(seen.xyz, seen.extent, one, seen.sigma[one], seen.cut[one], objects.body, row, rules)
        if not spatial > 0.0 or (
            objects.counts[row, _HITS] >= KNOWN_HITS and _is_several_times(seen.extent, one, objects.body, row)
        ):
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
        sliver = seen.cut[one] and _is_sliver(seen.xyz, seen.extent, one, objects.body, row)
        if appearance < UNKNOWN_APPEARANCE and sliver:
            appearance = UNKNOWN_APPEARANCE
        index[kept], rows[kept], cosine[kept] = one, row, alike
        score[kept] = rules.spatial_weight * spatial + (1.0 - rules.spatial_weight) * appearance
        kept += 1
    return kept


@compiled
def agree_in_space(
    xyz: Floats, extent: Floats, seen: int, sigma: float, cut: bool, body: Floats, row: int, rules: Gate
) -> float:
    """How well places and sizes agree, up to 1; 0 or less is outside the gate.

    A part of a thing has its centre away from the thing's, by up to half the difference in size: that much of the
    offset is explained. With ``radius_growth`` and ``size_weight`` 0 this is 1 - distance / radius.
    """
    away = size = 0.0
    for axis in range(3):
        away += (xyz[seen, axis] - body[row, _X + axis]) ** 2
        size += extent[seen, axis] ** 2
    # farther apart than their sizes explain: most of what the cells hold goes here, before anything costs more
    far = (
        min(0.5 * rules.radius_growth * math.sqrt(size), LARGEST_HALF)
        + rules.radius_growth * MAX_SIGMA
        + body[row, _REACH]
    )
    if away >= far * far:
        return 0.0
    apart, agreement = 0.0, 1.0
    for axis in range(3):
        larger = body[row, _WIDE_X + axis] - extent[seen, axis]
        # an object's own size widens its search without limit, an observation's only so far
        explained = max(larger, min(-larger, 2.0 * WIDE)) * (0.5 * min(rules.radius_growth, 1.0))
        apart += max(abs(xyz[seen, axis] - body[row, _X + axis]) - explained, 0.0) ** 2
        agreement *= ratio(extent[seen, axis], body[row, _WIDE_X + axis])
    agreement = float(np.cbrt(agreement))
    if cut:
        agreement = max(agreement, CUT_AGREEMENT)
    radius = rules.radius + rules.radius_growth * min(sigma, MAX_SIGMA)
    closeness = 1.0 - math.sqrt(apart) / radius
    return closeness * (1.0 - rules.size_weight * (1.0 - agreement))


@compiled
def _is_sliver(xyz: Floats, extent: Floats, seen: int, body: Floats, row: int) -> bool:
    """Whether what the image cuts off lies in a larger thing's box: it does not show how the thing looks."""
    largest = -np.inf
    for axis in range(3):
        room = 0.5 * (body[row, _WIDE_X + axis] - extent[seen, axis])
        if abs(xyz[seen, axis] - body[row, _X + axis]) > room + CUT_SLACK:
            return False
        largest = max(largest, room)
    return largest >= CUT_SLACK


@compiled
def _is_several_times(extent: Floats, seen: int, body: Floats, row: int) -> bool:
    """Whether an observation's box has several times the volume of an object's; noise is added to both sizes."""
    volume = known = 1.0
    for axis in range(3):
        volume *= extent[seen, axis] + 0.5 * SIZE_TOLERANCE
        known *= body[row, _WIDE_X + axis] + 0.5 * SIZE_TOLERANCE
    return volume > SEVERAL_TIMES * known


@compiled
def ratio(one: float, other: float) -> float:
    """The smaller of two sizes to the larger."""
    return (min(one, other) + SIZE_TOLERANCE) / (max(one, other) + SIZE_TOLERANCE)


def assign(pairs: Pairs, store: ObjectStore, count: int) -> Rows:
    """The row matched to each of ``count`` observations, -1 where it is something new."""
    threshold = store.settings.association.threshold
    matched = np.full(count, -1, dtype=np.int64)
    if not len(pairs.rows):
        return matched
    passing = np.empty(len(pairs.rows), dtype=np.bool_)
    found = pairs.index, pairs.rows, pairs.score, pairs.cosine
    if not _match(*found, store.state, threshold, passing, matched):
        _match_best(pairs, passing, store, matched)
    return matched


@compiled
def _match(
    index: Rows,
    rows: Rows,
    score: Floats,
    cosine: Floats,
    state: NDArray[np.uint8],
    threshold: float,
    passing: NDArray[np.bool_],
    matched: Rows,
) -> bool:
    """Mark the pairs that pass, and match them; false where an observation or an object is in two of them."""
    alone = True
    for at in range(len(rows)):
        # what was seen to be gone comes back by its appearance, not by something else standing there
        passing[at] = score[at] > threshold and not (state[rows[at]] > CONFIRMED and cosine[at] < SAME_APPEARANCE)
        if passing[at] and alone:
            alone = matched[index[at]] < 0
            for other in matched:
                alone = alone and other != rows[at]
            matched[index[at]] = rows[at]
    return alone


def _match_best(pairs: Pairs, passing: NDArray[np.bool_], store: ObjectStore, matched: Rows) -> None:
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


@compiled
def size_agreement(one: Floats, other: Floats) -> float:
    """1 for equal sizes, toward 0 the more they differ: the geometric mean over the axes of smaller to larger."""
    product = 1.0
    for axis in range(3):
        product *= ratio(one[axis], other[axis])
    return float(np.cbrt(product))


@compiled
def _widening(extent: Floats, growth: float) -> Floats:
    widen = np.empty(len(extent))
    for at in range(len(extent)):
        widen[at] = 0.0
        if growth * max(extent[at, 0], extent[at, 1], extent[at, 2]) > 2.0 * SMALL_HALF:
            widen[at] = WIDE
    return widen
