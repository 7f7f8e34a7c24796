"""Duplicates: when two remembered objects are one thing, and merging them. Of two that are one the older id stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, dot
from lastseen.memory.objects.appearance import (
    MERGE_APPEARANCE,
    SURE_LABELS,
    appearance_cosine,
    label_cosine,
    merge_appearance,
)
from lastseen.memory.objects.association import KNOWN_HITS, SEVERAL_TIMES, WIDE, Pairs, in_box
from lastseen.memory.objects.batch import DUPLICATE_OVERLAP, Batch
from lastseen.memory.objects.boxes import ORIGIN, in_axes_of, sides_in_axes, vectors_in_axes
from lastseen.memory.objects.cannot_link import (
    CANNOT_LINK_SHARE,
    cannot_link,
    has_room,
    merge_neighbours,
    times_met,
)
from lastseen.memory.objects.columns import BODY, CONFIRMED, COUNTS, GAUGES, Floats, Rows, State
from lastseen.memory.objects.labels import blend
from lastseen.memory.objects.relations import containment, overlap
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.objects.update import PIECE_SIZE

DUPLICATE_TOLERANCE = 0.1
"""Metres by which boxes are widened before asking what lies in what: surfaces are thin."""
DUPLICATE_CONTAINMENT = 0.3
"""Share of the smaller box inside the larger from which two objects may be one."""
MUTUAL_OVERLAP = 0.2
"""Part of their union that the widened boxes of two confirmed objects share, from which they may be one."""
STRAY_SHARE = 0.1
"""Share of the rarer one's sightings in which a detection of a piece strays to both of two that are one."""
PART_CONTAINMENT = 0.5
"""Share of the smaller box inside the larger from which a part seen a few times, never apart, is a piece of it."""
PART_APPEARANCE = 0.9
"""Cosine of such a part with its whole."""
NAMED_APPEARANCE = 0.5
"""Cosine of pieces of one thing never seen apart that are called the same nearly every time."""
CALLED_ALIKE = 0.7
"""Cosine of label scores of a piece and its whole: a detector wavers more about a piece."""
SAME_SPACE = 0.6
"""Part of their union that the bare boxes of two large things share, from which no two fit there: met side by side,
they are one thing that the detector gave twice."""
UNMET_CONTAINMENT = 0.15
"""The same share for objects that were never seen in one frame: the front and the side of a stove."""
UNMET_HITS = 8
"""Observations of both by which neighbours that are two have been seen in one frame."""
PIECE_COVERED = 0.6
"""Share of the smaller of an observation's and an object's box in the other from which the sighting covers that
object too."""
PIECE_APPEARANCE = 0.85
"""Cosine of pieces of one thing that one sighting covers."""
INNER_CONTAINMENT = 0.85
"""Share of a box inside another from which a thing lies wholly in another."""
INNER_APPEARANCE = 0.92
"""Cosine from which a thing that lies in another may be that other, imagined by the detector."""
INNER_RARITY = 0.25
"""Part of the other's sightings up to which a thing that lies in its like may be imagined."""
INNER_SHARE = 0.6
"""Cannot-link share of a thing that lies in its like: detectors imagine things on large ones now and then, a cushion
on its sofa is met nearly always."""
MERGED_BOX_HITS = 3
"""Sightings from which a box counts as known when two objects become one."""
_LEAST_CONTAINMENT = min(UNMET_CONTAINMENT, DUPLICATE_CONTAINMENT, DUPLICATE_OVERLAP)
_LEAST_COSINE = min(MERGE_APPEARANCE, PIECE_APPEARANCE, NAMED_APPEARANCE)
_X, _WIDE_X, _YAW = BODY.first("xyz"), BODY.first("extent"), BODY.first("yaw")
_LAST_SEEN = BODY.first("last_seen")
_EMB_HITS, _EMB_NORM = COUNTS.first("emb_hits"), GAUGES.first("emb_norm")


def duplicates(store: ObjectStore, batch: Batch, pairs: Pairs, matched: Rows) -> list[tuple[int, int, float]]:
    """Pairs (older row, younger row, cosine) of objects that share one observation's place and are one thing.

    The observation went to one of them, the other was not seen: had they been two, both would stand in the frame.
    Either the two lie in each other, or the observation covers both: pieces of a bed that was then seen whole.
    """
    found = _in_each_other(store, matched[pairs.index], pairs.rows)
    large = (batch.extent.max(axis=1) >= PIECE_SIZE).nonzero()[0]
    if len(large):
        # what is large is met far from its middle, where no gate reaches
        index, other = store.grid.near(batch.xyz[large], np.full(len(large), WIDE))
        index = large[index]
        found |= _in_each_other(store, matched[index], other)
        found |= _spanned(store, batch, index, matched[index], other)
    return sorted(found, key=lambda pair: (int(store.seq[pair[0]]), int(store.seq[pair[1]])))


def _in_each_other(store: ObjectStore, mine: Rows, other: Rows) -> set[tuple[int, int, float]]:
    # a cheap sieve: nearly all pairs are neighbours that look otherwise
    within = _lie_in_each_other(mine, other, store.body, store.state, store.counts, store.gauges, store.emb_mean)
    if not len(within):
        return set()
    mine, other = mine[within], other[within]
    wide = DUPLICATE_TOLERANCE
    extent, offset, sides = _pairs(store, mine, other)
    inside = containment(ORIGIN, extent + wide, offset, sides + wide)
    cosine = appearance_cosine(store, mine, other)
    bare = containment(ORIGIN, extent, offset, sides)
    # detectors imagine a second chair in a chair: what lies in its like has to be met more often to be another
    inner = (bare >= INNER_CONTAINMENT) & (cosine >= INNER_APPEARANCE)
    hits, other_hits = store.hits[mine], store.hits[other]
    inner &= np.minimum(hits, other_hits) <= INNER_RARITY * np.maximum(hits, other_hits)
    share = overlap(ORIGIN, extent, offset, sides)
    large = np.minimum(store.extent[mine].max(axis=1), store.extent[other].max(axis=1)) >= PIECE_SIZE
    one_space = large & (share >= SAME_SPACE) & (cosine >= PART_APPEARANCE)
    apart = np.select([one_space, inner], [np.inf, INNER_SHARE], CANNOT_LINK_SHARE)
    here = _may_be_one(store, mine, other, apart)
    mine, other, inside, cosine, share = mine[here], other[here], inside[here], cosine[here], share[here]
    # what lies in something is not that something: of two that are confirmed, like size and mutual overlap are asked
    extent, offset, sides = extent[here], offset[here], sides[here]
    mutual = overlap(ORIGIN, extent + wide, offset, sides + wide)
    both = (store.state[mine] == CONFIRMED) & (store.state[other] == CONFIRMED)
    same_box = (inside >= DUPLICATE_CONTAINMENT) & (~both | (mutual >= MUTUAL_OVERLAP))
    # without embeddings, only boxes that nearly coincide are taken for one
    alike = np.where(np.isnan(cosine), share >= DUPLICATE_OVERLAP, same_box & (cosine >= MERGE_APPEARANCE))
    alike &= ~swallows(store, mine, other)
    # neighbours that are two are met as two sooner or later; pieces of one thing are not
    unmet = never_apart(store, mine, other)
    rarer = np.minimum(store.hits[mine], store.hits[other])
    often, seldom = rarer >= UNMET_HITS, store.hits[_smaller(store, mine, other)] < KNOWN_HITS
    alike |= unmet & often & (cosine >= PIECE_APPEARANCE) & (inside >= UNMET_CONTAINMENT)
    # a part seen a few times may be any piece of the whole; one seen more often has to prove it
    alike |= unmet & seldom & (cosine >= PART_APPEARANCE) & (inside >= PART_CONTAINMENT)
    # the head and the foot of a bed look otherwise; there the name speaks too
    called = label_cosine(store, mine, other)
    similar = cosine >= NAMED_APPEARANCE
    enough = inside >= np.where(often, DUPLICATE_CONTAINMENT, PART_CONTAINMENT)
    alike |= unmet & (called >= SURE_LABELS) & similar & enough
    # and no thing holds a smaller one of its own name: that is a side of it, or a piece
    alike |= (called >= CALLED_ALIKE) & similar & (inside >= INNER_CONTAINMENT)
    return _older_first(store, mine[alike], other[alike], cosine[alike])


def _pairs(store: ObjectStore, mine: Rows | int, other: Rows | int) -> tuple[Floats, Floats, Floats]:
    """Sizes of boxes, where others lie from them, and the sizes of these, all along the axes of the first."""
    theirs = store.xyz[other], store.extent[other], store.yaw[other]
    return store.extent[mine], *in_axes_of(store.xyz[mine], store.yaw[mine], *theirs)


@compiled
def _lie_in_each_other(
    mine: Rows,
    other: Rows,
    body: Floats,
    state: NDArray[np.uint8],
    counts: NDArray[np.int32],
    gauges: NDArray[np.float32],
    means: NDArray[np.float32],
) -> Rows:
    """Which pairs may be one: the other not seen now and not gone, its box in this one's, not looking otherwise."""
    wide = DUPLICATE_TOLERANCE
    found = np.empty(len(mine), dtype=np.int64)
    count = 0
    for at in range(len(mine)):
        one, two = mine[at], other[at]
        if body[two, _LAST_SEEN] >= body[one, _LAST_SEEN] or state[two] > CONFIRMED:
            continue
        shared = volume = other_volume = 1.0
        offset, sizes = in_box(body[two, _X : _X + 3], body[two, _WIDE_X : _WIDE_X + 3], body[two, _YAW], body[one])
        for axis in range(3):
            size, other_size = body[one, _WIDE_X + axis] + wide, sizes[axis] + wide
            low = max(-0.5 * size, offset[axis] - 0.5 * other_size)
            high = min(0.5 * size, offset[axis] + 0.5 * other_size)
            shared *= max(high - low, 0.0)
            volume *= size
            other_volume *= other_size
        if shared == 0.0 or shared < _LEAST_CONTAINMENT * min(volume, other_volume):
            continue
        known = counts[one, _EMB_HITS] and counts[two, _EMB_HITS]
        if known and dot(means[one], means[two]) < _LEAST_COSINE * gauges[one, _EMB_NORM] * gauges[two, _EMB_NORM]:
            continue
        found[count] = at
        count += 1
    return found[:count]


def _spanned(store: ObjectStore, batch: Batch, index: Rows, mine: Rows, other: Rows) -> set[tuple[int, int, float]]:
    """Objects that the box of one large observation covers besides the one it went to."""
    here = (other != mine) & (store.extent[other].max(axis=1) >= PIECE_SIZE)
    index, mine, other = index[here], mine[here], other[here]
    wide = DUPLICATE_TOLERANCE
    offset, sides = in_axes_of(
        batch.xyz[index], batch.yaw[index], store.xyz[other], store.extent[other], store.yaw[other]
    )
    covered = containment(ORIGIN, batch.extent[index] + wide, offset, sides + wide)
    here = covered >= PIECE_COVERED
    mine, other = mine[here], other[here]
    here = _may_be_one(store, mine, other, np.full(len(mine), CANNOT_LINK_SHARE))
    mine, other = mine[here], other[here]
    cosine = appearance_cosine(store, mine, other)
    alike = (cosine >= PIECE_APPEARANCE) & (~swallows(store, mine, other) | never_apart(store, mine, other))
    return _older_first(store, mine[alike], other[alike], cosine[alike])


def _may_be_one(store: ObjectStore, mine: Rows, other: Rows, share: Floats) -> NDArray[np.bool_]:
    """False for what was seen in this frame too, is gone, or was met beside this one: it is another."""
    here: NDArray[np.bool_] = store.last_seen[other] < store.last_seen[mine]
    here &= store.state[other] <= State.CONFIRMED
    here &= store.is_surface(mine) == store.is_surface(other)
    return here & ~cannot_link(store, mine, other, share)


def never_apart(store: ObjectStore, mine: Rows, other: Rows) -> NDArray[np.bool_]:
    """Whether two were not seen side by side in one frame, but for rare strays; one of both must remember all it met.

    A table with its chairs around forgets neighbours, its pieces do not.
    """
    rarer = np.minimum(store.hits[mine], store.hits[other])
    together: NDArray[np.bool_] = times_met(store, mine, other) <= STRAY_SHARE * rarer
    return together & (has_room(store, mine) | has_room(store, other))


def swallows(store: ObjectStore, mine: Rows, other: Rows) -> NDArray[np.bool_]:
    """Whether one of two is confirmed and the other's box several times as large: a cup is never its table."""
    volume, other_volume = _widened_volume(store, mine), _widened_volume(store, other)
    several = np.maximum(volume, other_volume) > SEVERAL_TIMES * np.minimum(volume, other_volume)
    return several & (store.state[_smaller(store, mine, other)] == CONFIRMED)


def _smaller(store: ObjectStore, mine: Rows, other: Rows) -> Rows:
    """The row of each pair that has the smaller box."""
    return np.where(_widened_volume(store, mine) < _widened_volume(store, other), mine, other)


def _widened_volume(store: ObjectStore, rows: Rows) -> Floats:
    return (store.extent[rows] + DUPLICATE_TOLERANCE).prod(axis=1)


def _older_first(store: ObjectStore, mine: Rows, other: Rows, cosine: Floats) -> set[tuple[int, int, float]]:
    return {
        (a, b, value) if store.seq[a] < store.seq[b] else (b, a, value)
        for a, b, value in zip(mine.tolist(), other.tolist(), cosine.tolist(), strict=True)
    }


def merge_rows(store: ObjectStore, keep: int, lose: int, *, place_of_lost: bool) -> None:
    """Put what is known of one object into another and delete it.

    With ``place_of_lost`` the one that stays gets the place of the other, else the boxes are joined.
    """
    kept, lost = int(store.hits[keep]), int(store.hits[lose])
    # two that were told have no sighting
    share = lost / max(kept + lost, 1)
    if place_of_lost:
        store.neighbours[keep], store.neighbour_hits[keep] = 0, 0
        for name in ("xyz", "extent", "yaw", "precision", "spread", "points", "points_origin", "n_points"):
            store.column(name)[keep] = store.column(name)[lose]
        for name in ("ring_frame", "ring_camera", "ring_world", "ring_n", "bins", "n_bins"):
            store.column(name)[keep] = store.column(name)[lose]
    else:
        _join_boxes(store, keep, lose)
        store.bins[keep] |= turned_bins(store, store.bins[lose], store.yaw[lose] - store.yaw[keep])
        store.n_bins[keep] = store.bins[keep].sum()
        if store.ring_n[lose] > store.ring_n[keep]:
            for name in ("ring_frame", "ring_camera", "ring_world", "ring_n"):
                store.column(name)[keep] = store.column(name)[lose]
    merge_neighbours(store, keep, lose)
    names = store.label_ids[keep], store.label_scores[keep]
    # once in a while: not worth compiling for
    blend.py_func(*names, store.label_ids[lose], store.label_scores[lose], share)
    if store.dim is not None:
        merge_appearance(store, keep, lose)
    store.hits[keep] = kept + lost
    store.surface_hits[keep] += store.surface_hits[lose]
    store.expected[keep] += store.expected[lose]
    store.detected[keep] += store.detected[lose]
    store.first_seen[keep] = min(store.first_seen[keep], store.first_seen[lose])
    store.last_seen[keep] = max(store.last_seen[keep], store.last_seen[lose])
    store.crop_quality[keep] = max(store.crop_quality[keep], store.crop_quality[lose])
    store.missed[keep] = 0
    store.end_doubt(np.array([keep]))
    store.delete(lose)
    store.update_grid(np.array([keep]))


def turned_bins(store: ObjectStore, bins: NDArray[np.bool_], turn: float) -> NDArray[np.bool_]:
    """View bins (..., bins) of boxes as those of boxes that these are turned by ``turn`` from."""
    views = store.settings.views
    sectors = bins.reshape(*bins.shape[:-1], views.elevation_bins, views.azimuth_bins)
    return np.roll(sectors, round(turn / (2.0 * np.pi) * views.azimuth_bins), axis=-1).reshape(bins.shape)


def _join_boxes(store: ObjectStore, keep: int, lose: int) -> None:
    """The box around both when each is known from several sightings; else the better known one.

    Pieces of a large thing add up, and a stray sighting does not blow a thing up.
    """
    if min(store.hits[keep], store.hits[lose]) >= MERGED_BOX_HITS:
        extent, offset, sides = _pairs(store, keep, lose)
        low, high = np.minimum(-0.5 * extent, offset - 0.5 * sides), np.maximum(0.5 * extent, offset + 0.5 * sides)
        store.xyz[keep] += vectors_in_axes(0.5 * (low + high), -store.yaw[keep])
        store.extent[keep] = high - low
    elif store.hits[lose] > store.hits[keep]:
        store.extent[keep] = sides_in_axes(store.extent[lose], store.yaw[lose] - store.yaw[keep])
        for name in ("xyz", "precision", "spread"):
            store.column(name)[keep] = store.column(name)[lose]
