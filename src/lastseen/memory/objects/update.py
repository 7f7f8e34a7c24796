"""What a sighting does to what is remembered: place, size, look, views, names, and the marks of having been seen.

Everything works on all matched or new rows of a frame at once, and reads and writes each wide column once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Lifecycle, Views
from lastseen.frame import Frame
from lastseen.memory.objects import gallery
from lastseen.memory.objects.batch import Batch, wholly_in_view
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.labels import blend
from lastseen.memory.objects.store import BODY, COUNTS, GAUGES, RING, ObjectStore, State
from lastseen.observation import MAX_SURFACE_POINTS

POINT_GROUPS = 4
"""Groups of surface points, one per view: an object's front alone cannot show from behind that it is gone."""
RATE_MEMORY = 64.0
"""Chances after which an object's detection rate starts to forget: lighting and detectors change."""

_XYZ, _EXTENT, _ORIGIN = BODY.parts["xyz"], BODY.parts["extent"], BODY.parts["points_origin"]
_PRECISION, _SPREAD, _LAST_SEEN = BODY.parts["precision"], BODY.parts["spread"], BODY.parts["last_seen"]
_RING_N = COUNTS.parts["ring_n"]
_N_BINS, _N_POINTS, _MISSED = COUNTS.parts["n_bins"], COUNTS.parts["n_points"], COUNTS.parts["missed"]
_EXPECTED, _DETECTED = GAUGES.parts["expected"], GAUGES.parts["detected"]
# a sighting is a hit, a place in the ring and a detection that could be expected, and it ends every doubt
_COUNTS_ADDED, _COUNTS_KEPT = COUNTS.row(hits=1, ring_n=1), 1 - COUNTS.row(empty_views=1, missed=1)
_GAUGES_ADDED = GAUGES.row(expected=1, detected=1).astype(np.float32)
_GAUGES_KEPT = (1 - GAUGES.row(doubt=1)).astype(np.float32)


def create(store: ObjectStore, batch: Batch, new: Rows) -> Rows:
    """Make a proto-object of each observation at ``new``; rows come back in the same order."""
    rows = store.take(len(new))
    store.state[rows] = State.PROTO
    store.xyz[rows] = batch.xyz[new]
    store.extent[rows] = batch.extent[new]
    store.precision[rows] = batch.sigma[new] ** -2.0
    store.first_seen[rows] = batch.stamp
    store.last_seen[rows] = batch.stamp
    width = batch.label_ids.shape[1]
    store.label_ids[rows, :width] = batch.label_ids[new]
    store.label_scores[rows, :width] = batch.label_scores[new]
    _mark_seen(store, batch, rows, new)
    return rows


def refresh(store: ObjectStore, batch: Batch, frame: Frame, rows: Rows, index: Rows) -> NDArray[np.bool_]:
    """Move each matched row toward its observation; tells which were seen from a new side."""
    body = store.body.take(rows, axis=0)
    _place(body, batch, frame, index, store.settings.lifecycle)
    body[:, _LAST_SEEN] = batch.stamp
    store.body[rows] = body
    if batch.label_ids.shape[1]:
        _rename(store, batch, rows, index)
    return _mark_seen(store, batch, rows, index)


def _rename(store: ObjectStore, batch: Batch, rows: Rows, index: Rows) -> None:
    ids, scores = store.label_ids.take(rows, axis=0), store.label_scores.take(rows, axis=0)
    new_ids, new_scores = batch.label_ids.take(index, axis=0), batch.label_scores.take(index, axis=0)
    pinned = store.pinned.take(rows)
    if np.count_nonzero(pinned):
        # what a person said stands
        new_ids[pinned] = 0
    if blend(ids, scores, new_ids, new_scores, store.settings.lifecycle.label_ewma):
        store.label_ids[rows] = ids
    store.label_scores[rows] = scores


def view_bins(view: Floats, views: Views) -> Rows:
    """The bin of each direction from object to camera: azimuth sectors from -x, elevation bands from below."""
    turn = np.arctan2(view[:, 1], view[:, 0]) * (views.azimuth_bins / (2.0 * np.pi)) + 0.5 * views.azimuth_bins
    rise = (
        np.arcsin(np.minimum(np.maximum(view[:, 2], -1.0), 1.0)) * (views.elevation_bins / np.pi)
        + 0.5 * views.elevation_bins
    )
    azimuth = turn.astype(np.int64) % views.azimuth_bins
    elevation = np.minimum(rise.astype(np.int64), views.elevation_bins - 1)
    bins: Rows = elevation * views.azimuth_bins + azimuth
    return bins


def _place(body: Floats, batch: Batch, frame: Frame, index: Rows, rules: Lifecycle) -> None:
    """Moving average of the box, weighted by what is known of each side, in place.

    Where both faces of an axis moved the same way, the thing (or the estimate) moved: that shift enters with the
    observation's weight. What remains is a change of size: growth counts like a shift, shrinking only slowly
    because views are partial, and not at all when the remembered box was not wholly in the image.
    """
    xyz, extent, known = body[:, _XYZ], body[:, _EXTENT], body[:, _PRECISION]
    whole = wholly_in_view(frame, xyz, extent)[:, np.newaxis]
    offset = batch.xyz.take(index, axis=0) - xyz
    growth = 0.5 * (batch.extent.take(index, axis=0) - extent)
    low, high = offset - growth, offset + growth
    # the part common to both faces: the smaller of two shifts one way, nothing when they part or close in
    lesser, greater = np.minimum(low, high), np.maximum(low, high)
    shift = (np.maximum(lesser, 0.0) + np.minimum(greater, 0.0)) * whole
    precision = batch.sigma.take(index) ** -2.0
    weight = (precision / (precision + known))[:, np.newaxis]
    # what remains of the low and the high face, outward positive
    outward = np.array([shift - low, high - shift])
    outward *= np.where(outward > 0.0, weight, weight * (rules.extent_shrink * whole))
    moved = weight * shift
    body[:, _XYZ] += moved + 0.5 * (outward[1] - outward[0])
    body[:, _EXTENT] = np.maximum(extent + (outward[0] + outward[1]), 0.0)
    body[:, _ORIGIN] += moved
    body[:, _PRECISION] = np.minimum(known + precision, rules.precision_cap)
    body[:, _SPREAD] += rules.spread_ewma * (np.einsum("ij,ij->i", shift, shift) - body[:, _SPREAD])


def _mark_seen(store: ObjectStore, batch: Batch, rows: Rows, index: Rows) -> NDArray[np.bool_]:
    bins = view_bins(batch.view.take(index, axis=0), store.settings.views)
    fresh = ~store.bins[rows, bins]
    store.bins[rows, bins] = True
    counts, gauges = store.counts.take(rows, axis=0), store.gauges.take(rows, axis=0)
    slot = counts[:, _RING_N] % RING
    store.ring_frame[rows, slot] = batch.frame_id
    store.ring_place[rows, slot] = batch.places.take(index, axis=0)
    gauges[:, _EXPECTED] += counts[:, _MISSED]
    counts *= _COUNTS_KEPT
    counts += _COUNTS_ADDED
    counts[:, _N_BINS] += fresh
    gauges *= _GAUGES_KEPT
    gauges += _GAUGES_ADDED
    _forget_chances(gauges)
    store.counts[rows], store.gauges[rows] = counts, gauges
    if batch.looks is None:
        _steadiness(store, rows)
    elif batch.all_look:
        gallery.add_looks(store, batch, rows, index, fresh)
    else:
        known = batch.has_look[index]
        gallery.add_looks(store, batch, rows[known], index[known], fresh[known])
        _steadiness(store, rows[~known])
    for place in (fresh | (counts[:, _N_POINTS] == 0)).nonzero()[0].tolist():
        points = batch.observations[index[place]].points
        if points is not None:
            _keep_points(store, int(rows[place]), points)
    return fresh


def _steadiness(store: ObjectStore, rows: Rows) -> None:
    """Stability of objects that never had a look: how little their positions spread."""
    blind = rows[store.emb_hits[rows] == 0]
    spread = np.sqrt(store.spread[blind]) / store.settings.association.radius
    store.stability[blind] = np.maximum(1.0 - spread, 0.0)


def count_misses(store: ObjectStore, rows: Rows, proven: NDArray[np.bool_]) -> None:
    """Count that objects could have been detected and were not.

    It enters the detection rate at once where the thing is ``proven`` to stand there; else with the next sighting,
    for until then nobody knows.
    """
    store.missed[rows] += 1
    rows = rows[proven]
    gauges = store.gauges[rows]
    gauges[:, _EXPECTED] += store.missed[rows]
    _forget_chances(gauges)
    store.gauges[rows] = gauges
    store.missed[rows] = 0


def _forget_chances(gauges: NDArray[np.float32]) -> None:
    many = gauges[:, _EXPECTED] > RATE_MEMORY
    if np.count_nonzero(many):
        gauges[many, _EXPECTED] *= 0.5
        gauges[many, _DETECTED] *= 0.5


def _keep_points(store: ObjectStore, row: int, points: NDArray[np.float32]) -> None:
    """Fill an empty row with the points of a view; later views take turns at a quarter of the places each."""
    held = int(store.n_points[row])
    if held == 0:
        store.points_origin[row] = store.xyz[row]
        start, size = 0, len(points)
    else:
        size = MAX_SURFACE_POINTS // POINT_GROUPS
        start = min((int(store.n_bins[row]) - 1) % POINT_GROUPS * size, held)
        size = min(size, len(points))
    chosen = points[:: max(1, len(points) // size)][:size]
    store.points[row, start : start + size] = chosen - store.points_origin[row]
    store.n_points[row] = max(held, start + size)
