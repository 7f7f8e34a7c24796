"""Which objects stand so to others as a question says: relations over rows of a snapshot (docs/search.md).

On, in, under, near and next to are in ``memory/objects/relations.py``, which remembered objects are told by too.
"Closest" and "farthest" compare centres. Left, right, in front of and behind are as seen from somewhere: what the
question names, else where the robot is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.columns import Floats
from lastseen.memory.objects.relations import CONTACT, REACH, Boxes, Flags, corners, gaps, holds
from lastseen.memory.query.parser import Relation
from lastseen.memory.query.snapshot import Snapshot
from lastseen.memory.query.vocabulary import VIEWED

if TYPE_CHECKING:
    from lastseen.memory.browse import Browse

RANKED = ("closest", "farthest", "leftmost", "rightmost")
"""Relations that put things in an order and mean one of them."""
_CLEARLY = 0.3
"""Metres by which a thing must be nearer than another to be the one that is meant."""
_STRAIGHTER = 0.05
"""Metres by which the way over a thing must be shorter than over another for it to be the one between."""
_MOST_PAIRED = 12
"""Things of one name that are tried as one end of "between"."""
_WIDER = {"near": 1.4, "next to": 1.0}
"""Metres of ``REACH`` where nothing of that name is nearer: words for distances stretch in a large room."""
_AT_ONCE = 256
"""Things whose distances are taken at once, so that a large memory needs little room for them."""
_OVERHANG = 0.35
"""Metres beside a box within which a thing level with its top may stand on it: of a counter at a wall often only the
front was seen."""
_BETWEEN = np.cos(np.radians(120.0))
"""Cosine of the angle at which two things are seen from one between them."""

_ASIDE = 0.1
"""Metres by which a thing must lie to a side of another to be left of it, or behind it."""
_SIDEWAYS = 0.6
"""And how far to that side at least, beside how far off it lies otherwise: within 60 degrees."""
_ASIDE_REACH = 3.0
"""Metres between surfaces: what is farther off is not said to be left or right of a thing."""


class Relations:
    """Relations among the rows of one snapshot; ``notes`` takes what could not be compared."""

    def __init__(self, snapshot: Snapshot, around: Browse, notes: list[str]) -> None:
        self.snapshot, self.around, self.notes = snapshot, around, notes

    def boxes(self, rows: Sequence[int]) -> Boxes:
        """Where the rows stand and how large they are."""
        table = self.snapshot.table
        centers = np.array([table.xyz(row) for row in rows]).reshape(-1, 3)
        sizes = self.around.sizes([table.ids[row] for row in rows])
        return Boxes(centers, sizes[:, :3], sizes[:, 3])

    def hold(self, relation: Relation, rows: list[int], anchors: list[list[int]]) -> list[bool]:
        """Whether a relation is true of each row; ``anchors`` are the rows that each of its anchors may mean."""
        if relation.kind == "between":
            true = np.zeros(len(rows), dtype=bool)
            things = self.boxes(rows)
            for apart, first, second in self._pairs(rows, anchors):
                true |= apart & _between(things, first, second)
        elif relation.kind in VIEWED:
            true = self._viewed(relation, rows, anchors)
        else:
            true = self._near_any(relation.kind, rows, anchors[0])
        return true.tolist()

    def meant(self, kind: str, left: list[int], rows: list[int], anchors: list[list[int]]) -> list[int]:
        """What "the chair near the desk" means where several are: the one that is clearly nearer, or more between.

        ``left`` are the rows of which the relation is true; words for distances stretch where there is none.
        """
        if kind == "between" and len(left) > 1:
            off = self._detours(left, anchors)
            return [row for row, metres in zip(left, off, strict=True) if metres <= min(off) + _STRAIGHTER]
        if kind not in _WIDER or len(left) == 1:
            return left
        rows = left or rows
        at, here, there = self._within(_WIDER[kind], rows, anchors[0])
        gap = np.full(len(rows), np.inf)
        np.minimum.at(gap, at, gaps(here, there))
        least = float(gap.min(initial=np.inf))
        if least > _WIDER[kind]:
            return []
        return [row for row, metres in zip(rows, gap.tolist(), strict=True) if metres <= least + _CLEARLY]

    def ranked(self, relation: Relation, rows: list[int], anchors: list[list[int]]) -> list[int]:
        """The row of the asked rank, by distance of centres or from left to right; none where there are fewer."""
        if relation.kind in ("leftmost", "rightmost"):
            order = self._left_to_right(relation, rows, anchors)
        else:
            order = self._by_distance(relation, rows, anchors)
        if order is None:
            return rows
        return order[relation.rank :] if relation.negated else order[relation.rank - 1 : relation.rank]

    def _pairs(
        self, rows: list[int], anchors: list[list[int]]
    ) -> list[tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]]:
        """Both ends of "between", each pair with the rows that are neither of them."""
        return [
            (np.array([row not in (one, other) for row in rows]), *self.boxes([one, other]).centers)
            for one in anchors[0][:_MOST_PAIRED]
            for other in anchors[-1][:_MOST_PAIRED]
            if one != other
        ]

    def _detours(self, rows: list[int], anchors: list[list[int]]) -> list[float]:
        """Metres by which the way from one thing to another is longer over each row, for the best pair of them."""
        at = self.boxes(rows).centers
        found = np.full(len(rows), np.inf)
        for apart, a, b in self._pairs(rows, anchors):
            longer = np.linalg.norm(at - a, axis=1) + np.linalg.norm(at - b, axis=1) - np.linalg.norm(a - b)
            found = np.where(apart, np.minimum(found, longer), found)
        return found.tolist()

    def _near_any(self, kind: str, rows: list[int], others: list[int]) -> NDArray[np.bool_]:
        """Whether each row stands so to any of the others; far from them is near to none."""
        at, here, there = self._within(REACH.get(kind, 0.0), rows, others)
        true = np.zeros(len(rows), dtype=bool)
        true[at[holds(kind, here, there)]] = True
        if kind == "in":
            ids = {self.snapshot.table.ids[row] for row in others}
            # told to be inside one of them, and not seen elsewhere since
            told = self.around.told_inside([self.snapshot.table.ids[row] for row in rows])
            true |= np.array([container in ids for container in told], dtype=bool)
        if kind == "on":
            true |= self._overhang(rows, others, true)
        return ~true if kind == "far" else true

    def _overhang(self, rows: list[int], others: list[int], on: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each row that stands on nothing else is level with the top of one of the others, and beside it."""
        at, here, there = self._within(_OVERHANG, rows, others)
        found = np.zeros(len(rows), dtype=bool)
        for level in sorted(set(at[_rests(here, there) & ~on[at]].tolist())):
            found[level] = self.around.support(self.snapshot.table.ids[rows[level]]) is None
        return found

    def _within(self, reach: float, rows: list[int], others: list[int]) -> tuple[NDArray[np.int64], Boxes, Boxes]:
        """Pairs of two things that come within so many metres: which of ``rows``, its box and the other's."""
        things, anchors = self.boxes(rows), self.boxes(others)
        first, second = _pairs_within(things, anchors, reach)
        two = np.array(rows)[first] != np.array(others, dtype=np.int64)[second]
        first, second = first[two], second[two]
        return first, things.only(first), anchors.only(second)

    def _by_distance(self, relation: Relation, rows: list[int], anchors: list[list[int]]) -> list[int] | None:
        if anchors:
            others = anchors[0]
            there = self.boxes(others)
        else:
            others, near = [], self.around.here()
            if near is None:
                self.notes.append(f"{relation.words} (where the robot is, is not known)")
                return None
            there = Boxes(np.array([near]), np.zeros((1, 3)), np.zeros(1))
        place_of = {row: at for at, row in enumerate(others)}
        same = np.array([place_of.get(row, -1) for row in rows])
        apart = _nearest(self.boxes(rows), there, same=same).tolist()
        # the anchor itself is not meant
        known = {row: metres for row, metres in zip(rows, apart, strict=True) if np.isfinite(metres)}
        sign = 1.0 if relation.kind == "closest" else -1.0
        return sorted(known, key=lambda row: (sign * known[row], row))

    def _viewer(self, relation: Relation, anchors: list[list[int]]) -> NDArray[np.float64] | None:
        """Where things are seen from: the last anchor where the question names one, else the robot."""
        if relation.viewed:
            return np.array(self.snapshot.table.xyz(anchors[-1][0]))
        here = self.around.here()
        if here is None:
            self.notes.append(f"{relation.words} (seen from where is not said, and where the robot is, is not known)")
        return None if here is None else np.array(here)

    def _viewed(self, relation: Relation, rows: list[int], anchors: list[list[int]]) -> NDArray[np.bool_]:
        viewer = self._viewer(relation, anchors)
        if viewer is None:
            return np.full(len(rows), not relation.negated)
        true = np.zeros(len(rows), dtype=bool)
        at, here, there = self._within(_ASIDE_REACH, rows, anchors[0])
        true[at[_seen_from(relation.kind, here, there, viewer)]] = True
        return true

    def _left_to_right(self, relation: Relation, rows: list[int], anchors: list[list[int]]) -> list[int] | None:
        viewer = self._viewer(relation, anchors)
        if viewer is None:
            return None
        at = self.boxes(rows).centers[:, :2] - viewer[:2]
        ahead = at.mean(axis=0)
        left = np.arctan2(ahead[0] * at[:, 1] - ahead[1] * at[:, 0], at @ ahead)
        order = np.lexsort((rows, -left if relation.kind == "leftmost" else left))
        return [rows[index] for index in order.tolist()]


def _nearest(things: Boxes, anchors: Boxes, *, same: NDArray[np.int64] | None = None) -> Floats:
    """Metres from each thing to the nearest anchor, between centres; inf where there is none.

    ``same`` gives for each thing the anchor that it is itself, or -1: it is left out.
    """
    found = np.full(len(things), np.inf)
    if not len(anchors):
        return found
    for start in range(0, len(things), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        apart = np.linalg.norm(things.centers[some, None] - anchors.centers[None], axis=2)
        if same is not None:
            own = np.flatnonzero(same[some] >= 0)
            apart[own, same[some][own]] = np.inf
        found[some] = apart.min(axis=1)
    return found


def _pairs_within(things: Boxes, anchors: Boxes, reach: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Things and anchors whose boxes come within ``reach`` metres of each other on the floor, as rows of each."""
    order = np.argsort(anchors.centers[:, 0], kind="stable")
    sorted_x = anchors.centers[order, 0]
    # however they are turned
    radius, widest = _radii(things), float(_radii(anchors).max(initial=0.0))
    half = radius + widest + reach
    low = np.searchsorted(sorted_x, things.centers[:, 0] - half, side="left")
    high = np.searchsorted(sorted_x, things.centers[:, 0] + half, side="right")
    counts = high - low
    first = np.repeat(np.arange(len(things)), counts)
    offsets = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    second = order[np.repeat(low, counts) + offsets]
    here, there = things.only(first).seen_from(anchors.only(second))
    close = (np.abs(here.centers) <= 0.5 * (here.extents + there.extents) + reach)[:, :2].all(axis=1)
    return first[close], second[close]


def _rests(things: Boxes, anchors: Boxes) -> Flags:
    """Whether the bottom of each thing is at the height of the top of the anchor of its row, which is larger."""
    level = np.abs(corners(things)[0][:, 2] - corners(anchors)[1][:, 2]) <= CONTACT
    return level & (things.volumes < anchors.volumes)


def _between(things: Boxes, first: Floats, second: Floats) -> Flags:
    """Whether each thing lies between two points of the floor: it sees them in opposite directions."""
    to_first, to_second = (first - things.centers)[:, :2], (second - things.centers)[:, :2]
    lengths = np.linalg.norm(to_first, axis=1) * np.linalg.norm(to_second, axis=1)
    cosine = np.divide((to_first * to_second).sum(axis=1), lengths, out=np.ones(len(things)), where=lengths > 0.0)
    return cosine <= _BETWEEN


def _seen_from(kind: str, things: Boxes, anchors: Boxes, viewer: Floats) -> Flags:
    """Whether each thing is left, right, in front of or behind the anchor of its row, seen from a point."""
    ahead = (anchors.centers - viewer)[:, :2]
    length = np.linalg.norm(ahead, axis=1)
    ahead = ahead / np.maximum(length, 1e-9)[:, None]
    off = (things.centers - anchors.centers)[:, :2]
    along, left = (off * ahead).sum(axis=1), ahead[:, 0] * off[:, 1] - ahead[:, 1] * off[:, 0]
    sides = {"left": (left, along), "right": (-left, along), "front": (-along, left), "behind": (along, left)}
    said, other = sides[kind]
    wide = (said > _ASIDE) & (said >= np.abs(other) * _SIDEWAYS)
    return wide & (length > _ASIDE) & (gaps(things, anchors) <= _ASIDE_REACH)


def _radii(boxes: Boxes) -> Floats:
    return 0.5 * np.hypot(boxes.extents[:, 0], boxes.extents[:, 1])
