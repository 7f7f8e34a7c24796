"""What an observation does to an object: position, extent, appearance, view bins, labels, and detection counts.

Everything works on all matched or new rows of a frame at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Lifecycle
from lastseen.memory.objects.appearance import add_embeddings
from lastseen.memory.objects.batch import Batch, SeenColumns
from lastseen.memory.objects.camera import image_holds_box, view_from
from lastseen.memory.objects.compiled import compiled, float_to_half
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.labels import update_labels
from lastseen.memory.objects.layout import BODY, COUNTS, GAUGES, RING, ObjectColumns, State
from lastseen.memory.objects.store import ObjectStore
from lastseen.observation import MAX_SURFACE_POINTS

POINT_GROUPS = 4
"""Groups of surface points, one per view: an object's front alone cannot show from behind that it is gone."""
RATE_MEMORY = 64.0
"""Chances after which an object's detection rate starts to forget: lighting and detectors change."""
TYPICAL_SIGMA = 0.02
"""Metres of noise that the setting ``position_ema`` is meant for; better observations weigh more."""
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
_PRECISION, _SPREAD, _LAST_SEEN = BODY.first("precision"), BODY.first("spread"), BODY.first("last_seen")
_HITS, _RING_N, _N_BINS = COUNTS.first("hits"), COUNTS.first("ring_n"), COUNTS.first("n_bins")
_N_POINTS, _EMPTY_VIEWS, _MISSED = COUNTS.first("n_points"), COUNTS.first("empty_views"), COUNTS.first("missed")
_SURFACE_HITS = COUNTS.first("surface_hits")
_EXPECTED, _DETECTED, _DOUBT = GAUGES.first("expected"), GAUGES.first("detected"), GAUGES.first("doubt")


def create(store: ObjectStore, batch: Batch, new: Rows) -> Rows:
    """Make a tentative object of each observation at ``new``; rows come back in the same order."""
    rows = store.allocate(len(new))
    store.state[rows] = State.TENTATIVE
    store.xyz[rows] = batch.xyz[new]
    store.extent[rows] = batch.extent[new]
    store.precision[rows] = batch.sigma[new] ** -2.0
    store.first_seen[rows] = batch.stamp
    store.last_seen[rows] = batch.stamp
    width = batch.label_ids.shape[1]
    store.label_ids[rows, :width] = batch.label_ids[new]
    store.label_scores[rows, :width] = batch.label_scores[new]
    _count_observations(store, batch, rows, new)
    return rows


def update(store: ObjectStore, batch: Batch, rows: Rows, index: Rows) -> NDArray[np.bool_]:
    """Move each matched row toward its observation; returns which were seen from a new view bin."""
    rules = store.settings.lifecycle
    _place(rows, index, batch.columns, store.body, rules.position_ema, precision_cap(rules))
    if batch.label_ids.shape[1]:
        names = store.label_ids, store.label_scores, store.pinned
        update_labels(*names, rows, batch.label_ids, batch.label_scores, index, rules.label_ewma)
    return _count_observations(store, batch, rows, index)


@compiled
def view_bin(x: float, y: float, z: float, azimuth_bins: int, elevation_bins: int) -> int:
    """The bin of a direction from object to camera: azimuth sectors from -x, elevation bands from below."""
    turn = math.atan2(y, x) * (azimuth_bins / (2.0 * math.pi)) + 0.5 * azimuth_bins
    rise = math.asin(min(max(z, -1.0), 1.0)) * (elevation_bins / math.pi) + 0.5 * elevation_bins
    return min(int(rise), elevation_bins - 1) * azimuth_bins + int(turn) % azimuth_bins


def precision_cap(rules: Lifecycle) -> float:
    """Inverse variance a position can gather: at it, an observation of typical noise weighs ``position_ema``."""
    if rules.position_ema == 0.0:
        return math.inf
    return (1.0 - rules.position_ema) / rules.position_ema / TYPICAL_SIGMA**2


@compiled
def _place(rows: Rows, index: Rows, seen: SeenColumns, body: Floats, ema: float, max_precision: float) -> None:
    """Moving average of the boxes, weighted by what is known of each side, in place.

    Where both faces of an axis moved the same way, the thing (or the estimate) moved: that shift enters with the
    observation's weight. What remains is a change of size: growth counts like a shift, shrinking only slowly
    because views are partial, and not at all when the remembered box was not wholly in the image. Of a large thing
    that the image cuts off another piece was seen, unless it has the same length: that is growth and no shift.
    Observations without a camera are the whole thing: position and extent follow by the plain average.
    """
    view = view_from(seen.camera)
    for at in range(len(rows)):
        known, one = body[rows[at]], index[at]
        x, y, z = known[_X], known[_X + 1], known[_X + 2]
        size = max(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2])
        whole = image_holds_box(view, x, y, z, known[_WIDE], known[_WIDE + 1], known[_WIDE + 2], 0.0)
        precision = seen.sigma[one] ** -2.0
        weight = precision / (precision + known[_PRECISION])
        shrinking = weight * EXTENT_SHRINK if whole else 0.0
        if not seen.has_camera:
            weight = shrinking = ema
        shifts = not seen.has_camera or whole or not seen.cut[one] or size < PIECE_SIZE
        strayed = 0.0
        for axis in range(3):
            offset = seen.xyz[one, axis] - known[_X + axis]
            growth = 0.5 * (seen.extent[one, axis] - known[_WIDE + axis])
            low, high = offset - growth, offset + growth
            shorter = min(seen.extent[one, axis], known[_WIDE + axis])
            same = shorter >= SAME_SPAN * max(seen.extent[one, axis], known[_WIDE + axis])
            # the part common to both faces: the smaller of two shifts one way, nothing when they part or close in
            shift = max(min(low, high), 0.0) + min(max(low, high), 0.0) if shifts or same else 0.0
            # what remains of the low and the high face, outward positive
            below, above = shift - low, high - shift
            below *= weight if below > 0.0 else shrinking
            above *= weight if above > 0.0 else shrinking
            known[_X + axis] += weight * shift + 0.5 * (above - below)
            known[_WIDE + axis] = max(known[_WIDE + axis] + below + above, 0.0)
            known[_ORIGIN + axis] += weight * shift
            strayed += shift * shift
        known[_PRECISION] = min(known[_PRECISION] + precision, max_precision)
        known[_SPREAD] += SPREAD_EWMA * (strayed - known[_SPREAD])
        known[_LAST_SEEN] = seen.stamp


def _count_observations(store: ObjectStore, batch: Batch, rows: Rows, index: Rows) -> NDArray[np.bool_]:
    views = store.settings.views
    fresh, bare = np.empty((2, len(rows)), dtype=np.bool_)
    columns = store.compiled_columns()
    _count_each(rows, index, fresh, bare, batch.columns, columns, views.azimuth_bins, views.elevation_bins)
    if batch.embeddings is not None:
        known = slice(None) if batch.all_embedded else batch.has_embedding[index]
        add_embeddings(store, batch.embeddings, rows[known], index[known], fresh[known])
    _stability_by_position(store, rows)
    for place in (fresh | bare).nonzero()[0].tolist():
        points = batch.observations[index[place]].points
        if points is not None:
            keep_points(store, int(rows[place]), points)
    return fresh


@compiled
def _count_each(
    rows: Rows,
    index: Rows,
    fresh: NDArray[np.bool_],
    bare: NDArray[np.bool_],
    seen: SeenColumns,
    objects: ObjectColumns,
    azimuth_bins: int,
    elevation_bins: int,
) -> None:
    """An observation is a hit, a place in the ring and an expected detection, and it ends every doubt."""
    for at in range(len(rows)):
        row, one = rows[at], index[at]
        count, gauge = objects.counts[row], objects.gauges[row]
        side = view_bin(seen.toward[one, 0], seen.toward[one, 1], seen.toward[one, 2], azimuth_bins, elevation_bins)
        fresh[at], bare[at] = not objects.bins[row, side], count[_N_POINTS] == 0
        objects.bins[row, side] = True
        slot = count[_RING_N] % RING
        objects.ring_frame[row, slot] = seen.frame_id
        for axis in range(6):
            objects.ring_place[row, slot, axis] = seen.places[one, axis]
        gauge[_EXPECTED] += count[_MISSED] + 1
        gauge[_DETECTED] += 1
        _forget_old_counts(gauge)
        gauge[_DOUBT] = 0.0
        count[_EMPTY_VIEWS] = count[_MISSED] = 0
        count[_HITS] += 1
        count[_SURFACE_HITS] += seen.surface[one]
        count[_RING_N] += 1
        count[_N_BINS] += fresh[at]


def _stability_by_position(store: ObjectStore, rows: Rows) -> None:
    """Stability of objects that have no two embeddings to compare: how little their positions spread."""
    few = rows[store.emb_hits[rows] < 2]
    if len(few):
        spread = np.sqrt(store.spread[few]) / store.settings.association.radius
        store.stability[few] = np.maximum(1.0 - spread, 0.0)


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
    _sample_points(points, store.points.view(np.uint16)[row], store.body[row], store.counts[row])


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
