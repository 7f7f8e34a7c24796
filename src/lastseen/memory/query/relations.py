"""Which objects stand so to others as a question says: relations over rows of a snapshot (docs/search.md).

Left, right, in front of and behind are as seen from somewhere: what the question names, else where the robot is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.relations import REACH, Boxes, gaps, holds
from lastseen.memory.query.geometry import (
    ASIDE_REACH,
    OVERHANG,
    WIDER,
    between,
    nearest,
    pairs_within,
    rests,
    seen_from,
)
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
                true |= apart & between(things, first, second)
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
        if kind not in WIDER or len(left) == 1:
            return left
        rows = left or rows
        things, there = self.boxes(rows), self.boxes(anchors[0])
        first, second = self._apart(rows, anchors[0], *pairs_within(things, there, WIDER[kind]))
        gap = np.full(len(rows), np.inf)
        np.minimum.at(gap, first, gaps(things.only(first), there.only(second)))
        least = float(gap.min(initial=np.inf))
        if least > WIDER[kind]:
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
        things, anchors = self.boxes(rows), self.boxes(others)
        first, second = self._apart(rows, others, *pairs_within(things, anchors, REACH.get(kind, 0.0)))
        fits = holds(kind, things.only(first), anchors.only(second))
        true = np.zeros(len(rows), dtype=bool)
        true[first[fits]] = True
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
        things, anchors = self.boxes(rows), self.boxes(others)
        first, second = self._apart(rows, others, *pairs_within(things, anchors, OVERHANG))
        level = rests(things.only(first), anchors.only(second)) & ~on[first]
        found = np.zeros(len(rows), dtype=bool)
        for at in sorted(set(first[level].tolist())):
            found[at] = self.around.support(self.snapshot.table.ids[rows[at]]) is None
        return found

    def _apart(
        self, rows: list[int], others: list[int], first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs without those of a thing with itself."""
        two = np.array(rows)[first] != np.array(others, dtype=np.int64)[second]
        return first[two], second[two]

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
        apart = nearest(self.boxes(rows), there, same=same).tolist()
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
        things, others = self.boxes(rows), self.boxes(anchors[0])
        first, second = self._apart(rows, anchors[0], *pairs_within(things, others, ASIDE_REACH))
        true[first[seen_from(relation.kind, things.only(first), others.only(second), viewer)]] = True
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
