"""Which observation is which object: position, size and look decide, for all observations of a frame together.

A pair must pass the gate (the part of the distance that the difference in size does not explain is within the
radius), then ``score = alpha * spatial + (1 - alpha) * look`` must pass the threshold, and among the pairs that do,
the one-to-one assignment with the highest sum wins. Pairs outside every gate cannot be assigned, so one optimal
assignment over the frame is the optimal assignment inside each gated cluster. Labels play no part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from lastseen.config.objects import Association
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.store import BODY, CONFIRMED, SMALL_HALF, ObjectStore

WIDE = 0.9
"""Metres of an observation's half size that widen its search: a whole sofa finds the piece of it seen before."""
_XYZ, _EXTENT, _REACH = BODY.parts["xyz"], BODY.parts["extent"], BODY.parts["reach"]
_SUM = np.ones(3)


@dataclass(slots=True)
class Pairs:
    """Gated pairs of one frame, in no order; ``cosine`` is NaN where a look is unknown or could not decide."""

    index: NDArray[np.int64]
    rows: Rows
    score: Floats
    cosine: Floats


def gated_pairs(store: ObjectStore, batch: Batch) -> Pairs:
    """Every pair of an observation and an object near enough to be the same thing."""
    rules = store.settings.association
    index, rows = _candidates(store, batch)
    known = store.body.take(rows, axis=0)
    offset = batch.xyz.take(index, axis=0) - known[:, _XYZ]
    # farther apart than their sizes explain: most of what the cells hold goes here, before anything costs more
    far = (store.reach_of(batch.extent) + (rules.radius_growth * rules.max_sigma - rules.radius)).take(index)
    far += known[:, _REACH]
    near = ((offset * offset) @ _SUM < far * far).nonzero()[0]
    index, rows, offset = index.take(near), rows.take(near), np.abs(offset.take(near, axis=0))
    cut = batch.cut.take(index) if np.count_nonzero(batch.cut) else None
    seen, size = batch.extent.take(index, axis=0), known.take(near, axis=0)[:, _EXTENT]
    spatial = spatial_score(offset, seen, size, batch.sigma.take(index), rules, cut=cut)
    gated = (spatial > 0.0).nonzero()[0]
    index, rows, spatial = index.take(gated), rows.take(gated), spatial.take(gated)
    look, cosine = np.ones(len(rows)), np.full(len(rows), np.nan)
    # where even an equal look would not do, no look is asked for
    hopeful = (rules.spatial_weight * spatial + (1.0 - rules.spatial_weight) * look > rules.threshold).nonzero()[0]
    cosine[hopeful] = _cosines(store, batch, index.take(hopeful), rows.take(hopeful))
    look[hopeful] = look_score(cosine.take(hopeful), rules)
    if cut is not None:
        # the sliver of a thing that the image cuts off inside its box does not show how the thing looks
        room = 0.5 * (size[gated] - seen[gated])
        piece = cut[gated] & (room.max(axis=1) >= rules.cut_slack)
        piece &= (offset[gated] <= room + rules.cut_slack).all(axis=1)
        look = np.where(piece, np.maximum(look, rules.unknown_look), look)
    return Pairs(index, rows, rules.spatial_weight * spatial + (1.0 - rules.spatial_weight) * look, cosine)


def assign(pairs: Pairs, store: ObjectStore, count: int) -> Rows:
    """The row matched to each of ``count`` observations, -1 where it is something new."""
    rules = store.settings.association
    passing = pairs.score > rules.threshold
    absent = store.state.take(pairs.rows) > CONFIRMED
    if np.count_nonzero(absent):
        # what was seen to be gone comes back by its look, not by something else standing there
        passing &= ~(absent & (pairs.cosine < store.settings.linking.same_look))
    index, rows = pairs.index[passing], pairs.rows[passing]
    matched = np.full(count, -1, dtype=np.int64)
    if len(set(rows.tolist())) == len(rows) and len(set(index.tolist())) == len(index):
        matched[index] = rows
        return matched
    # columns by object number, so that ties do not depend on where rows lie
    row_of = np.array([row for _, row in sorted(set(zip(store.seq[rows].tolist(), rows.tolist(), strict=True)))])
    column = {row: place for place, row in enumerate(row_of.tolist())}
    gain = np.zeros((count, len(row_of)))
    gain[index, [column[row] for row in rows.tolist()]] = pairs.score[passing] - rules.threshold
    who, what = linear_sum_assignment(gain, maximize=True)
    real = gain[who, what] > 0.0
    matched[who[real]] = row_of[what[real]]
    return matched


def spatial_score(
    offset: Floats,
    seen: Floats,
    known: Floats,
    sigma: Floats,
    rules: Association,
    *,
    cut: NDArray[np.bool_] | None = None,
) -> Floats:
    """How well places and sizes agree, 0 to 1; 0 is outside the gate. Offsets are absolute, sizes full extents.

    A part of a thing has its centre away from the thing's, by up to half the difference in size: that much of the
    offset is explained. ``cut`` tells which observations the image cut off. With ``radius_growth`` and
    ``size_weight`` 0 this is 1 - distance / radius.
    """
    growth = rules.radius_growth
    radius = rules.radius + growth * np.minimum(sigma, rules.max_sigma)
    larger = known - seen
    # an object's own size widens its search without limit, an observation's only so far
    explained = np.maximum(larger, np.minimum(-larger, 2.0 * WIDE)) * (0.5 * min(growth, 1.0))
    apart = np.maximum(offset - explained, 0.0)
    closeness = 1.0 - np.sqrt(np.einsum("ij,ij->i", apart, apart)) / radius
    agreement = size_agreement(seen, known, rules)
    if cut is not None:
        agreement = np.where(cut, np.maximum(agreement, rules.cut_agreement), agreement)
    score: Floats = closeness * (1.0 - rules.size_weight * (1.0 - agreement))
    return score


def look_score(cosine: Floats, rules: Association) -> Floats:
    """How well looks agree, 0 to 1, with a fixed score where one is unknown."""
    score: Floats = 0.5 + 0.5 * cosine
    unknown = np.isnan(score)
    if np.count_nonzero(unknown):
        score[unknown] = rules.unknown_look
    return score


def size_agreement(one: Floats, other: Floats, rules: Association) -> Floats:
    """1 for equal sizes, toward 0 the more they differ: the geometric mean over the axes of smaller to larger."""
    small = np.minimum(one, other) + rules.size_tolerance
    large = np.maximum(one, other) + rules.size_tolerance
    ratio = small / large
    agreement: Floats = np.cbrt(ratio[..., 0] * ratio[..., 1] * ratio[..., 2])
    return agreement


def _candidates(store: ObjectStore, batch: Batch) -> tuple[NDArray[np.int64], Rows]:
    growth = store.settings.association.radius_growth
    large = growth * batch.extent > 2.0 * SMALL_HALF
    if not np.count_nonzero(large):
        return store.grid.near(batch.xyz)
    any_axis = large[:, 0] | large[:, 1] | large[:, 2]
    small, wide = np.flatnonzero(~any_axis), np.flatnonzero(any_axis)
    index, rows = store.grid.near(batch.xyz[small])
    wide_index, wide_rows = store.grid.near(batch.xyz[wide], widen=WIDE)
    return np.concatenate([small[index], wide[wide_index]]), np.concatenate([rows, wide_rows])


def _cosines(store: ObjectStore, batch: Batch, index: NDArray[np.int64], rows: Rows) -> Floats:
    if batch.looks is None or store.dim is None or not len(rows):
        return np.full(len(rows), np.nan)
    length = store.stability[rows]
    known = batch.has_look.take(index) & (store.emb_hits[rows] > 0) & (length > 0)
    dot = np.einsum("ij,ij->i", store.emb_mean.take(rows, axis=0), batch.looks.take(index, axis=0))
    cosine = dot.astype(np.float64) / np.where(known, length, 1.0)
    return np.where(known, np.minimum(np.maximum(cosine, -1.0), 1.0), np.nan)
