"""Which observation is which object: position, size and look decide, for all observations of a frame together.

A pair must pass the gate (the part of the distance that the difference in size does not explain is within the
radius), then ``score = alpha * spatial + (1 - alpha) * look`` must pass the threshold, and among the pairs that do,
the one-to-one assignment with the highest sum wins. Pairs outside every gate cannot be assigned, so one optimal
assignment over the frame is the optimal assignment inside each gated cluster. Labels play no part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Association
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.compiled import compiled, dot
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.store import BODY, CONFIRMED, COUNTS, GAUGES, LARGEST_HALF, SMALL_HALF, ObjectStore

WIDE = 0.9
"""Metres of an observation's half size that widen its search: a whole sofa finds the piece of it seen before."""
_X, _WIDE_X, _REACH = BODY.first("xyz"), BODY.first("extent"), BODY.first("reach")
_EMB_HITS, _STABILITY = COUNTS.first("emb_hits"), GAUGES.first("stability")
NO_LOOKS = np.empty((0, 0), dtype=np.float32)


@dataclass(slots=True)
class Pairs:
    """Gated pairs of one frame, in no order; ``cosine`` is NaN where a look is unknown or could not decide."""

    index: NDArray[np.int64]
    rows: Rows
    score: Floats
    cosine: Floats


def gated_pairs(store: ObjectStore, batch: Batch) -> Pairs:
    """Every pair of an observation and an object near enough to be the same thing."""
    index, rows = _candidates(store, batch)
    looks, means = NO_LOOKS, NO_LOOKS
    if batch.looks is not None and store.dim is not None:
        looks, means = batch.looks, store.emb_mean
    score, cosine = np.empty(len(rows)), np.empty(len(rows))
    count = _score(
        index,
        rows,
        score,
        cosine,
        batch.xyz,
        batch.extent,
        batch.sigma,
        batch.cut,
        batch.has_look,
        looks,
        store.body,
        store.counts,
        store.gauges,
        means,
        store.gate,
    )
    return Pairs(index[:count], rows[:count], score[:count], cosine[:count])


@compiled
def _score(
    index: Rows,
    rows: Rows,
    score: Floats,
    cosine: Floats,
    xyz: Floats,
    extent: Floats,
    sigma: Floats,
    cut: NDArray[np.bool_],
    has_look: NDArray[np.bool_],
    looks: NDArray[np.float32],
    body: Floats,
    counts: NDArray[np.int32],
    gauges: NDArray[np.float32],
    means: NDArray[np.float32],
    rules: Association,
) -> int:
    """Leave the gated ones of all pairs, in place and in their order, with their scores; tells how many."""
    kept = 0
    for at in range(len(rows)):
        seen, row = index[at], rows[at]
        spatial = agree_in_space(xyz, extent, seen, sigma[seen], cut[seen], body, row, rules)
        if not spatial > 0.0:
            continue
        look, alike = 1.0, np.nan
        # where even an equal look would not do, no look is asked for
        if rules.spatial_weight * spatial + (1.0 - rules.spatial_weight) > rules.threshold:
            length = gauges[row, _STABILITY]
            if has_look[seen] and counts[row, _EMB_HITS] > 0 and length > 0.0:
                alike = min(max(dot(means[row], looks[seen]) / np.float64(length), -1.0), 1.0)
                look = 0.5 + 0.5 * alike
            else:
                look = rules.unknown_look
        if look < rules.unknown_look and cut[seen] and _is_sliver(xyz, extent, seen, body, row, rules):
            look = rules.unknown_look
        index[kept], rows[kept], cosine[kept] = seen, row, alike
        score[kept] = rules.spatial_weight * spatial + (1.0 - rules.spatial_weight) * look
        kept += 1
    return kept


@compiled
def agree_in_space(
    xyz: Floats, extent: Floats, seen: int, sigma: float, cut: bool, body: Floats, row: int, rules: Association
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
        + rules.radius_growth * rules.max_sigma
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
        agreement *= ratio(extent[seen, axis], body[row, _WIDE_X + axis], rules.size_tolerance)
    agreement = float(np.cbrt(agreement))
    if cut:
        agreement = max(agreement, rules.cut_agreement)
    radius = rules.radius + rules.radius_growth * min(sigma, rules.max_sigma)
    closeness = 1.0 - math.sqrt(apart) / radius
    return closeness * (1.0 - rules.size_weight * (1.0 - agreement))


@compiled
def _is_sliver(xyz: Floats, extent: Floats, seen: int, body: Floats, row: int, rules: Association) -> bool:
    """Whether what the image cuts off lies in a larger thing's box: it does not show how the thing looks."""
    largest = -np.inf
    for axis in range(3):
        room = 0.5 * (body[row, _WIDE_X + axis] - extent[seen, axis])
        if abs(xyz[seen, axis] - body[row, _X + axis]) > room + rules.cut_slack:
            return False
        largest = max(largest, room)
    return largest >= rules.cut_slack


@compiled
def ratio(one: float, other: float, tolerance: float) -> float:
    """The smaller of two sizes to the larger."""
    return (min(one, other) + tolerance) / (max(one, other) + tolerance)


def assign(pairs: Pairs, store: ObjectStore, count: int) -> Rows:
    """The row matched to each of ``count`` observations, -1 where it is something new."""
    threshold, same_look = store.settings.association.threshold, store.settings.linking.same_look
    matched = np.full(count, -1, dtype=np.int64)
    passing = np.empty(len(pairs.rows), dtype=np.bool_)
    found = pairs.index, pairs.rows, pairs.score, pairs.cosine
    if not _match(*found, store.state, threshold, same_look, passing, matched):
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
    same_look: float,
    passing: NDArray[np.bool_],
    matched: Rows,
) -> bool:
    """Mark the pairs that pass, and match them; false where an observation or an object is in two of them."""
    alone = True
    for at in range(len(rows)):
        # what was seen to be gone comes back by its look, not by something else standing there
        passing[at] = score[at] > threshold and not (state[rows[at]] > CONFIRMED and cosine[at] < same_look)
        if passing[at] and alone:
            alone = matched[index[at]] < 0 and rows[at] not in matched
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
def size_agreement(one: Floats, other: Floats, tolerance: float) -> float:
    """1 for equal sizes, toward 0 the more they differ: the geometric mean over the axes of smaller to larger."""
    product = 1.0
    for axis in range(3):
        product *= ratio(one[axis], other[axis], tolerance)
    return float(np.cbrt(product))


def _candidates(store: ObjectStore, batch: Batch) -> tuple[NDArray[np.int64], Rows]:
    return store.grid.near(batch.xyz, _widening(batch.extent, store.gate.radius_growth))


@compiled
def _widening(extent: Floats, growth: float) -> Floats:
    widen = np.zeros(len(extent))
    for at in range(len(extent)):
        if growth * max(extent[at, 0], extent[at, 1], extent[at, 2]) > 2.0 * SMALL_HALF:
            widen[at] = WIDE
    return widen
