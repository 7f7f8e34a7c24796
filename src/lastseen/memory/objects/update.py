"""What a sighting does to what is remembered: place, size, look, views, names, and the marks of having been seen.

Everything works on all matched or new rows of a frame at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Views
from lastseen.frame import Frame
from lastseen.memory.objects import gallery
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.labels import blend
from lastseen.memory.objects.store import RING, ObjectStore, State
from lastseen.observation import MAX_SURFACE_POINTS

POINT_GROUPS = 4
"""Groups of surface points, one per view: an object's front alone cannot show from behind that it is gone."""
RATE_MEMORY = 64.0
"""Chances after which an object's detection rate starts to forget: lighting and detectors change."""


def create(store: ObjectStore, batch: Batch, new: NDArray[np.int64]) -> Rows:
    """Make a proto-object of each observation at ``new``; rows come back in the same order."""
    rows = store.take(len(new))
    store.state[rows] = State.PROTO
    store.xyz[rows] = batch.xyz[new]
    store.extent[rows] = batch.extent[new]
    store.precision[rows] = batch.sigma[new] ** -2.0
    store.first_seen[rows] = batch.stamp
    width = batch.label_ids.shape[1]
    store.label_ids[rows, :width] = batch.label_ids[new]
    store.label_scores[rows, :width] = batch.label_scores[new]
    _mark_seen(store, batch, rows, new)
    return rows


def refresh(
    store: ObjectStore, batch: Batch, frame: Frame, rows: Rows, index: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Move each matched row toward its observation; tells which were seen from a new side."""
    _place(store, batch, frame, rows, index)
    if batch.label_ids.shape[1]:
        ids, scores = store.label_ids[rows], store.label_scores[rows]
        blend(ids, scores, batch.label_ids[index], batch.label_scores[index], store.settings.lifecycle.label_ewma)
        store.label_ids[rows], store.label_scores[rows] = ids, scores
    return _mark_seen(store, batch, rows, index)


def view_bins(view: Floats, views: Views) -> NDArray[np.int64]:
    """The bin of each direction from object to camera: azimuth sectors from -x, elevation bands from below."""
    turn = np.arctan2(view[:, 1], view[:, 0]) / (2.0 * np.pi) + 0.5
    rise = np.arcsin(np.clip(view[:, 2], -1.0, 1.0)) / np.pi + 0.5
    azimuth = (turn * views.azimuth_bins).astype(np.int64) % views.azimuth_bins
    elevation = np.minimum((rise * views.elevation_bins).astype(np.int64), views.elevation_bins - 1)
    bins: NDArray[np.int64] = elevation * views.azimuth_bins + azimuth
    return bins


def _place(store: ObjectStore, batch: Batch, frame: Frame, rows: Rows, index: NDArray[np.int64]) -> None:
    """Moving average of the box, weighted by what is known of each side.

    Where both faces of an axis moved the same way, the thing (or the estimate) moved: that shift enters with the
    observation's weight. What remains is a change of size: growth counts like a shift, shrinking only slowly
    because views are partial, and not at all when the remembered box was not wholly in the image.
    """
    rules = store.settings.lifecycle
    xyz, extent = store.xyz[rows], store.extent[rows]
    seen_xyz, seen_extent = batch.xyz[index], batch.extent[index]
    low = (seen_xyz - xyz) - 0.5 * (seen_extent - extent)
    high = (seen_xyz - xyz) + 0.5 * (seen_extent - extent)
    whole = _wholly_in_view(frame, xyz, extent)[:, np.newaxis]
    shift = np.where(low * high > 0.0, np.sign(low) * np.minimum(np.abs(low), np.abs(high)), 0.0)
    shift *= whole
    low -= shift
    high -= shift
    precision = batch.sigma[index] ** -2.0
    known = store.precision[rows]
    weight = (precision / (precision + known))[:, np.newaxis]
    shrink = weight * rules.extent_shrink * whole
    low *= np.where(low < 0.0, weight, shrink)
    high *= np.where(high > 0.0, weight, shrink)
    moved = weight * shift
    store.xyz[rows] = xyz + moved + 0.5 * (low + high)
    store.extent[rows] = np.maximum(extent + high - low, 0.0)
    store.points_origin[rows] += moved
    store.precision[rows] = np.minimum(known + precision, rules.precision_cap)
    surprise = np.einsum("ij,ij->i", shift, shift)
    store.spread[rows] += rules.spread_ewma * (surprise - store.spread[rows])


def _wholly_in_view(frame: Frame, xyz: Floats, extent: Floats) -> NDArray[np.bool_]:
    """Whether all corners of each box fall on the image."""
    corners = xyz[:, np.newaxis, :] + extent[:, np.newaxis, :] * _CORNERS
    pose, camera = frame.T_world_camera, frame.intrinsics
    local = (corners - pose.translation) @ pose.rotation
    depth = local[..., 2]
    ahead = np.maximum(depth, 1e-6)
    u = camera.fx * local[..., 0] / ahead + camera.cx
    v = camera.fy * local[..., 1] / ahead + camera.cy
    inside = (depth > 1e-6) & (u >= 0.0) & (u <= camera.width - 1) & (v >= 0.0) & (v <= camera.height - 1)
    return np.asarray(inside.all(axis=1), dtype=np.bool_)


_CORNERS = 0.5 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)


def _mark_seen(store: ObjectStore, batch: Batch, rows: Rows, index: NDArray[np.int64]) -> NDArray[np.bool_]:
    store.hits[rows] += 1
    store.last_seen[rows] = batch.stamp
    store.empty_views[rows] = 0
    count_chance(store, rows, detected=True)
    bins = view_bins(batch.view[index], store.settings.views)
    fresh = ~store.bins[rows, bins]
    store.bins[rows, bins] = True
    store.n_bins[rows] += fresh
    slot = store.ring_n[rows] % RING
    store.ring_frame[rows, slot] = batch.frame_id
    store.ring_camera[rows, slot] = batch.camera_xyz[index]
    store.ring_world[rows, slot] = batch.xyz[index]
    store.ring_n[rows] += 1
    known = batch.has_look[index] if batch.looks is not None else np.zeros(len(rows), dtype=np.bool_)
    if known.any():
        gallery.add_looks(store, batch, rows[known], index[known], fresh[known])
    if not known.all():
        blind = rows[~known]
        blind = blind[store.emb_hits[blind] == 0]
        spread = np.sqrt(store.spread[blind]) / store.settings.association.radius
        store.stability[blind] = np.maximum(1.0 - spread, 0.0)
    for place in np.flatnonzero(fresh | (store.n_points[rows] == 0)).tolist():
        points = batch.observations[int(index[place])].points
        if points is not None:
            _keep_points(store, int(rows[place]), points)
    return fresh


def count_chance(store: ObjectStore, rows: Rows, *, detected: bool) -> None:
    """Count that objects could have been detected, and whether they were."""
    expected, hit = store.expected[rows] + 1.0, store.detected[rows] + (1.0 if detected else 0.0)
    scale = np.where(expected > RATE_MEMORY, 0.5, 1.0).astype(np.float32)
    store.expected[rows], store.detected[rows] = expected * scale, hit * scale


def _keep_points(store: ObjectStore, row: int, points: NDArray[np.float32]) -> None:
    """Fill an empty row with the points of a view; later views take turns at a quarter of the places each."""
    held = int(store.n_points[row])
    if held == 0:
        store.points_origin[row] = store.xyz[row]
        places = np.arange(len(points))
    else:
        size = MAX_SURFACE_POINTS // POINT_GROUPS
        group = int(store.n_bins[row] - 1) % POINT_GROUPS
        start = min(group * size, held)
        places = np.arange(start, min(start + size, start + len(points)))
    chosen = points[np.arange(len(places)) * len(points) // len(places)]
    store.points[row, places] = chosen - store.points_origin[row]
    store.n_points[row] = max(held, int(places[-1]) + 1)
