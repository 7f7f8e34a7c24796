"""Free-space evidence: what is known of a place before an object was first seen there, and so whether it arrived.

Either a depth image looked through the place, or the place was open to view so often that a detector would have
noticed something. Both are asked when an object is made, before images of the place from before it give way, and once
more when it is confirmed and better known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.appearance import same_labels
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.compiled import compiled
from lastseen.memory.objects.depth_evidence import FOOT, SMALL, noticed_within
from lastseen.memory.objects.duplicates import DUPLICATE_TOLERANCE
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.keyframes import DepthKeyframes
from lastseen.memory.objects.store import CONFIRMED, COUNTS, LARGEST_HALF, FreeSpace, ObjectStore, State
from lastseen.observation import Observation

OPEN_VIEWS = 2
"""Depth images that show a place unoccluded with nothing detected there, from which it is new enough for a thing that
went missing elsewhere."""
FREE_VIEWS = 5
"""Such images from which a place was free of any thing that detectors find."""
ARRIVAL_HITS = 4
"""Observations from which an object may have arrived: detectors imagine things, at times twice in one place."""
NEWCOMER_HITS = 8
"""Observations from which an object is reported as having come: what is hard to detect is detected late."""
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
_FEW = np.arange(len(_CORNERS))
_HITS = COUNTS.first("hits")


def evidence_at_creation(keyframes: DepthKeyframes, batch: Batch, index: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Of observations that become new objects: whether each stands where kept images looked through or saw nothing.

    Now is the time to ask: with the first sighting the images of the place before it begin to give way.
    """
    if not len(keyframes):
        return np.zeros(len(index), dtype=np.uint8)
    points = np.stack([_few_points(batch.observations[at]) for at in index.tolist()])
    before = np.full(len(index), np.inf)
    reach = noticed_within(batch.extent[index], keyframes.settings.absence.max_range)
    views = keyframes.unoccluded_views(points, reach, before)
    return np.where(keyframes.seen_through(points, before), np.uint8(FreeSpace.FREE), _by_views(views))


def _by_views(views: NDArray[np.int64]) -> NDArray[np.uint8]:
    noticed = np.where(views >= OPEN_VIEWS, np.uint8(FreeSpace.UNNOTICED), np.uint8(FreeSpace.UNKNOWN))
    return np.where(views >= FREE_VIEWS, np.uint8(FreeSpace.OPEN), noticed)


def evidence_at_confirmation(store: ObjectStore, keyframes: DepthKeyframes, row: int) -> FreeSpace:
    """Of an object just confirmed: what is known of its place, asked once more now that more of it was seen."""
    count = int(store.n_points[row])
    known = FreeSpace(int(store.newness[row]))
    if known is not FreeSpace.FREE and len(keyframes) and count:
        known_points = store.points[row, :count].astype(np.float64) + store.points_origin[row]
        points = _standing(known_points, store.xyz[row, 2] - 0.5 * store.extent[row, 2] + FOOT)[np.newaxis]
        before = store.first_seen[[row]]
        if keyframes.seen_through(points, before)[0]:
            return FreeSpace.FREE
        reach = noticed_within(store.extent[[row]], store.settings.absence.max_range)
        views = keyframes.unoccluded_views(points, reach, before)
        known = max(known, FreeSpace(int(_by_views(views)[0])))
    if known is not FreeSpace.OPEN:
        return known
    # a piece of something large or known is seen late for other reasons than having come
    whole = store.extent[row].max() < SMALL and not _touches_its_like(store, row)
    return FreeSpace.FREE if whole else FreeSpace.UNNOTICED


def arrivals(store: ObjectStore) -> Rows:
    """Confirmed objects in places where nothing was known to stand before.

    What was seen a few times only may be imagined: that is no ground for saying that something has come.
    """
    used = slice(store.used)
    new = (store.newness[used] > 0) & (store.state[used] == State.CONFIRMED)
    return np.flatnonzero(new & (store.hits[used] >= ARRIVAL_HITS))


def just_arrived(store: ObjectStore, rows: Rows) -> list[int]:
    """The numbers of those of these objects that this sighting made arrivals."""
    return _arrivals(store, rows, once=True)


def arrivals_among(store: ObjectStore, rows: Rows) -> list[int]:
    """The numbers of those of these objects that are confirmed, known well enough, and have come."""
    return _arrivals(store, rows, once=False)


def _arrivals(store: ObjectStore, rows: Rows, *, once: bool) -> list[int]:
    found = np.empty(len(rows), dtype=np.int64)
    count = _find_arrivals(rows, store.counts, store.newness, store.state, once, found)
    numbers: list[int] = store.seq[found[:count]].tolist()
    return numbers


@compiled
def _find_arrivals(
    rows: Rows,
    counts: NDArray[np.int32],
    newness: NDArray[np.uint8],
    state: NDArray[np.uint8],
    once: bool,
    found: Rows,
) -> int:
    count = 0
    for row in rows:
        reached = counts[row, _HITS] == ARRIVAL_HITS if once else counts[row, _HITS] >= ARRIVAL_HITS
        if reached and newness[row] > 0 and state[row] == CONFIRMED:
            found[count] = row
            count += 1
    return count


def newcomers(store: ObjectStore, since: float) -> Rows:
    """Arrivals in places that were seen to be free, first seen at or after a time, by number.

    Only what is found again and again would have been found before, had it been there.
    """
    rows = arrivals(store)
    rows = rows[store.hits[rows] >= NEWCOMER_HITS]
    rows = rows[(store.newness[rows] == FreeSpace.FREE) & (store.first_seen[rows] >= since)]
    ordered: Rows = rows[np.argsort(store.seq[rows])]
    return ordered


def _few_points(seen: Observation) -> Floats:
    """Eight points of an observation: of its surface above the foot, or the corners of half its box."""
    if seen.points is None:
        return seen.position + 0.25 * seen.extent * _CORNERS
    return _standing(seen.points, seen.position[2] - 0.5 * seen.extent[2] + FOOT)


def _touches_its_like(store: ObjectStore, row: int) -> bool:
    """Whether an object's box meets that of another with the same labels: it may be a piece of that one."""
    around = 0.5 * store.extent[row] + DUPLICATE_TOLERANCE
    wide = around + LARGEST_HALF
    others = store.grid.inside(store.xyz[row] - wide, store.xyz[row] + wide)
    others = others[(others != row) & (store.state[others] <= State.CONFIRMED)]
    apart = np.abs(store.xyz[others] - store.xyz[row]) - 0.5 * store.extent[others]
    others = others[(apart < around).all(axis=1)]
    return bool(same_labels(store, np.full(len(others), row), others).any())


def _standing(points: NDArray[np.floating], foot: float) -> Floats:
    """Eight of a thing's surface points: above its foot where there are so many."""
    standing = points[points[:, 2] > foot]
    points = standing if len(standing) >= len(_FEW) else points
    return points[_FEW * len(points) // len(_FEW)].astype(np.float64)
