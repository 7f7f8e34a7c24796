"""When two remembered objects are one thing that is remembered twice. Of two that are one the older id stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.association import NO_LOOKS, WIDE, Pairs
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.boxes import containment, overlap
from lastseen.memory.objects.compiled import compiled, dot
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.likeness import looks_alike
from lastseen.memory.objects.rivals import are_rivals, has_room, times_met
from lastseen.memory.objects.store import BODY, CONFIRMED, COUNTS, GAUGES, ObjectStore, State

_X, _WIDE_X, _LAST_SEEN = BODY.first("xyz"), BODY.first("extent"), BODY.first("last_seen")
_EMB_HITS, _STABILITY = COUNTS.first("emb_hits"), GAUGES.first("stability")


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
    unmet = often & (times_met(store, mine, other) == 0) & has_room(store, mine) & has_room(store, other)
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
