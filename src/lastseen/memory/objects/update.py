"""What an observation does to an object: position, extent, appearance, view bins, labels, and detection counts.

Everything works on all matched or new rows of a frame at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, float_to_half
from lastseen.memory.objects.appearance import add_to_mean, offer_to_gallery
from lastseen.memory.objects.association import Seen, in_box
from lastseen.memory.objects.batch import Batch, SeenColumns
from lastseen.memory.objects.boxes import turned
from lastseen.memory.objects.camera import CameraView, image_holds_box, view_bin, view_from
from lastseen.memory.objects.columns import (
    BODY,
    COUNTS,
    GAUGES,
    RING,
    Floats,
    ObjectColumns,
    Plain,
    Rows,
    State,
    UpdateRules,
)
from lastseen.memory.objects.grid import GridColumns, key_of, move
from lastseen.memory.objects.labels import blend
from lastseen.memory.objects.store import ObjectStore, reach_of
from lastseen.observation import MAX_SURFACE_POINTS

POINT_GROUPS = 4
"""Groups of surface points, one per view: an object's front alone cannot show from behind that it is gone."""
RATE_MEMORY = 64.0
"""Chances after which an object's detection rate starts to forget: lighting and detectors change."""
EXTENT_SHRINK = 0.15
"""Share of an observation's weight with which a smaller box counts: views are partial far more often than things
shrink; less and noise would blow boxes up."""
PIECE_SIZE = 0.4
"""Metres of size from which things are seen in pieces: close by, or cut off by the image."""
SAME_SPAN = 0.9
"""Ratio of two lengths from which both are the whole length of a thing, also of one seen in pieces."""
SPREAD_EWMA = 0.2
"""Weight of an observation in the position spread that stands in for stability below two embeddings."""

_X, _WIDE, _ORIGIN = BODY.first("xyz"), BODY.first("extent"), BODY.first("points_origin")
_YAW = BODY.first("yaw")
_PRECISION, _SPREAD, _LAST_SEEN = BODY.first("precision"), BODY.first("spread"), BODY.first("last_seen")
_HITS, _RING_N, _N_BINS = COUNTS.first("hits"), COUNTS.first("ring_n"), COUNTS.first("n_bins")
_N_POINTS, _EMPTY_VIEWS, _MISSED = COUNTS.first("n_points"), COUNTS.first("empty_views"), COUNTS.first("missed")
_SURFACE_HITS, _EMB_HITS = COUNTS.first("surface_hits"), COUNTS.first("emb_hits")
_STABILITY, _REACH = GAUGES.first("stability"), BODY.first("reach")
_EXPECTED, _DETECTED, _DOUBT = GAUGES.first("expected"), GAUGES.first("detected"), GAUGES.first("doubt")
_MISSED_EVIDENCE, _MISSED_VIEWS = GAUGES.first("missed_evidence"), GAUGES.first("missed_views")


def create(store: ObjectStore, batch: Batch, new: Rows) -> Rows:
    """Make a tentative object of each observation at ``new``; rows come back in the same order."""
    rows = store.allocate(len(new))
    store.state[rows] = State.TENTATIVE
    store.xyz[rows] = batch.xyz[new]
    store.extent[rows] = batch.extent[new]
    store.yaw[rows] = batch.yaw[new]
    store.precision[rows] = batch.sigma[new] ** -2.0
    store.first_seen[rows] = batch.stamp
    store.last_seen[rows] = batch.stamp
    width = batch.label_ids.shape[1]
    store.label_ids[rows, :width] = batch.label_ids[new]
    store.label_scores[rows, :width] = batch.label_scores[new]
    _observe(store, batch, rows, new, created=True)
    return rows


def update(store: ObjectStore, batch: Batch, rows: Rows, index: Rows) -> NDArray[np.bool_]:
    """Move each matched row toward its observation; returns which were seen from a new view bin."""
    return _observe(store, batch, rows, index, created=False)


def _observe(store: ObjectStore, batch: Batch, rows: Rows, index: Rows, *, created: bool) -> NDArray[np.bool_]:
    """Let rows take in one observation each and stand in the grid where they now are; ``created`` ones are placed."""
    fresh, bare = np.empty((2, len(rows)), dtype=np.bool_)
    seen, objects = tuple(batch.columns), tuple(store.compiled_columns())
    grid, rules = tuple(store.grid.columns), tuple(store.update_rules)
    _take_in(rows, index, fresh, bare, seen, objects, grid, rules, store.version, created)
    if batch.embeddings is not None:
        offered = (fresh | (store.gallery_n[rows] == 0)) & batch.has_embedding[index]
        for at in offered.nonzero()[0].tolist():
            offer_to_gallery(store, int(rows[at]), batch.embeddings[index[at]])
    for at in (fresh | bare).nonzero()[0].tolist():
        points = batch.observations[index[at]].points
        if points is not None:
            keep_points(store, int(rows[at]), points)
    return fresh


@compiled
def _take_in(
    rows: Rows,
    index: Rows,
    fresh: NDArray[np.bool_],
    bare: NDArray[np.bool_],
    seen_columns: Plain,
    object_columns: Plain,
    grid_columns: Plain,
    update_rules: Plain,
    version: int,
    created: bool,
) -> None:
    """Box, labels, counts and mean embedding of rows; ``fresh`` are new view bins, ``bare`` rows without points."""
    seen, objects = SeenColumns(*seen_columns), ObjectColumns(*object_columns)
    grid, rules = GridColumns(*grid_columns), UpdateRules(*update_rules)
    view = view_from(seen.camera)
    for at in range(len(rows)):
        row, one = rows[at], index[at]
        known, count, gauge = objects.body[row], objects.counts[row], objects.gauges[row]
        if not created:
            place = in_box(seen.xyz[one], seen.extent[one], seen.yaw[one], known)
            _place(known, place, seen.sigma[one], seen.cut[one], seen.has_camera, view, rules)
            known[_LAST_SEEN] = seen.stamp
            # a label given by hand stays
            if not objects.pinned[row]:
                names, scores = objects.label_ids[row], objects.label_scores[row]
                # the mean of what was said so far; a moving average would give the last views all the say
                weight = max(rules.label_ewma, 1.0 / (count[_HITS] + 1.0))
                blend(names, scores, seen.label_ids[one], seen.label_scores[one], weight)
        x, y = turned(seen.toward[one, 0], seen.toward[one, 1], known[_YAW])
        side = view_bin(x, y, seen.toward[one, 2], rules.azimuth_bins, rules.elevation_bins)
        fresh[at], bare[at] = not objects.bins[row, side], count[_N_POINTS] == 0
        objects.bins[row, side] = True
        count[_N_BINS] += fresh[at]
        count[_SURFACE_HITS] += seen.surface[one]
        slot = count[_RING_N] % RING
        objects.ring_frame[row, slot] = seen.frame_id
        for axis in range(6):
            objects.ring_place[row, slot, axis] = seen.places[one, axis]
        _count_hit(count, gauge)
        if seen.has_embedding[one]:
            add_to_mean(seen.embeddings[one], objects.emb_mean[row], count, gauge)
        if count[_EMB_HITS] < 2:
            # without two embeddings to compare: how little its positions spread
            gauge[_STABILITY] = max(1.0 - math.sqrt(known[_SPREAD]) / rules.radius, 0.0)
        known[_REACH] = reach_of(known, rules.radius, rules.radius_growth)
        key = key_of(known[_X], known[_X + 1], known[_X + 2], known[_REACH], grid.reaches, grid.cells)
        if key != grid.cell[row]:
            move(row, key, grid.heads, grid.cell, grid.after, grid.on_level)
        objects.changed_at[row] = version


@compiled
def _place(
    known: Floats,
    place: Seen,
    sigma: float,
    cut: bool,
    has_camera: bool,
    view: CameraView,
    rules: UpdateRules,
) -> None:
    """Moving average of a box, weighted by what is known of each side, in place.

    Where both faces of an axis moved the same way, the thing (or the estimate) moved: that shift enters with the
    observation's weight. What remains is a change of size: growth counts like a shift, shrinking only slowly
    because views are partial, and not at all when the remembered box was not wholly in the image. Of a large thing
    that the image cuts off another piece was seen, unless it has the same length: that is growth and no shift.
    Observations without a camera are the whole thing: position and extent follow by the plain average.
    """
    offset, extent = place
    yaw, sizes = known[_YAW], (known[_WIDE], known[_WIDE + 1], known[_WIDE + 2])
    whole = image_holds_box(view, known[_X], known[_X + 1], known[_X + 2], sizes, yaw, 0.0)
    precision = sigma**-2.0
    weight = precision / (precision + known[_PRECISION])
    shrinking = weight * EXTENT_SHRINK if whole else 0.0
    if not has_camera:
        weight = shrinking = rules.position_ema
    shifts = not has_camera or whole or not cut or max(sizes[0], sizes[1], sizes[2]) < PIECE_SIZE
    strayed = 0.0
    for axis in range(3):
        growth = 0.5 * (extent[axis] - known[_WIDE + axis])
        low, high = offset[axis] - growth, offset[axis] + growth
        shorter = min(extent[axis], known[_WIDE + axis])
        same = shorter >= SAME_SPAN * max(extent[axis], known[_WIDE + axis])
        # the part common to both faces: the smaller of two shifts one way, nothing when they part or close in
        shift = max(min(low, high), 0.0) + min(max(low, high), 0.0) if shifts or same else 0.0
        # what remains of the low and the high face, outward positive
        below, above = shift - low, high - shift
        below *= weight if below > 0.0 else shrinking
        above *= weight if above > 0.0 else shrinking
        known[_WIDE + axis] = max(known[_WIDE + axis] + below + above, 0.0)
        strayed += shift * shift
        _move_along(known, axis, weight * shift + 0.5 * (above - below), weight * shift)
    known[_PRECISION] = min(known[_PRECISION] + precision, rules.max_precision)
    known[_SPREAD] += SPREAD_EWMA * (strayed - known[_SPREAD])


@compiled
def _move_along(known: Floats, axis: int, by: float, points_by: float) -> None:
    """Move an object along an axis of its box, and its points."""
    if axis == 2 or known[_YAW] == 0.0:
        known[_X + axis] += by
        known[_ORIGIN + axis] += points_by
        return
    x, y = turned(1.0 - axis, float(axis), -known[_YAW])
    known[_X] += by * x
    known[_X + 1] += by * y
    known[_ORIGIN] += points_by * x
    known[_ORIGIN + 1] += points_by * y


@compiled
def _count_hit(count: NDArray[np.int32], gauge: NDArray[np.float32]) -> None:
    """An observation is a hit, a place in the ring and an expected detection, and it ends every doubt."""
    gauge[_EXPECTED] += count[_MISSED] + 1
    gauge[_DETECTED] += 1
    _forget_old_counts(gauge)
    gauge[_DOUBT] = gauge[_MISSED_EVIDENCE] = gauge[_MISSED_VIEWS] = 0.0
    count[_EMPTY_VIEWS] = count[_MISSED] = 0
    count[_HITS] += 1
    count[_RING_N] += 1


@compiled
def count_miss(count: NDArray[np.int32], gauge: NDArray[np.float32], proven: bool) -> None:
    """Count that an object could have been detected and was not.

    It enters the detection rate at once where the thing is ``proven`` to stand there; else with the next sighting,
    for until then nobody knows.
    """
    count[_MISSED] += 1
    if proven:
        gauge[_EXPECTED] += count[_MISSED]
        _forget_old_counts(gauge)
        count[_MISSED] = 0


@compiled
def _forget_old_counts(gauge: NDArray[np.float32]) -> None:
    if gauge[_EXPECTED] > RATE_MEMORY:
        gauge[_EXPECTED] *= 0.5
        gauge[_DETECTED] *= 0.5


def keep_points(store: ObjectStore, row: int, points: NDArray[np.float32]) -> None:
    """Fill an empty row with the points of a view; later views take turns at a quarter of the places each."""
    _sample_points(points, store.point_bits[row], store.body[row], store.counts[row])


@compiled
def _sample_points(
    points: NDArray[np.float32], kept: NDArray[np.uint16], body: Floats, count: NDArray[np.int32]
) -> None:
    held = count[_N_POINTS]
    start, size = 0, len(points)
    if held == 0:
        for axis in range(3):
            body[_ORIGIN + axis] = body[_X + axis]
    else:
        size = MAX_SURFACE_POINTS // POINT_GROUPS
        start = min((count[_N_BINS] - 1) % POINT_GROUPS * size, held)
        size = min(size, len(points))
    step = max(1, len(points) // size)
    for at in range(size):
        for axis in range(3):
            kept[start + at, axis] = float_to_half(np.float32(points[at * step, axis] - body[_ORIGIN + axis]))
    count[_N_POINTS] = max(held, start + size)
