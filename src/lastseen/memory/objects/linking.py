"""When two remembered objects are one thing that is remembered twice, and when two things are two.

Things seen beside each other in one frame are two, whatever they look like. Of two that are one the older id stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.association import NO_LOOKS, WIDE, Pairs
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.boxes import containment, overlap
from lastseen.memory.objects.compiled import compiled, dot
from lastseen.memory.objects.gallery import absorb_gallery
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.store import (
    BODY,
    CONFIRMED,
    COUNTS,
    GAUGES,
    LARGEST_HALF,
    ObjectStore,
    State,
)
from lastseen.memory.objects.update import blend


class Nearness(NamedTuple):
    """What makes a thing seen near an object the object itself."""

    radius: float
    same_look: float
    rival_share: float


JOINED_HITS = 3
"""Sightings from which a box counts as known when two objects become one."""
_XYZ, _EXTENT = BODY.parts["xyz"], BODY.parts["extent"]
_X, _WIDE_X, _LAST_SEEN = BODY.first("xyz"), BODY.first("extent"), BODY.first("last_seen")
_HITS = COUNTS.first("hits")
_EMB_HITS, _STABILITY = COUNTS.first("emb_hits"), GAUGES.first("stability")


def looks_alike(store: ObjectStore, rows: Rows, other: Rows) -> Floats:
    """Cosine of the mean looks, pair by pair; NaN where one has none."""
    if store.dim is None:
        return np.full(len(rows), np.nan)
    length = store.stability[rows] * store.stability[other]
    known = (store.emb_hits[rows] > 0) & (store.emb_hits[other] > 0) & (length > 0.0)
    dot = np.einsum("ij,ij->i", store.emb_mean[rows], store.emb_mean[other]).astype(np.float64)
    return np.where(known, dot / np.where(known, length, 1.0), np.nan)


def name_agreement(store: ObjectStore, rows: Rows, other: Rows) -> Floats:
    """Cosine of the label scores, pair by pair; NaN where one has no name.

    Names gate no sighting and no merge, for detectors waver; they only ask a moved thing for a surer look.
    """
    ids, other_ids = store.label_ids[rows], store.label_ids[other]
    scores, other_scores = store.label_scores[rows], store.label_scores[other]
    shared = (ids[:, :, np.newaxis] == other_ids[:, np.newaxis]) & (ids > 0)[:, :, np.newaxis]
    dot = np.einsum("ns,nt,nst->n", scores, other_scores, shared)
    length = np.sqrt(np.einsum("ns,ns->n", scores, scores) * np.einsum("ns,ns->n", other_scores, other_scores))
    agreement: Floats = np.where(length > 0.0, dot / np.where(length > 0.0, length, 1.0), np.nan)
    return agreement


def named_alike(store: ObjectStore, rows: Rows, other: Rows) -> NDArray[np.bool_]:
    """Whether objects are called by the same names, pair by pair; true where one has no name."""
    alike: NDArray[np.bool_] = ~(name_agreement(store, rows, other) < store.settings.linking.same_name)
    return alike


def touches_its_like(store: ObjectStore, row: int) -> bool:
    """Whether an object's box meets that of another of the same name: it may be a piece of that one."""
    around = 0.5 * store.extent[row] + store.settings.linking.merge_tolerance
    wide = around + LARGEST_HALF
    others = store.grid.inside(store.xyz[row] - wide, store.xyz[row] + wide)
    others = others[(others != row) & (store.state[others] <= State.CONFIRMED)]
    apart = np.abs(store.xyz[others] - store.xyz[row]) - 0.5 * store.extent[others]
    others = others[(apart < around).all(axis=1)]
    return bool(named_alike(store, np.full(len(others), row), others).any())


def note_rivals(store: ObjectStore, batch: Batch, seen: Rows) -> None:
    """Count of objects seen close beside each other in one frame how often they were; one row per observation.

    Close is what stands close now or is remembered so: of a table half seen, the chair behind it may be far.
    """
    gap = store.settings.linking.rival_gap
    _count_neighbours(seen, batch.xyz, batch.extent, store.body, store.seq, store.rivals, store.rival_hits, gap)


@compiled
def _count_neighbours(
    seen: Rows,
    xyz: Floats,
    extent: Floats,
    body: Floats,
    seq: NDArray[np.int64],
    rivals: NDArray[np.int64],
    rival_hits: NDArray[np.int32],
    gap: float,
) -> None:
    for one in range(len(seen)):
        mine = body[seen[one]]
        for other in range(one):
            theirs = body[seen[other]]
            now = then = True
            for axis in range(3):
                room = 0.5 * (extent[one, axis] + extent[other, axis]) + gap
                now = now and abs(xyz[one, axis] - xyz[other, axis]) < room
                room = 0.5 * (mine[_WIDE_X + axis] + theirs[_WIDE_X + axis]) + gap
                then = then and abs(mine[_X + axis] - theirs[_X + axis]) < room
            if now or then:
                _add_rival(rivals[seen[one]], rival_hits[seen[one]], seq[seen[other]], 1)
                _add_rival(rivals[seen[other]], rival_hits[seen[other]], seq[seen[one]], 1)


@compiled
def _add_rival(rivals: NDArray[np.int64], hits: NDArray[np.int32], number: int, times: int) -> None:
    """Count an object's neighbour; where there is no room, the one met least gives way."""
    least = 0
    for slot in range(len(rivals)):
        if rivals[slot] == number:
            hits[slot] += times
            return
        if hits[slot] < hits[least]:
            least = slot
    rivals[least], hits[least] = number, times


def are_rivals(store: ObjectStore, rows: Rows, other: Rows, share: Floats) -> NDArray[np.bool_]:
    """Whether objects were seen beside each other in this share of the sightings of the rarer one.

    Once in a while a detection goes to the wrong one of two neighbours; things that are two are met as two.
    """
    rarer = np.minimum(store.hits[rows], store.hits[other])
    rivals: NDArray[np.bool_] = _times_met(store, rows, other) >= np.maximum(share * rarer, 1.0)
    return rivals


@compiled
def found_beside(
    row: int,
    others: Rows,
    stamp: float,
    body: Floats,
    counts: NDArray[np.int32],
    gauges: NDArray[np.float32],
    means: NDArray[np.float32],
    seq: NDArray[np.int64],
    rivals: NDArray[np.int64],
    rival_hits: NDArray[np.int32],
    rules: Nearness,
) -> bool:
    """Whether something like an object was seen close beside it at a time: the object itself, by a pose that is off.

    Neighbours that were met as two are two.
    """
    for other in others:
        if body[other, _LAST_SEEN] != stamp or other == row:
            continue
        away = 0.0
        for axis in range(3):
            away += (body[other, _X + axis] - body[row, _X + axis]) ** 2
        if away > rules.radius * rules.radius:
            continue
        length = gauges[row, _STABILITY] * gauges[other, _STABILITY]
        known = counts[row, _EMB_HITS] > 0 and counts[other, _EMB_HITS] > 0 and length > 0.0 and means.size > 0
        if known and dot(means[row], means[other]) < rules.same_look * length:
            continue
        met = 0
        for slot in range(rivals.shape[1]):
            if rivals[row, slot] == seq[other]:
                met = max(met, rival_hits[row, slot])
            if rivals[other, slot] == seq[row]:
                met = max(met, rival_hits[other, slot])
        rarer = min(counts[row, _HITS], counts[other, _HITS])
        if met < max(rules.rival_share * rarer, 1.0):
            return True
    return False


def _times_met(store: ObjectStore, rows: Rows, other: Rows) -> NDArray[np.int32]:
    """In how many frames two objects were seen close beside each other, as far as either remembers."""
    mine = store.rival_hits[rows] * (store.rivals[rows] == store.seq[other][:, np.newaxis])
    theirs = store.rival_hits[other] * (store.rivals[other] == store.seq[rows][:, np.newaxis])
    times: NDArray[np.int32] = np.maximum(mine.max(axis=1), theirs.max(axis=1))
    return times


def _has_room(store: ObjectStore, rows: Rows) -> NDArray[np.bool_]:
    """Whether objects remember all that they met; in a clutter some neighbours give way to others."""
    room: NDArray[np.bool_] = (store.rival_hits[rows] == 0).any(axis=1)
    return room


def _join_rivals(store: ObjectStore, keep: int, lose: int) -> None:
    """Let the neighbours of one object be those of the other that it goes on as, on both sides."""
    kept, lost = int(store.seq[keep]), int(store.seq[lose])
    for number, times in zip(store.rivals[lose].tolist(), store.rival_hits[lose].tolist(), strict=True):
        if not times or number == kept:
            continue
        _add_rival(store.rivals[keep], store.rival_hits[keep], number, times)
        row = store.row_of.get(number)
        if row is not None:
            met = np.flatnonzero(store.rivals[row] == lost)
            if len(met):
                again = int(store.rival_hits[row, met[0]])
                store.rivals[row, met[0]], store.rival_hits[row, met[0]] = 0, 0
                _add_rival(store.rivals[row], store.rival_hits[row], kept, again)
                store.touch(np.array([row]))


def duplicates(store: ObjectStore, batch: Batch, pairs: Pairs, matched: Rows) -> list[tuple[int, int, float]]:
    """Pairs (older row, younger row, cosine) of objects that share one observation's place and are one thing.

    The observation went to one of them, the other was not seen: had they been two, both would stand in the frame.
    Either the two lie in each other, or the observation covers both: pieces of a bed that was then seen whole.
    """
    found = _in_each_other(store, matched[pairs.index], pairs.rows)
    large = (batch.extent.max(axis=1) >= store.settings.linking.piece_size).nonzero()[0]
    if len(large):
        # what is large is met far from its middle, where no gate reaches
        index, other = store.grid.near(batch.xyz[large], np.full(len(large), WIDE))
        index = large[index]
        found |= _in_each_other(store, matched[index], other)
        found |= _spanned(store, batch, index, matched[index], other)
    return sorted(found, key=lambda pair: (int(store.seq[pair[0]]), int(store.seq[pair[1]])))


def _in_each_other(store: ObjectStore, mine: Rows, other: Rows) -> set[tuple[int, int, float]]:
    rules = store.settings.linking
    least = min(rules.unmet_containment, rules.merge_containment, rules.double_overlap)
    # a cheap sieve: nearly all pairs are neighbours that look otherwise
    columns = store.body, store.state, store.counts, store.gauges, NO_LOOKS if store.dim is None else store.emb_mean
    look = min(rules.merge_look, rules.piece_look)
    within = _lie_in_each_other(mine, other, *columns, rules.merge_tolerance, least, look)
    if not len(within):
        return set()
    mine, other = mine[within], other[within]
    wide = rules.merge_tolerance
    inside = containment(store.xyz[mine], store.extent[mine] + wide, store.xyz[other], store.extent[other] + wide)
    cosine = looks_alike(store, mine, other)
    bare = containment(store.xyz[mine], store.extent[mine], store.xyz[other], store.extent[other])
    # detectors imagine a second chair in a chair: what lies in its like has to be met more often to be another
    inner = (bare >= rules.inner_containment) & (cosine >= rules.inner_look)
    hits, other_hits = store.hits[mine], store.hits[other]
    inner &= np.minimum(hits, other_hits) <= rules.inner_rarity * np.maximum(hits, other_hits)
    here = _may_be_one(store, mine, other, np.where(inner, rules.inner_share, rules.rival_share))
    mine, other, inside, cosine = mine[here], other[here], inside[here], cosine[here]
    share = overlap(store.xyz[mine], store.extent[mine], store.xyz[other], store.extent[other])
    # without looks, only boxes that nearly coincide are taken for one
    alike = np.where(
        np.isnan(cosine),
        share >= rules.double_overlap,
        (cosine >= rules.merge_look) & (inside >= rules.merge_containment),
    )
    # neighbours that are two are met as two sooner or later
    often = np.minimum(store.hits[mine], store.hits[other]) >= rules.unmet_hits
    unmet = often & (_times_met(store, mine, other) == 0) & _has_room(store, mine) & _has_room(store, other)
    alike |= unmet & (cosine >= rules.piece_look) & (inside >= rules.unmet_containment)
    return _older_first(store, mine[alike], other[alike], cosine[alike])


@compiled
def _lie_in_each_other(
    mine: Rows,
    other: Rows,
    body: Floats,
    state: NDArray[np.uint8],
    counts: NDArray[np.int32],
    gauges: NDArray[np.float32],
    means: NDArray[np.float32],
    wide: float,
    least: float,
    alike: float,
) -> Rows:
    """Which pairs may be one: the other not seen now and not gone, its box in this one's, its look not another."""
    found = np.empty(len(mine), dtype=np.int64)
    count = 0
    for at in range(len(mine)):
        one, two = mine[at], other[at]
        if body[two, _LAST_SEEN] >= body[one, _LAST_SEEN] or state[two] > CONFIRMED:
            continue
        shared = volume = other_volume = 1.0
        for axis in range(3):
            size, other_size = body[one, _WIDE_X + axis] + wide, body[two, _WIDE_X + axis] + wide
            low = max(body[one, _X + axis] - 0.5 * size, body[two, _X + axis] - 0.5 * other_size)
            high = min(body[one, _X + axis] + 0.5 * size, body[two, _X + axis] + 0.5 * other_size)
            shared *= max(high - low, 0.0)
            volume *= size
            other_volume *= other_size
        if shared == 0.0 or shared < least * min(volume, other_volume):
            continue
        known = counts[one, _EMB_HITS] and counts[two, _EMB_HITS]
        if known and dot(means[one], means[two]) < alike * gauges[one, _STABILITY] * gauges[two, _STABILITY]:
            continue
        found[count] = at
        count += 1
    return found[:count]


def _spanned(store: ObjectStore, batch: Batch, index: Rows, mine: Rows, other: Rows) -> set[tuple[int, int, float]]:
    """Objects that the box of one large observation covers besides the one it went to."""
    rules = store.settings.linking
    here = (other != mine) & (store.extent[other].max(axis=1) >= rules.piece_size)
    index, mine, other = index[here], mine[here], other[here]
    wide = rules.merge_tolerance
    covered = containment(batch.xyz[index], batch.extent[index] + wide, store.xyz[other], store.extent[other] + wide)
    here = covered >= rules.piece_covered
    mine, other = mine[here], other[here]
    here = _may_be_one(store, mine, other, np.full(len(mine), rules.rival_share))
    mine, other = mine[here], other[here]
    cosine = looks_alike(store, mine, other)
    alike = cosine >= rules.piece_look
    return _older_first(store, mine[alike], other[alike], cosine[alike])


def _may_be_one(store: ObjectStore, mine: Rows, other: Rows, share: Floats) -> NDArray[np.bool_]:
    """False for what was seen in this frame too, is gone, or was met beside this one: it is another."""
    here: NDArray[np.bool_] = store.last_seen[other] < store.last_seen[mine]
    here &= store.state[other] <= State.CONFIRMED
    return here & ~are_rivals(store, mine, other, share)


def _older_first(store: ObjectStore, mine: Rows, other: Rows, cosine: Floats) -> set[tuple[int, int, float]]:
    return {
        (a, b, value) if store.seq[a] < store.seq[b] else (b, a, value)
        for a, b, value in zip(mine.tolist(), other.tolist(), cosine.tolist(), strict=True)
    }


def absorb(store: ObjectStore, keep: int, lose: int, *, place_of_lost: bool) -> None:
    """Put what is known of one object into another and delete it; with its place, or with the boxes joined."""
    kept, lost = int(store.hits[keep]), int(store.hits[lose])
    share = lost / (kept + lost)
    if place_of_lost:
        store.rivals[keep], store.rival_hits[keep] = 0, 0
        for name in ("xyz", "extent", "precision", "spread", "points", "points_origin", "n_points"):
            store.column(name)[keep] = store.column(name)[lose]
        for name in ("ring_frame", "ring_camera", "ring_world", "ring_n", "bins", "n_bins"):
            store.column(name)[keep] = store.column(name)[lose]
    else:
        _join_boxes(store, keep, lose)
        store.bins[keep] |= store.bins[lose]
        store.n_bins[keep] = store.bins[keep].sum()
        if store.ring_n[lose] > store.ring_n[keep]:
            for name in ("ring_frame", "ring_camera", "ring_world", "ring_n"):
                store.column(name)[keep] = store.column(name)[lose]
    _join_rivals(store, keep, lose)
    names = store.label_ids[keep], store.label_scores[keep]
    blend(*names, store.label_ids[lose], store.label_scores[lose], share)
    if store.dim is not None:
        _absorb_look(store, keep, lose)
    store.hits[keep] = kept + lost
    store.expected[keep] += store.expected[lose]
    store.detected[keep] += store.detected[lose]
    store.first_seen[keep] = min(store.first_seen[keep], store.first_seen[lose])
    store.last_seen[keep] = max(store.last_seen[keep], store.last_seen[lose])
    store.crop_quality[keep] = max(store.crop_quality[keep], store.crop_quality[lose])
    store.empty_views[keep], store.missed[keep], store.doubt[keep] = 0, 0, 0.0
    store.drop(lose)
    store.settle(np.array([keep]))


def _join_boxes(store: ObjectStore, keep: int, lose: int) -> None:
    """The box around both when each is known from several sightings; else the better known one.

    Pieces of a large thing add up, and a stray sighting does not blow a thing up.
    """
    if min(store.hits[keep], store.hits[lose]) >= JOINED_HITS:
        low = np.minimum(store.xyz[keep] - 0.5 * store.extent[keep], store.xyz[lose] - 0.5 * store.extent[lose])
        high = np.maximum(store.xyz[keep] + 0.5 * store.extent[keep], store.xyz[lose] + 0.5 * store.extent[lose])
        store.xyz[keep], store.extent[keep] = 0.5 * (low + high), high - low
    elif store.hits[lose] > store.hits[keep]:
        for name in ("xyz", "extent", "precision", "spread"):
            store.column(name)[keep] = store.column(name)[lose]


def _absorb_look(store: ObjectStore, keep: int, lose: int) -> None:
    kept, lost = int(store.emb_hits[keep]), int(store.emb_hits[lose])
    if not lost:
        return
    mean = (store.emb_mean[keep] * kept + store.emb_mean[lose] * lost) / np.float32(kept + lost)
    store.emb_mean[keep], store.emb_hits[keep] = mean, kept + lost
    store.stability[keep] = np.sqrt(mean @ mean)
    absorb_gallery(store, keep, lose)
