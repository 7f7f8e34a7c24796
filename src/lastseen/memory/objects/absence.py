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
from lastseen.memory.objects.association import NO_LOOKS
from lastseen.memory.objects.compiled import compiled, half_to_float
from lastseen.memory.objects.eye import Eye, eye_from, eye_of, holds_box, seen_by
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.rivals import Nearness, found_beside
from lastseen.memory.objects.store import BODY, CONFIRMED, COUNTS, EMPTY_POSES, GAUGES, MISSING, RING, ObjectStore
from lastseen.memory.objects.update import count_miss, view_bin

POINT_STEP = 2
"""Every second surface point is looked at: 32 tell as much as 64 about a share."""
_X, _WIDE, _ORIGIN = BODY.first("xyz"), BODY.first("extent"), BODY.first("points_origin")
_LAST_SEEN, _MISSING_SINCE = BODY.first("last_seen"), BODY.first("missing_since")
_HITS, _RING_N, _N_POINTS = COUNTS.first("hits"), COUNTS.first("ring_n"), COUNTS.first("n_points")
_EMPTY_VIEWS = COUNTS.first("empty_views")
_EXPECTED, _DETECTED, _DOUBT = GAUGES.first("expected"), GAUGES.first("detected"), GAUGES.first("doubt")
_NO_MASK = np.empty((0, 0), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Gone:
    """An object whose place was seen empty often enough, and the evidence."""

    row: int
    views: int
    needed: int
    empty_share: float
    detection_rate: float


def look_for_absent(store: ObjectStore, frame: Frame, mask: NDArray[np.bool_] | None, *, awake: bool) -> list[Gone]:
    """Judge every remembered object in view that was not seen in this frame; ordered by number.

    ``awake`` tells that the detector found something known in this frame: a failed one's silence says nothing.
    """
    rules, views = store.absence, store.settings.views
    eye = eye_of(frame, frame.camera_of_depth)
    rows = store.grid.inside(*_box_in_view(eye, rules.max_range))
    needed, empty_share = np.zeros(len(rows), dtype=np.int64), np.empty(len(rows))
    linking = store.settings.linking
    _judge(
        rows,
        needed,
        empty_share,
        eye,
        eye_of(frame, frame.intrinsics),
        _rows_in_line(frame.depth),
        _NO_MASK if mask is None else mask,
        frame.stamp,
        awake,
        store.state,
        store.body,
        store.counts,
        store.gauges,
        store.points.view(np.uint16),
        store.bins,
        store.ring_place,
        store.empty_from,
        store.changed_at,
        store.version,
        views.azimuth_bins,
        views.elevation_bins,
        store.settings.lifecycle.remove_after,
        rules,
        store.seq,
        NO_LOOKS if store.dim is None else store.emb_mean,
        store.rivals,
        store.rival_hits,
        Nearness(store.gate.radius, linking.same_look, linking.rival_share),
    )
    enough = needed.nonzero()[0]
    return [
        Gone(
            row := int(rows[at]),
            int(store.empty_views[row]),
            int(needed[at]),
            round(float(empty_share[at]), 3),
            round(_rate.py_func(store.gauges[row]), 3),
        )
        for at in enough[np.argsort(store.seq[rows[enough]])].tolist()
    ]


def _rows_in_line(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """A depth image as compiled code knows it: read-only, row after row."""
    in_line = np.ascontiguousarray(depth)
    in_line.flags.writeable = False
    return in_line


@compiled
def _judge(
    rows: Rows,
    needed: Rows,
    empty_share: Floats,
    depth_eye: Floats,
    colour_eye: Floats,
    depth: NDArray[np.float32],
    mask: NDArray[np.bool_],
    stamp: float,
    awake: bool,
    state: NDArray[np.uint8],
    body: Floats,
    counts: NDArray[np.int32],
    gauges: NDArray[np.float32],
    points: NDArray[np.uint16],
    bins: NDArray[np.bool_],
    ring_place: NDArray[np.float32],
    empty_from: NDArray[np.float32],
    changed_at: NDArray[np.int64],
    version: int,
    azimuth_bins: int,
    elevation_bins: int,
    remove_after: float,
    rules: Absence,
    seq: NDArray[np.int64],
    means: NDArray[np.float32],
    rivals: NDArray[np.int64],
    rival_hits: NDArray[np.int32],
    nearness: Nearness,
) -> None:
    """Take what a frame shows at each object's place as evidence; ``needed`` becomes the views that were enough."""
    eye, colours = eye_from(depth_eye), eye_from(colour_eye)
    for at in range(len(rows)):
        row = rows[at]
        known, count, gauge = body[row], counts[row], gauges[row]
        confirmed = state[row] == CONFIRMED
        if not (confirmed or (state[row] == MISSING and stamp - known[_MISSING_SINCE] >= remove_after)):
            continue
        if known[_LAST_SEEN] >= stamp or count[_N_POINTS] == 0 or not _in_view(known, eye, rules):
            continue
        empty_share[at], present_share, open_share, fits = _measure(
            known, count, points[row], depth, mask, eye, rules
        )
        thin = min(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2])
        there = present_share >= rules.present_share
        empty = not there and empty_share[at] >= rules.min_visible_share
        # depth that fits a thing proves it there unless what is under or behind something so flat fits as well
        flat = thin < rules.flat and max(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2]) < rules.small
        worth = 0.0
        expected = flat and not empty and confirmed and awake and open_share >= rules.open_share
        if expected and count[_HITS] >= rules.silence_hits and _is_whole(known, colours):
            worth = rules.silence * _worth_of_silence(
                known, count, ring_place[row], eye, bins[row], azimuth_bins, elevation_bins, rules
            )
        if worth > 0.0 and found_beside(
            row, rows, stamp, body, counts, gauges, means, seq, rivals, rival_hits, nearness
        ):
            worth = 0.0
        silent = worth > 0.0
        proven = there and not flat
        if proven:
            count[_EMPTY_VIEWS], gauge[_DOUBT] = 0, 0.0
        if confirmed and (there or silent):
            count_miss(count, gauge, proven)
        if proven or silent or (there and confirmed):
            changed_at[row] = version
        # where depth could tell the thing from what is behind it and fits, the detector is wrong
        tells = silent and thin >= rules.fit_thickness
        if tells and fits >= rules.fit_share:
            gauge[_DOUBT] = max(gauge[_DOUBT] - rules.fit_doubt, 0.0)
            continue
        if not (empty or silent) or not _note_view(count, empty_from[row], eye, rules.view_baseline):
            continue
        changed_at[row] = version
        rate = _rate(gauge)
        # an empty place counts as what a detector's silence would be worth at its own rate; silence itself for less,
        # for things are remembered because they were detected, and a few detections are luck
        heard = worth * gauge[_DETECTED] / (gauge[_EXPECTED] + 2.0)
        gauge[_DOUBT] -= math.log(1.0 - min(rate if empty else heard, 0.99))
        if tells and fits < rules.present_share:
            gauge[_DOUBT] += rules.fit_doubt
        views = views_needed(rate, rules) if confirmed else rules.min_views
        certain = gauge[_DOUBT] >= -math.log(max(rules.chance, 1e-9)) and count[_EMPTY_VIEWS] >= rules.silent_views
        if certain or (empty and count[_EMPTY_VIEWS] >= views):
            needed[at] = views


@compiled
def _in_view(known: Floats, eye: Eye, rules: Absence) -> bool:
    """Whether an object's centre is in the image, from where something of its size would be noticed."""
    right, down, ahead = seen_by(eye, known[_X], known[_X + 1], known[_X + 2])
    size = max(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2])
    if not rules.min_range <= ahead <= _noticed_from(size, rules.small_range, rules.range_per_size, rules.max_range):
        return False
    column, line = eye.fx * right / ahead + eye.cx, eye.fy * down / ahead + eye.cy
    return 0 <= column < eye.width and 0 <= line < eye.height


@compiled
def _is_whole(known: Floats, eye: Eye) -> bool:
    x, y, z = known[_X], known[_X + 1], known[_X + 2]
    return holds_box(eye, x, y, z, known[_WIDE], known[_WIDE + 1], known[_WIDE + 2], 0.0)


@compiled
def _rate(gauge: NDArray[np.float32]) -> float:
    """How reliably a thing is detected when it could be."""
    return (float(gauge[_DETECTED]) + 1.0) / (float(gauge[_EXPECTED]) + 2.0)


@compiled
def views_needed(rate: float, rules: Absence) -> int:
    """Distinct empty views that a detection rate asks for: until so many misses in a row would be a rare chance."""
    if rules.chance <= 0.0:
        return max(rules.max_views, rules.min_views)
    misses = math.ceil(math.log(rules.chance) / math.log(min(max(1.0 - rate, 1e-9), 1.0 - 1e-9)))
    return max(min(misses, rules.max_views), rules.min_views)


@compiled
def _measure(
    known: Floats,
    count: NDArray[np.int32],
    points: NDArray[np.uint16],
    depth: NDArray[np.float32],
    mask: NDArray[np.bool_],
    eye: Eye,
    rules: Absence,
) -> tuple[float, float, float, float]:
    """Compare the depth expected at surface points with the depth measured there.

    Gives the shares of points that are empty, present and unhidden, and the share of the unhidden that fit closely.

    A point is empty where everything measured around it lies clearly behind it, and present where the depth at it
    is its own. It is neither where it is hidden, out of the image or out of range, or where depth is missing, and
    points at a thing's foot tell nothing.
    """
    held = empty = present = unhidden = close = lost = standing = 0
    underside = known[_X + 2] - 0.5 * known[_WIDE + 2] - known[_ORIGIN + 2]
    for number in range(0, count[_N_POINTS], POINT_STEP):
        held += 1
        point = points[number]
        x, y, rise = half_to_float(point[0]), half_to_float(point[1]), half_to_float(point[2])
        right, down, ahead = seen_by(eye, x + known[_ORIGIN], y + known[_ORIGIN + 1], rise + known[_ORIGIN + 2])
        # what the thing stands on shows at its foot whether it is there or not, and the higher up the farther away
        # it is and the more a tilt of the camera moves it
        real = rise > underside + rules.foot + rules.lateral_angle * ahead
        standing += real
        if not max(rules.min_range, 1e-3) <= ahead <= rules.max_range:
            continue
        column, line = round(eye.fx * right / ahead + eye.cx), round(eye.fy * down / ahead + eye.cy)
        if not (0 <= column < eye.width and 0 <= line < eye.height) or (mask.size and mask[line, column]):
            continue
        margin = rules.depth_margin + rules.depth_noise * ahead * ahead
        behind = depth[line, column] - ahead
        if not behind >= -margin:
            lost += np.isnan(behind)
            continue
        unhidden += 1
        close += abs(behind) <= 0.5 * margin
        if real:
            present += behind <= margin
            side = (rules.lateral_margin + rules.lateral_angle * ahead) * (eye.fx / ahead)
            empty += all_behind(depth, line, column, side, ahead + margin)
    # of a flat thing nearly all is foot: its few points above must not speak for it
    told = max(standing, rules.min_points, rules.standing_share * held)
    # where depth is lost, as on what is seen at a grazing angle, nobody knows whether something is in front
    return empty / told, present / told, (unhidden + 0.5 * lost) / max(held, 1), close / max(unhidden, 1)


@compiled
def all_behind(depth: NDArray[np.float32], row: int, column: int, side: float, limit: float) -> bool:
    """Whether all that was measured at a pixel and near and far to its sides is farther away than a limit.

    Near and far: a thin thing that the pose puts beside its place must not slip between two looks. Not below: what
    the thing stands on comes toward the camera there. Depth is lost at edges, and where there is an edge there may
    be the thing: what was not measured is not behind.
    """
    if not depth[row, column] > limit:
        return False
    for share in (0.5, 1.0):
        step = math.ceil(min(share * side, depth.shape[0] + depth.shape[1]))
        left, right = max(column - step, 0), min(column + step, depth.shape[1] - 1)
        above = depth[max(row - step, 0), column]
        if not (depth[row, left] > limit and depth[row, right] > limit and above > limit):
            return False
    return True


@compiled
def _worth_of_silence(
    known: Floats,
    count: NDArray[np.int32],
    ring_place: NDArray[np.float32],
    eye: Eye,
    bins: NDArray[np.bool_],
    azimuth_bins: int,
    elevation_bins: int,
    rules: Absence,
) -> float:
    """How nearly a thing would be detected in this view as it used to be, 0 to 1.

    Things are found less the farther away they are beyond their usual range, and a side that they were never
    detected from is as good as farther away. What is too far counts for nothing.
    """
    x, y, z = eye.x - known[_X], eye.y - known[_X + 1], eye.z - known[_X + 2]
    away = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    held = min(count[_RING_N], RING)
    usual = 0.0
    for slot in range(held):
        square = 0.0
        for axis in range(3):
            square += np.float64(ring_place[slot, axis]) ** 2
        usual += math.sqrt(square) / held
    farther = away / max(usual, 1e-9)
    if not bins[view_bin(x / away, y / away, z / away, azimuth_bins, elevation_bins)]:
        farther *= rules.unseen_side
    return min(rules.surely_within / farther, 1.0) if farther <= rules.heard_within else 0.0


def noticed_within(extent: Floats, rules: Absence) -> Floats:
    """The range in metres from which things of these sizes are judged, and would be noticed."""
    limits = rules.small_range, rules.range_per_size, rules.max_range
    return np.array([_noticed_from(size, *limits) for size in extent.max(axis=1).tolist()])


@compiled
def _noticed_from(size: float, small_range: float, range_per_size: float, max_range: float) -> float:
    return min(small_range + range_per_size * size, max_range)


@compiled
def _box_in_view(numbers: Floats, reach: float) -> tuple[Floats, Floats]:
    """Lowest and highest corner of the box around all that a camera can see up to a range."""
    eye = eye_from(numbers)
    low, high = np.array([eye.x, eye.y, eye.z]), np.array([eye.x, eye.y, eye.z])
    for column in (0.0, eye.width):
        for line in (0.0, eye.height):
            right, down = reach * (column - eye.cx) / eye.fx, reach * (line - eye.cy) / eye.fy
            x = eye.x + right * eye.right_x + down * eye.down_x + reach * eye.ahead_x
            y = eye.y + right * eye.right_y + down * eye.down_y + reach * eye.ahead_y
            z = eye.z + right * eye.right_z + down * eye.down_z + reach * eye.ahead_z
            low[0], low[1], low[2] = min(low[0], x), min(low[1], y), min(low[2], z)
            high[0], high[1], high[2] = max(high[0], x), max(high[1], y), max(high[2], z)
    return low, high


@compiled
def _note_view(count: NDArray[np.int32], empty_from: NDArray[np.float32], eye: Eye, baseline: float) -> bool:
    """Count an empty view if the camera stands apart from the places it counted from; tells whether it did."""
    views = count[_EMPTY_VIEWS]
    for slot in range(min(views, EMPTY_POSES)):
        x, y, z = empty_from[slot, 0] - eye.x, empty_from[slot, 1] - eye.y, empty_from[slot, 2] - eye.z
        if math.sqrt(x * x + y * y + z * z) < baseline:
            return False
    place = empty_from[views % EMPTY_POSES]
    place[0], place[1], place[2] = eye.x, eye.y, eye.z
    count[_EMPTY_VIEWS] += 1
    return True
