"""Cannot-link pairs: objects that were seen beside each other in one frame are two, whatever they look like.

Each object keeps the numbers of a few neighbours and in how many frames both were seen (columns ``neighbours`` and
``neighbour_hits``).
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, dot
from lastseen.memory.objects.appearance import SAME_APPEARANCE
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.boxes import sides, turned
from lastseen.memory.objects.columns import BODY, COUNTS, GAUGES, Floats, Rows
from lastseen.memory.objects.store import ObjectStore

NEIGHBOUR_GAP = 0.1
"""Metres between things seen in one frame below which they are remembered as being two."""
CANNOT_LINK_SHARE = 0.25
"""Things seen side by side in this share of the rarer one's sightings are two and never merged; less is a detection
that went to the wrong neighbour."""
Numbers = tuple[float, float, float]
_X, _WIDE_X, _YAW = BODY.first("xyz"), BODY.first("extent"), BODY.first("yaw")
_LAST_SEEN = BODY.first("last_seen")
_HITS, _EMB_HITS, _EMB_NORM = COUNTS.first("hits"), COUNTS.first("emb_hits"), GAUGES.first("emb_norm")


def count_neighbours(store: ObjectStore, batch: Batch, seen: Rows) -> None:
    """Count for objects seen close beside each other in one frame how often they were; one row per observation.

    Close is what stands close now or is remembered so: of a table half seen, the chair behind it may be far.
    """
    boxes = batch.xyz, batch.extent, batch.yaw
    _count_neighbours(seen, *boxes, store.body, store.seq, store.neighbours, store.neighbour_hits)


@compiled
def _count_neighbours(
    seen: Rows,
    xyz: Floats,
    extent: Floats,
    yaw: Floats,
    body: Floats,
    seq: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    neighbour_hits: NDArray[np.int32],
) -> None:
    # by single numbers: to cut boxes out of the columns takes ten times as long as to compare them
    for one in range(len(seen)):
        mine = seen[one]
        for other in range(one):
            theirs = seen[other]
            away = xyz[one, 0] - xyz[other, 0], xyz[one, 1] - xyz[other, 1], xyz[one, 2] - xyz[other, 2]
            box = extent[one, 0], extent[one, 1], extent[one, 2]
            other_box = extent[other, 0], extent[other, 1], extent[other, 2]
            close = _close(away, box, yaw[one], other_box, yaw[other])
            if not close:
                away = (
                    body[mine, _X] - body[theirs, _X],
                    body[mine, _X + 1] - body[theirs, _X + 1],
                    body[mine, _X + 2] - body[theirs, _X + 2],
                )
                box = body[mine, _WIDE_X], body[mine, _WIDE_X + 1], body[mine, _WIDE_X + 2]
                other_box = body[theirs, _WIDE_X], body[theirs, _WIDE_X + 1], body[theirs, _WIDE_X + 2]
                close = _close(away, box, body[mine, _YAW], other_box, body[theirs, _YAW])
            if close:
                _add_neighbour(neighbours[mine], neighbour_hits[mine], seq[theirs], 1)
                _add_neighbour(neighbours[theirs], neighbour_hits[theirs], seq[mine], 1)


@compiled
def _close(away: Numbers, box: Numbers, yaw: float, other_box: Numbers, other_yaw: float) -> bool:
    """Whether two boxes so far from each other come within the gap of neighbours."""
    if abs(away[2]) >= 0.5 * (box[2] + other_box[2]) + NEIGHBOUR_GAP:
        return False
    x, y = turned(away[0], away[1], yaw)
    wide, deep = sides(other_box[0], other_box[1], other_yaw - yaw)
    close: bool = abs(x) < 0.5 * (box[0] + wide) + NEIGHBOUR_GAP
    return close and abs(y) < 0.5 * (box[1] + deep) + NEIGHBOUR_GAP


@compiled
def _add_neighbour(numbers: NDArray[np.int64], hits: NDArray[np.int32], number: int, times: int) -> None:
    """Count an object's neighbour; where there is no room, the one met least gives way."""
    least = 0
    for slot in range(len(numbers)):
        if numbers[slot] == number:
            hits[slot] += times
            return
        if hits[slot] < hits[least]:
            least = slot
    numbers[least], hits[least] = number, times


def cannot_link(store: ObjectStore, rows: Rows, other: Rows, share: Floats) -> NDArray[np.bool_]:
    """Whether objects were seen beside each other in this share of the sightings of the rarer one, pair by pair.

    Once in a while a detection goes to the wrong one of two neighbours; things that are two are met as two.
    """
    rarer = np.minimum(store.hits[rows], store.hits[other])
    return times_met(store, rows, other) >= np.maximum(share * rarer, 1.0)


@compiled
def seen_beside(
    row: int,
    others: Rows,
    stamp: float,
    radius: float,
    body: Floats,
    counts: NDArray[np.int32],
    gauges: NDArray[np.float32],
    means: NDArray[np.float32],
    met_by: tuple[Rows, Rows, NDArray[np.int32]],
) -> bool:
    """Whether something that looks like an object was seen within a radius of it at a time.

    It is then the object itself, by a pose that is off, unless the two are a cannot-link pair. ``met_by`` are the
    columns of numbers, of neighbours, and of how often each was met.
    """
    for other in others:
        if body[other, _LAST_SEEN] != stamp or other == row:
            continue
        away = 0.0
        for axis in range(3):
            away += (body[other, _X + axis] - body[row, _X + axis]) ** 2
        if away > radius * radius:
            continue
        length = gauges[row, _EMB_NORM] * gauges[other, _EMB_NORM]
        known = counts[row, _EMB_HITS] > 0 and counts[other, _EMB_HITS] > 0 and length > 0.0 and means.size > 0
        if known and dot(means[row], means[other]) < SAME_APPEARANCE * length:
            continue
        rarer = min(counts[row, _HITS], counts[other, _HITS])
        seq, neighbours, neighbour_hits = met_by
        if _times_met(row, other, seq, neighbours, neighbour_hits) < max(CANNOT_LINK_SHARE * rarer, 1.0):
            return True
    return False


def times_met(store: ObjectStore, rows: Rows, other: Rows) -> Rows:
    """In how many frames two objects were seen close beside each other, pair by pair."""
    mine = np.where(store.neighbours[rows] == store.seq[other][:, np.newaxis], store.neighbour_hits[rows], 0)
    theirs = np.where(store.neighbours[other] == store.seq[rows][:, np.newaxis], store.neighbour_hits[other], 0)
    return np.maximum(mine.max(axis=1), theirs.max(axis=1)).astype(np.int64)


@compiled
def _times_met(row: int, other: int, seq: Rows, neighbours: Rows, neighbour_hits: NDArray[np.int32]) -> int:
    """As far as either remembers: in a clutter, who was met least gives way."""
    met = 0
    for slot in range(neighbours.shape[1]):
        if neighbours[row, slot] == seq[other]:
            met = max(met, neighbour_hits[row, slot])
        if neighbours[other, slot] == seq[row]:
            met = max(met, neighbour_hits[other, slot])
    return met


def has_room(store: ObjectStore, rows: Rows) -> NDArray[np.bool_]:
    """Whether objects remember all that they met; in a clutter some neighbours give way to others."""
    return (store.neighbour_hits[rows] == 0).any(axis=1)


def forget_neighbours(store: ObjectStore, numbers: Set[int]) -> None:
    """Let no object remember that it was seen beside these."""
    rows = store.live()
    met = np.isin(store.neighbours[rows], list(numbers)) & (store.neighbours[rows] > 0)
    rows, met = rows[met.any(axis=1)], met[met.any(axis=1)]
    for column in (store.neighbours, store.neighbour_hits):
        column[rows] = np.where(met, 0, column[rows])
    store.mark_changed(rows)


def merge_neighbours(store: ObjectStore, keep: int, lose: int) -> None:
    """Let the neighbours of one object be those of the other that it is merged into, on both sides."""
    kept, lost = int(store.seq[keep]), int(store.seq[lose])
    for number, times in zip(store.neighbours[lose].tolist(), store.neighbour_hits[lose].tolist(), strict=True):
        if not times or number == kept:
            continue
        _add_neighbour.py_func(store.neighbours[keep], store.neighbour_hits[keep], number, times)
        row = store.row_of.get(number)
        if row is not None:
            met = np.flatnonzero(store.neighbours[row] == lost)
            if len(met):
                again = int(store.neighbour_hits[row, met[0]])
                store.neighbours[row, met[0]], store.neighbour_hits[row, met[0]] = 0, 0
                _add_neighbour.py_func(store.neighbours[row], store.neighbour_hits[row], kept, again)
                store.mark_changed(np.array([row]))
