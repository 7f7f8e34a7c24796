"""Seeing that something is gone: the place was in view, nothing hid it, and depth went through it.

Occlusion, missing depth, the robot's own body, range, and a camera that looks elsewhere are no evidence. Neither is
one long stare: views count once per camera place. How many are enough depends on how reliably the object used to be
detected when it stood there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Absence
from lastseen.frame import Frame
from lastseen.memory.objects.batch import wholly_in_view
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.store import CONFIRMED, EMPTY_POSES, MISSING, RING, ObjectStore
from lastseen.memory.objects.update import count_misses, view_bins

POINT_STEP = 2
"""Every second surface point is looked at: 32 tell as much as 64 about a share."""


@dataclass(frozen=True, slots=True)
class Gone:
    """An object whose place was seen empty often enough, and the evidence."""

    row: int
    views: int
    needed: int
    empty_share: float
    detection_rate: float


@dataclass(slots=True)
class Sights:
    """What a frame shows at each object's surface points, as shares of the points."""

    empty: Floats
    present: Floats
    open: Floats


def look_for_absent(store: ObjectStore, frame: Frame, mask: NDArray[np.bool_] | None, *, awake: bool) -> list[Gone]:
    """Judge every remembered object in view that was not seen in this frame; ordered by number.

    ``awake`` tells that the detector found something known in this frame: a failed one's silence says nothing.
    """
    rules = store.settings.absence
    rows = _unseen_in_view(store, frame, rules)
    if not len(rows):
        return []
    sights = measure(store, frame, rows, mask)
    confirmed = store.state[rows] == CONFIRMED
    there = sights.present >= rules.present_share
    empty = ~there & (sights.empty >= rules.min_visible_share)
    # depth that fits a thing proves it there unless the thing is so flat that what is under or behind it fits as well
    extent = store.extent[rows]
    flat = (extent.min(axis=1) < rules.flat) & (extent.max(axis=1) < rules.small)
    proven = there & ~flat
    if proven.any():
        store.empty_views[rows[proven]], store.doubt[rows[proven]] = 0, 0.0
    unnoticed = confirmed & (there | (flat & (sights.open >= rules.open_share)))
    if unnoticed.any():
        count_misses(store, rows[unnoticed], proven[unnoticed])
    store.touch(rows[unnoticed | proven])
    missed = flat & ~empty & confirmed & (sights.open >= rules.open_share) & (store.hits[rows] >= rules.silence_hits)
    missed &= awake
    # where depth could tell the thing from what is behind it and fits, the detector is wrong
    missed &= ~(there & (extent.min(axis=1) >= rules.depth_margin))
    missed[missed] = _seen_so_before(store, frame, rows[missed])
    evidence = (empty | missed).nonzero()[0]
    if not len(evidence):
        return []
    rows, share, empty = rows[evidence], sights.empty[evidence], empty[evidence]
    distinct = _note_view(store, rows, frame)
    rows, share, empty = rows[distinct], share[distinct], empty[distinct]
    rate = (store.detected[rows] + 1.0) / (store.expected[rows] + 2.0)
    # an empty place counts as what a detector's silence would be worth at its own rate, silence alone for less
    store.doubt[rows] -= np.log(1.0 - np.minimum(np.where(empty, rate, rules.silence * rate), 0.99))
    needed = np.where(store.state[rows] == MISSING, rules.min_views, views_needed(rate, rules))
    certain = store.doubt[rows] >= -math.log(max(rules.chance, 1e-9))
    certain |= empty & (store.empty_views[rows] >= needed)
    enough = (certain & (store.empty_views[rows] >= rules.min_views)).nonzero()[0]
    return [
        Gone(
            int(rows[at]),
            int(store.empty_views[rows[at]]),
            int(needed[at]),
            round(float(share[at]), 3),
            round(float(rate[at]), 3),
        )
        for at in enough[np.argsort(store.seq[rows[enough]])].tolist()
    ]


def views_needed(rate: NDArray[np.floating], rules: Absence) -> NDArray[np.int64]:
    """Distinct empty views that a detection rate asks for: until so many misses in a row would be a rare chance."""
    if rules.chance <= 0.0:
        return np.full(len(rate), max(rules.max_views, rules.min_views))
    misses = np.ceil(math.log(rules.chance) / np.log(np.minimum(np.maximum(1.0 - rate, 1e-9), 1.0 - 1e-9)))
    wanted: NDArray[np.int64] = np.maximum(np.minimum(misses, rules.max_views), rules.min_views).astype(np.int64)
    return wanted


def measure(store: ObjectStore, frame: Frame, rows: Rows, mask: NDArray[np.bool_] | None) -> Sights:
    """Compare the depth expected at surface points with the depth measured there and close beside.

    A point is empty where everything measured around it lies clearly behind it, and present where the depth at it
    is its own. It is neither where it is hidden, out of the image or out of range, or where depth is missing, and
    points at a thing's foot tell nothing.
    """
    rules = store.settings.absence
    camera, depth = frame.camera_of_depth, frame.depth
    offsets = store.points[rows, ::POINT_STEP].astype(np.float64)
    pose = frame.T_world_camera
    local = (offsets + (store.points_origin[rows] - pose.translation)[:, np.newaxis]) @ pose.rotation
    held = np.arange(0, store.points.shape[1], POINT_STEP) < store.n_points[rows][:, np.newaxis]
    # of a flat thing nearly all is foot: its few points above must not speak for it
    all_points = held.sum(axis=1)
    least = np.maximum(rules.min_points, rules.standing_share * all_points)
    z = local[..., 2]
    # what the thing stands on shows at its foot whether it is there or not, and the higher up the farther away it is
    # and the more a tilt of the camera moves it
    underside = store.xyz[rows, 2] - 0.5 * store.extent[rows, 2] - store.points_origin[rows, 2]
    real = held & (offsets[..., 2] > (underside + rules.foot)[:, np.newaxis] + rules.lateral_angle * z)
    judged = held & (z >= max(rules.min_range, 1e-3)) & (z <= rules.max_range)
    ahead = np.where(judged, z, 1.0)
    u = np.rint(camera.fx * local[..., 0] / ahead + camera.cx)
    v = np.rint(camera.fy * local[..., 1] / ahead + camera.cy)
    judged &= (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height)
    column, row = np.where(judged, u, 0).astype(np.int64), np.where(judged, v, 0).astype(np.int64)
    at = depth[row, column]
    if mask is not None:
        judged &= ~mask[row, column]
    # near and far to each side: a thin thing that the pose puts beside its place must not slip between two looks
    side = (rules.lateral_margin + rules.lateral_angle * ahead) * (camera.fx / ahead)
    nearest = at
    for share in (0.5, 1.0):
        step = np.ceil(share * side).astype(np.int64)
        left, right = np.maximum(column - step, 0), np.minimum(column + step, camera.width - 1)
        # not below: what the thing stands on comes toward the camera there
        above = np.maximum(row - step, 0)
        for v_at, u_at in ((row, left), (row, right), (above, column)):
            # NaN stays: depth is lost at edges, and where there is an edge there may be the thing
            nearest = np.minimum(nearest, depth[v_at, u_at])
    margin = rules.depth_margin + rules.depth_noise * ahead * ahead
    count = np.maximum(real.sum(axis=1), least)
    empty = judged & real & (nearest > ahead + margin)
    present = judged & real & (np.abs(at - ahead) <= margin)
    unhidden = judged & (at >= ahead - margin)
    return Sights(
        empty.sum(axis=1) / count, present.sum(axis=1) / count, unhidden.sum(axis=1) / np.maximum(all_points, 1)
    )


def _seen_so_before(store: ObjectStore, frame: Frame, rows: Rows) -> NDArray[np.bool_]:
    """Whether each is wholly in the image, from a side it was detected from, and no farther than it used to be.

    Only then is a detector's silence the silence of one that has found this thing in such a view.
    """
    toward = frame.T_world_camera.translation - store.xyz[rows]
    away = np.linalg.norm(toward, axis=1)
    side = view_bins(toward / np.maximum(away, 1e-9)[:, np.newaxis], store.settings.views)
    held = np.arange(RING) < store.ring_n[rows][:, np.newaxis]
    far = np.linalg.norm(store.ring_camera[rows], axis=2)
    count = np.maximum(held.sum(axis=1), 1)
    usual = (far * held).sum(axis=1) / count
    spread = np.sqrt((np.square(far - usual[:, np.newaxis]) * held).sum(axis=1) / count)
    so: NDArray[np.bool_] = store.bins[rows, side] & (away <= usual + spread)
    return so & wholly_in_view(frame, store.xyz[rows], store.extent[rows])


def noticed_within(extent: Floats, rules: Absence) -> Floats:
    """The range in metres from which things of these sizes are judged, and would be noticed."""
    reach: Floats = np.minimum(rules.small_range + rules.range_per_size * extent.max(axis=1), rules.max_range)
    return reach


def _unseen_in_view(store: ObjectStore, frame: Frame, rules: Absence) -> Rows:
    """Confirmed and missing objects with surface points whose centre is in the image, by number."""
    camera, pose = frame.camera_of_depth, frame.T_world_camera
    rows = store.grid.inside(*_box_in_view(frame, rules.max_range))
    state = store.state[rows]
    missing = state == MISSING
    known = (state == CONFIRMED) | missing
    known &= (store.last_seen[rows] < frame.stamp) & (store.n_points[rows] > 0)
    if np.count_nonzero(missing):
        known &= ~(missing & (frame.stamp - store.missing_since[rows] < store.settings.lifecycle.remove_after))
    rows = rows[known]
    local = (store.xyz[rows] - pose.translation) @ pose.rotation
    z = local[:, 2]
    inside = (z >= rules.min_range) & (z <= noticed_within(store.extent[rows], rules))
    ahead = np.where(inside, z, 1.0)
    u = camera.fx * local[:, 0] / ahead + camera.cx
    v = camera.fy * local[:, 1] / ahead + camera.cy
    inside &= (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height)
    rows = rows[inside]
    ordered: Rows = rows[store.seq[rows].argsort()]
    return ordered


def _box_in_view(frame: Frame, reach: float) -> tuple[Floats, Floats]:
    """Lowest and highest corner of the box around all that the depth camera can see up to a range."""
    camera, pose = frame.camera_of_depth, frame.T_world_camera
    left, right = -camera.cx / camera.fx, (camera.width - camera.cx) / camera.fx
    top, bottom = -camera.cy / camera.fy, (camera.height - camera.cy) / camera.fy
    ends = np.array([[left, top, 1.0], [left, bottom, 1.0], [right, top, 1.0], [right, bottom, 1.0], [0.0, 0.0, 0.0]])
    ends = ends @ (reach * pose.rotation.T) + pose.translation
    return ends.min(axis=0), ends.max(axis=0)


def _note_view(store: ObjectStore, rows: Rows, frame: Frame) -> NDArray[np.bool_]:
    """Count an empty view where the camera stands apart from the places it counted from; tells where it did."""
    place = frame.T_world_camera.translation
    views = store.empty_views[rows]
    gap = store.empty_from[rows] - place
    gap = np.sqrt(np.add.reduce(gap * gap, axis=2))
    used = np.arange(EMPTY_POSES) < views[:, np.newaxis]
    distinct: NDArray[np.bool_] = (~used | (gap >= store.settings.absence.view_baseline)).all(axis=1)
    chosen = rows[distinct]
    store.empty_from[chosen, views[distinct] % EMPTY_POSES] = place
    store.empty_views[chosen] += 1
    store.touch(chosen)
    return distinct
