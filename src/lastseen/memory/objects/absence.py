"""Seeing that something is gone: the place was in view, nothing occluded it, and depth went through it.

One long stare counts as one view: views count once per camera place. How many are enough depends on how reliably the
object used to be detected when it stood there. Of a flat thing depth tells little, so there the detector's misses are
evidence too. A small thing that nobody detects in plain view is gone, whatever depth says of its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, one_layout
from lastseen.frame import Frame
from lastseen.memory.objects.boxes import turned
from lastseen.memory.objects.camera import (
    CameraView,
    box_in_view,
    camera_numbers,
    image_holds_box,
    view_bin,
    view_from,
)
from lastseen.memory.objects.cannot_link import seen_beside
from lastseen.memory.objects.columns import (
    BODY,
    CONFIRMED,
    COUNTS,
    EMPTY_POSES,
    GAUGES,
    MISSING,
    RING,
    AbsenceRules,
    Floats,
    ObjectColumns,
    Plain,
    Rows,
)
from lastseen.memory.objects.depth_evidence import OPEN_SHARE, SMALL, is_in_view, measure
from lastseen.memory.objects.grid import GridColumns, inside
from lastseen.memory.objects.missed_detection import LIKELY, Shares, add_missed_view, chance_of_detection
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.objects.update import count_miss

EMPTY_SHARE = 0.5
"""Share of an object's surface points that must be seen through before its place is empty."""
PRESENT_SHARE = 0.2
"""Share of surface points met at their depth that says the thing stands there; its far side is hidden."""
FLAT = 0.2
"""Metres of thickness below which a thing lies before a wall or on a table whose depth fits it nearly as well:
whether it is there is then for the detector to say."""
MIN_HITS = 4
"""Observations below which nothing is known about how reliably a thing is detected."""
MIN_MISSED_VIEWS = 4
"""Distinct camera places that must agree where missed detections are evidence: one more than for depth."""
MISSED_TIMES = 2.5
"""Evidence that is enough, in times of what the allowed chance asks for: how a detector fails is itself only guessed.
In 20 tuning homes the most evidence against what stood there was 8.8 nats; in 20 others one thing had 10.4."""
MISSED_SIZE = 0.5
"""Metres up to which a thing can be missed so: how large it appears is judged by its box, and larger ones of such
things are mostly blown up."""
SEEN_HITS = 3
"""Observations below which an empty place says nothing: what was seen twice may never have been there."""
MISSED_AT_LEAST = 9.0
"""Nats of evidence below which no allowed chance makes a thing missing: more than views from one spot can bring."""
DOUBTED_VIEWS, DOUBTED_SHARE = 2, 0.5
"""Distinct camera places, and share of the evidence that makes a thing missing, from which it is doubted: not enough
to say that it is gone, enough where its like has come elsewhere."""
DOUBTED = -1
"""Stands for the views needed of a thing that is only doubted."""
MAX_VIEWS = 8
"""Even a thing that is rarely detected is gone after this many empty views."""
VIEW_BASELINE = 0.15
"""Metres between camera places that are distinct views; turning on the spot is one."""
USUAL_SHARE = 0.5
"""Share of a thing's own sightings from as far or farther at which it is found as often as ever; beyond, less."""
FAR_SHARE = 0.25
"""Share below which a view is from too far to tell: hardly any sighting of it was."""
UNSEEN_SIDE = 1.3
"""A side that a thing was never detected from counts as this much farther away."""
FIT_THICKNESS = 0.06
"""Metres of thickness from which depth tells something even before a wall."""
FIT_SHARE = 0.5
"""Share of a thing's unoccluded points within half the depth margin that shows it there, whatever is detected: so in
3 of 5 views of what stands there undetected, 1 of 5 of what is gone."""
FIT_DOUBT = 0.5
"""Nats of doubt that such a fit takes back, and that a fit of less than ``PRESENT_SHARE`` adds to a miss."""
FEW = 64
"""Objects up to which it is asked first whether any was not seen: the first frames then compile nothing for it."""
_X, _WIDE, _YAW = BODY.first("xyz"), BODY.first("extent"), BODY.first("yaw")
_LAST_SEEN, _MISSING_SINCE = BODY.first("last_seen"), BODY.first("missing_since")
_HITS, _RING_N, _N_POINTS = COUNTS.first("hits"), COUNTS.first("ring_n"), COUNTS.first("n_points")
_EMPTY_VIEWS, _SURFACE_HITS = COUNTS.first("empty_views"), COUNTS.first("surface_hits")
_EXPECTED, _DETECTED, _DOUBT = GAUGES.first("expected"), GAUGES.first("detected"), GAUGES.first("doubt")
_MISSED_EVIDENCE = GAUGES.first("missed_evidence")
_NO_MASK = np.empty((0, 0), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Gone:
    """An object whose place was seen empty often enough, and the evidence."""

    row: int
    views: int
    needed: int
    empty_share: float
    detection_rate: float


class FrameEvidence(NamedTuple):
    """What one frame brings; the cameras are as ``camera_numbers`` gives them."""

    depth_camera: Floats
    colour_camera: Floats
    depth: NDArray[np.float32]
    mask: NDArray[np.bool_]
    stamp: float
    detector_works: bool
    version: int


def find_absent(
    store: ObjectStore, frame: Frame, mask: NDArray[np.bool_] | None, *, detector_works: bool
) -> tuple[list[Gone], list[int]]:
    """Judge every object in view that was not seen in this frame: what is gone, and rows in doubt; by number.

    ``detector_works`` is whether the detector found something known in this frame: the misses of one that fails mean
    nothing. ``mask`` marks the pixels of the depth image that show the robot itself.
    """
    if store.used <= FEW and not (store.last_seen[: store.used] < frame.stamp).any():
        return [], []
    evidence = FrameEvidence(
        camera_numbers(frame, frame.camera_of_depth),
        camera_numbers(frame, frame.intrinsics),
        one_layout(frame.depth),
        _NO_MASK if mask is None else mask,
        frame.stamp,
        detector_works,
        store.version,
    )
    columns, grid, rules = tuple(store.compiled_columns()), store.grid, tuple(store.absence_rules)
    while True:
        rows, needed = np.zeros((2, grid.room), dtype=np.int64)
        empty_share = np.empty(grid.room)
        count = _judge(rows, needed, empty_share, tuple(evidence), columns, tuple(grid.columns), rules)
        if count <= grid.room:
            break
        grid.room = 2 * count
    judged = needed[:count].nonzero()[0]
    judged = judged[np.argsort(store.seq[rows[judged]])]
    gone = [
        Gone(
            row := int(rows[at]),
            int(store.empty_views[row]),
            int(needed[at]),
            round(float(empty_share[at]), 3),
            round(detection_rate(store.detected[row], store.expected[row]), 3),
        )
        for at in judged[needed[judged] > 0].tolist()
    ]
    return gone, rows[judged[needed[judged] < 0]].tolist()


@compiled
def _judge(
    rows: Rows,
    needed: Rows,
    empty_share: Floats,
    evidence: Plain,
    object_columns: Plain,
    grid_columns: Plain,
    absence_rules: Plain,
) -> int:
    """Take what a frame shows at each object's place as evidence; ``needed`` becomes the views that were enough.

    ``rows`` become those that may be in view. Returns how many they are, and does nothing where there is no room.
    """
    frame, objects = FrameEvidence(*evidence), ObjectColumns(*object_columns)
    grid, rules = GridColumns(*grid_columns), AbsenceRules(*absence_rules)
    low, high = box_in_view(frame.depth_camera, rules.max_range)
    close_by = inside(low, high, grid, rows)
    if close_by > len(rows):
        return close_by
    view, colours = view_from(frame.depth_camera), view_from(frame.colour_camera)
    stamp, body, counts, gauges = frame.stamp, objects.body, objects.counts, objects.gauges
    for at in range(close_by):
        row = rows[at]
        known, count, gauge = body[row], counts[row], gauges[row]
        state = objects.state[row]
        confirmed = state == CONFIRMED
        if not (confirmed or (state == MISSING and stamp - known[_MISSING_SINCE] >= rules.remove_after)):
            continue
        if known[_LAST_SEEN] >= stamp or count[_N_POINTS] == 0:
            continue
        # of floor and walls there is always more than was seen; only things are missed
        if 2 * count[_SURFACE_HITS] > count[_HITS]:
            continue
        if not is_in_view(known, view, rules.min_range, rules.max_range):
            continue
        empty_share[at], present_share, open_share, fits = measure(
            known, count, objects.points[row], frame.depth, frame.mask, view, rules.min_range, rules.max_range
        )
        thin = min(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2])
        there = present_share >= PRESENT_SHARE
        empty = not there and empty_share[at] >= EMPTY_SHARE
        # depth that fits a thing proves it there unless what is under or behind something so flat fits as well
        small = max(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2]) < SMALL
        flat = thin < FLAT and small
        whole = _is_whole(known, colours)
        chance, weight = 0.0, 0.0
        can_be_missed = confirmed and frame.detector_works and count[_HITS] >= MIN_HITS
        if can_be_missed and max(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2]) < MISSED_SIZE:
            chance = chance_of_detection(
                known, count, gauge, objects.ring_place[row], objects.bins[row], open_share, whole, colours, rules
            )
        if can_be_missed and flat and not empty and open_share >= OPEN_SHARE and whole:
            weight = rules.missed_weight * _weight_of_miss(
                known, count, objects.ring_place[row], view, objects.bins[row], rules
            )
        met = objects.seq, objects.neighbours, objects.neighbour_hits
        if (weight > 0.0 or chance >= LIKELY) and seen_beside(
            row, rows[:close_by], stamp, rules.radius, body, counts, gauges, objects.emb_mean, met
        ):
            chance = weight = 0.0
        if chance >= LIKELY:
            shares = Shares(empty_share[at], present_share, open_share, fits)
            add_missed_view(gauge, shares, chance, rules.missed_weight, view)
            objects.changed_at[row] = frame.version
        rate = _detection_rate(gauge[_DETECTED], gauge[_EXPECTED])
        views = views_needed(rate, rules.chance, rules.min_views) if confirmed else rules.min_views
        limit = -math.log(max(rules.chance, 1e-9))
        if gauge[_MISSED_EVIDENCE] >= max(MISSED_TIMES * limit, MISSED_AT_LEAST):
            needed[at] = views
        missed = weight > 0.0
        proven = there and not flat
        if proven:
            count[_EMPTY_VIEWS], gauge[_DOUBT] = 0, 0.0
        if confirmed and (there or missed):
            count_miss(count, gauge, proven)
        if proven or missed or (there and confirmed):
            objects.changed_at[row] = frame.version
        # where depth could tell the thing from what is behind it and fits, the detector is wrong
        depth_decides = missed and thin >= FIT_THICKNESS
        if depth_decides and fits >= FIT_SHARE:
            gauge[_DOUBT] = max(gauge[_DOUBT] - FIT_DOUBT, 0.0)
            continue
        if not (empty or missed) or not _note_view(count, objects.empty_from[row], view):
            continue
        objects.changed_at[row] = frame.version
        # an empty place counts as what a miss would be worth at the detector's own rate; a miss itself for less,
        # for things are remembered because they were detected, and a few detections are luck
        missed_rate = weight * gauge[_DETECTED] / (gauge[_EXPECTED] + 2.0)
        gauge[_DOUBT] -= math.log(1.0 - min(rate if empty else missed_rate, 0.99))
        if depth_decides and fits < PRESENT_SHARE:
            gauge[_DOUBT] += FIT_DOUBT
        certain = gauge[_DOUBT] >= limit and count[_EMPTY_VIEWS] >= MIN_MISSED_VIEWS
        seen = count[_HITS] >= SEEN_HITS and (certain or (empty and count[_EMPTY_VIEWS] >= views))
        # what people told of was never seen, and is no detector's mistake
        if seen or (count[_HITS] == 0 and certain):
            needed[at] = views
        doubted = gauge[_DOUBT] >= DOUBTED_SHARE * limit and count[_EMPTY_VIEWS] >= DOUBTED_VIEWS
        if confirmed and doubted and needed[at] == 0:
            needed[at] = DOUBTED
    return close_by


@compiled
def _is_whole(known: Floats, view: CameraView) -> bool:
    x, y, z = known[_X], known[_X + 1], known[_X + 2]
    size = known[_WIDE], known[_WIDE + 1], known[_WIDE + 2]
    return image_holds_box(view, x, y, z, size, known[_YAW], 0.0)


def detection_rate(detected: np.float32, expected: np.float32) -> float:
    """How reliably a thing is detected when it could be, with one hit and one miss added while little is known."""
    return (float(detected) + 1.0) / (float(expected) + 2.0)


_detection_rate = compiled(detection_rate)


@compiled
def views_needed(rate: float, chance: float, min_views: int) -> int:
    """Distinct empty views that a detection rate asks for: until so many misses in a row would be a rare chance."""
    if chance <= 0.0:
        return max(MAX_VIEWS, min_views)
    misses = math.ceil(math.log(chance) / math.log(min(max(1.0 - rate, 1e-9), 1.0 - 1e-9)))
    return max(min(misses, MAX_VIEWS), min_views)


@compiled
def _weight_of_miss(
    known: Floats,
    count: NDArray[np.int32],
    ring_place: NDArray[np.float32],
    view: CameraView,
    bins: NDArray[np.bool_],
    rules: AbsenceRules,
) -> float:
    """How nearly a thing would be detected in this view as it used to be, 0 to 1.

    Its own sightings tell from how far it is found: a view from where half of them were as far or farther counts in
    full, one that hardly any was for nothing, and a side that it was never detected from is as good as farther away.
    """
    x, y, z = view.x - known[_X], view.y - known[_X + 1], view.z - known[_X + 2]
    away = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    judged_from = away
    x, y = turned(x, y, known[_YAW])
    if not bins[view_bin(x / away, y / away, z / away, rules.azimuth_bins, rules.elevation_bins)]:
        judged_from *= UNSEEN_SIDE
    held, farther = min(count[_RING_N], RING), 0
    for slot in range(held):
        square = 0.0
        for axis in range(3):
            square += np.float64(ring_place[slot, axis]) ** 2
        farther += square >= judged_from * judged_from
    share = farther / max(held, 1)
    return min(share / USUAL_SHARE, 1.0) if share >= FAR_SHARE else 0.0


@compiled
def _note_view(count: NDArray[np.int32], empty_from: NDArray[np.float32], view: CameraView) -> bool:
    """Count an empty view if the camera stands apart from the places it counted from; returns whether it did."""
    views = count[_EMPTY_VIEWS]
    for slot in range(min(views, EMPTY_POSES)):
        x, y, z = empty_from[slot, 0] - view.x, empty_from[slot, 1] - view.y, empty_from[slot, 2] - view.z
        if math.sqrt(x * x + y * y + z * z) < VIEW_BASELINE:
            return False
    place = empty_from[views % EMPTY_POSES]
    place[0], place[1], place[2] = view.x, view.y, view.z
    count[_EMPTY_VIEWS] += 1
    return True
