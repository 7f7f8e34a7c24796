"""Missed-detection evidence: a thing in plain view that no detector finds, frame after frame, is hardly there.

How likely a thing is to be detected in a view follows from how much of it is open to view, how large it appears, its
own record, and from where it was found before. Each view in which it is not adds what that is worth in nats, and what
depth says of its surface; a sighting ends it. Views from one spot go wrong together: any number of views without a
step count less than twice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled
from lastseen.memory.objects.boxes import turned
from lastseen.memory.objects.camera import CameraView, view_bin
from lastseen.memory.objects.columns import BODY, COUNTS, GAUGES, RING, AbsenceRules, Floats

BASE, OPEN_A_LITTLE, OPEN_A_LOT, AS_NEAR, KNOWN_SIDE = -8.06, 3.33, 1.79, 1.59, 0.84
WHOLE, LARGER, LARGE_ENOUGH, RECORD = -0.38, 1.2, 1.14, 0.45
"""Log odds of a detection: logistic regression on 22,000 views of what stood there in the tuning homes."""
A_LITTLE, A_LOT = 0.3, 0.8
"""Open share up to which each part of it counts a lot, and from which more tells nothing."""
NEAR_SHARE = 0.5
"""Share of a thing's own sightings from as far or farther from which it is as near as ever."""
SIDE = 16.0
"""Pixels of an image 640 wide, by the side of a square, at which a detector finds every second thing."""
SMALLEST, ENOUGH, LARGEST = -1.5, 0.5, 2.5
"""Doublings of it: below, between and beyond which size tells nothing more."""
IMAGE_WIDTH = 640.0
LIKELY, MOST_LIKELY = 0.3, 0.95
"""Chance of a detection below which a miss says nothing, and above which none is believed."""
DEPTH_BASE, DEPTH_EMPTY, DEPTH_PRESENT, DEPTH_FITS = -0.48, -4.86, 1.65, 1.64
"""Log odds that a thing which was not detected stands there, by the shares of its points that are empty, present and
close to their depth: regression on the missed views, both sides weighted alike."""
MOST_POINTS = 0.6
"""Share of points beyond which more of them tell nothing."""
DEPTH_WEIGHT, DEPTH_LIMIT = 0.5, 1.5
"""Part of what depth says that counts, for one surface errs the same way in many views, and most nats of a view."""
SHOWN = 0.5
"""Share of points both present and close to their depth from which depth shows the thing, whatever is detected."""
STEP = 0.3
"""Metres to a spot from which a thing is seen anew."""
_X, _WIDE, _YAW = BODY.first("xyz"), BODY.first("extent"), BODY.first("yaw")
_RING_N = COUNTS.first("ring_n")
_EXPECTED, _DETECTED = GAUGES.first("expected"), GAUGES.first("detected")
_MISSED_EVIDENCE, _MISSED_VIEWS, _FROM = (
    GAUGES.first("missed_evidence"),
    GAUGES.first("missed_views"),
    GAUGES.first("missed_from"),
)


class Shares(NamedTuple):
    """What depth shows of a thing's surface points, as ``depth_evidence.measure`` gives it."""

    empty: float
    present: float
    unoccluded: float
    fits: float


@compiled
def add_missed_view(
    gauge: NDArray[np.float32],
    shares: Shares,
    chance: float,
    weight: float,
    view: CameraView,
) -> None:
    """Add to an object's evidence what a view is worth in which it could be detected with a chance, and was not.

    ``weight`` is how far missed detections are believed at all.
    """
    if chance < LIKELY or min(shares.present, shares.fits) >= SHOWN:
        return
    x, y, z = gauge[_FROM] - view.x, gauge[_FROM + 1] - view.y, gauge[_FROM + 2] - view.z
    if gauge[_MISSED_VIEWS] == 0.0 or math.sqrt(x * x + y * y + z * z) >= STEP:
        gauge[_FROM], gauge[_FROM + 1], gauge[_FROM + 2] = view.x, view.y, view.z
        gauge[_MISSED_VIEWS] = 0.0
    gauge[_MISSED_VIEWS] += 1.0
    there = DEPTH_BASE + DEPTH_FITS * shares.fits
    there += DEPTH_EMPTY * min(shares.empty, MOST_POINTS) + DEPTH_PRESENT * min(shares.present, MOST_POINTS)
    nats = -math.log(1.0 - min(chance, MOST_LIKELY)) - DEPTH_WEIGHT * min(max(there, -DEPTH_LIMIT), DEPTH_LIMIT)
    # k views that go wrong together half of the time are worth 2 k / (k + 1) of one
    again = 2.0 / (gauge[_MISSED_VIEWS] * (gauge[_MISSED_VIEWS] + 1.0))
    gauge[_MISSED_EVIDENCE] = max(gauge[_MISSED_EVIDENCE] + weight * nats * again, 0.0)


@compiled
def chance_of_detection(
    known: Floats,
    count: NDArray[np.int32],
    gauge: NDArray[np.float32],
    ring_place: NDArray[np.float32],
    bins: NDArray[np.bool_],
    open_share: float,
    whole: bool,
    view: CameraView,
    rules: AbsenceRules,
) -> float:
    """The chance that a thing which stands where it is remembered is detected in this view."""
    x, y, z = view.x - known[_X], view.y - known[_X + 1], view.z - known[_X + 2]
    away = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    x, y = turned(x / away, y / away, known[_YAW])
    z /= away
    wide, deep, high = known[_WIDE], known[_WIDE + 1], known[_WIDE + 2]
    # what a box shows of its faces from there: a book on a table is a line from the side
    area = deep * high * abs(x) + wide * high * abs(y) + wide * deep * abs(z)
    side = math.sqrt(area) * view.fx / away * IMAGE_WIDTH / view.width
    size = math.log2(max(side, 1.0) / SIDE)
    held, farther = min(count[_RING_N], RING), 0
    for slot in range(held):
        square = 0.0
        for axis in range(3):
            square += np.float64(ring_place[slot, axis]) ** 2
        farther += square >= away * away
    found, missed = gauge[_DETECTED] + 1.0, gauge[_EXPECTED] - gauge[_DETECTED] + 1.0
    odds = BASE + OPEN_A_LITTLE * min(open_share / A_LITTLE, 1.0)
    odds += OPEN_A_LOT * min(max((open_share - A_LITTLE) / (A_LOT - A_LITTLE), 0.0), 1.0)
    odds += AS_NEAR * min(farther / max(held, 1), NEAR_SHARE)
    odds += KNOWN_SIDE * bins[view_bin(x, y, z, rules.azimuth_bins, rules.elevation_bins)] + WHOLE * whole
    odds += LARGER * min(max(size, SMALLEST), LARGEST) + LARGE_ENOUGH * min(max(size, SMALLEST), ENOUGH)
    odds += RECORD * math.log(found / max(missed, 1.0))
    return 1.0 / (1.0 + math.exp(-odds))
