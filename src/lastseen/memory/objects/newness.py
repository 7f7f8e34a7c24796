"""What is known of a place before something was first seen there: the ground for saying that it has come.

Either a depth image looked through the place, or the place was open to view so often that a detector would have
noticed something. Both are asked when an object is made, before images of the place from before it give way, and once
more when it is confirmed and better known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.config.objects import Linking
from lastseen.memory.objects.absence import noticed_within
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.compiled import compiled
from lastseen.memory.objects.freespace import SeenFree
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.likeness import touches_its_like
from lastseen.memory.objects.store import CONFIRMED, COUNTS, Newness, ObjectStore, State
from lastseen.observation import Observation

_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
_FEW = np.arange(len(_CORNERS))
_HITS = COUNTS.first("hits")


def newness_at_first(free: SeenFree, batch: Batch, index: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Of observations that become new objects: whether each stands where kept images looked through or saw nothing.

    Now is the time to ask: with the first sighting the images of the place before it begin to give way.
    """
    if not len(free):
        return np.zeros(len(index), dtype=np.uint8)
    absence = free.settings.absence
    points = np.stack([_few_points(batch.observations[at], absence.foot) for at in index.tolist()])
    before = np.full(len(index), np.inf)
    views = free.open_views(points, noticed_within(batch.extent[index], absence), before)
    return np.where(free.was_free(points, before), np.uint8(Newness.FREE), _by_views(views, free.settings.linking))


def _by_views(views: NDArray[np.int64], rules: Linking) -> NDArray[np.uint8]:
    noticed = np.where(views >= rules.open_views, np.uint8(Newness.UNNOTICED), np.uint8(Newness.UNKNOWN))
    return np.where(views >= rules.added_views, np.uint8(Newness.OPEN), noticed)


def newness_in_hindsight(store: ObjectStore, free: SeenFree, row: int) -> Newness:
    """Of an object just confirmed: what is known of its place, asked once more now that more of it was seen."""
    absence, count = store.settings.absence, int(store.n_points[row])
    known = Newness(int(store.newness[row]))
    if known is not Newness.FREE and len(free) and count:
        known_points = store.points[row, :count].astype(np.float64) + store.points_origin[row]
        points = _standing(known_points, store.xyz[row, 2] - 0.5 * store.extent[row, 2] + absence.foot)[np.newaxis]
        before = store.first_seen[[row]]
        if free.was_free(points, before)[0]:
            return Newness.FREE
        views = free.open_views(points, noticed_within(store.extent[[row]], absence), before)
        known = max(known, Newness(int(_by_views(views, store.settings.linking)[0])))
    if known is not Newness.OPEN:
        return known
    # a piece of something large or known is seen late for other reasons than having come
    whole = store.extent[row].max() < absence.small and not touches_its_like(store, row)
    return Newness.FREE if whole else Newness.UNNOTICED


def arrived(store: ObjectStore) -> Rows:
    """Confirmed objects in places where nothing was known to stand before.

    What was seen a few times only may be imagined: that is no ground for saying that something has come.
    """
    used = slice(store.used)
    new = (store.newness[used] > 0) & (store.state[used] == State.CONFIRMED)
    return np.flatnonzero(new & (store.hits[used] >= store.settings.linking.added_hits))


def just_arrived(store: ObjectStore, rows: Rows) -> list[int]:
    """The numbers of those of these objects that this sighting made arrivals."""
    return _arrivals(store, rows, once=True)


def arrivals_among(store: ObjectStore, rows: Rows) -> list[int]:
    """The numbers of those of these objects that are confirmed, known well enough, and have come."""
    return _arrivals(store, rows, once=False)


def _arrivals(store: ObjectStore, rows: Rows, *, once: bool) -> list[int]:
    found = np.empty(len(rows), dtype=np.int64)
    hits = store.settings.linking.added_hits
    count = _find_arrivals(rows, store.counts, store.newness, store.state, hits, once, found)
    numbers: list[int] = store.seq[found[:count]].tolist()
    return numbers


@compiled
def _find_arrivals(
    rows: Rows,
    counts: NDArray[np.int32],
    newness: NDArray[np.uint8],
    state: NDArray[np.uint8],
    hits: int,
    once: bool,
    found: Rows,
) -> int:
    count = 0
    for row in rows:
        reached = counts[row, _HITS] == hits if once else counts[row, _HITS] >= hits
        if reached and newness[row] > 0 and state[row] == CONFIRMED:
            found[count] = row
            count += 1
    return count


def newcomers(store: ObjectStore, since: float) -> Rows:
    """Arrivals in places that were seen to be free, first seen at or after a time, by number.

    Only what is found again and again would have been found before, had it been there.
    """
    rows = arrived(store)
    rows = rows[store.hits[rows] >= store.settings.linking.news_hits]
    rows = rows[(store.newness[rows] == Newness.FREE) & (store.first_seen[rows] >= since)]
    ordered: Rows = rows[np.argsort(store.seq[rows])]
    return ordered


def _few_points(seen: Observation, foot: float) -> Floats:
    """Eight points of an observation: of its surface above the foot, or the corners of half its box."""
    if seen.points is None:
        return seen.position + 0.25 * seen.extent * _CORNERS
    return _standing(seen.points, seen.position[2] - 0.5 * seen.extent[2] + foot)


def _standing(points: NDArray[np.floating], foot: float) -> Floats:
    """Eight of a thing's surface points: above its foot where there are so many."""
    standing = points[points[:, 2] > foot]
    points = standing if len(standing) >= len(_FEW) else points
    return points[_FEW * len(points) // len(_FEW)].astype(np.float64)
