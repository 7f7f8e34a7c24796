"""Things that a segmenter follows over frames: the number it gives says which object an observation is.

Numbers hold within a process and are not kept in the file: after a start the objects are found again by place and
appearance, as those of any other detector.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lastseen.memory.objects.boxes import ORIGIN, in_axes_of
from lastseen.memory.objects.columns import CONFIRMED, Rows
from lastseen.memory.objects.duplicates import PART_CONTAINMENT, never_apart, swallows
from lastseen.memory.objects.relations import containment
from lastseen.memory.objects.store import ObjectStore
from lastseen.observation import Observation

MOST_KEPT = 10_000
"""Numbers kept; the oldest are forgotten first, and their things found by place again."""


class Tracks:
    """Which object each followed thing became."""

    def __init__(self) -> None:
        self._object_of: dict[int, int] = {}

    def follow(
        self, store: ObjectStore, observations: Sequence[Observation], matched: Rows
    ) -> Iterator[tuple[int, int]]:
        """Give every observation of a followed thing the row of its object, unless that is gone.

        Yields pairs (older, younger row) of objects that are one thing by now, before anything is updated.
        """
        named = {int(row) for row, seen in zip(matched.tolist(), observations, strict=True) if seen.labels}
        for at, seen in enumerate(observations):
            # a shape at the place of a named object is that, whatever number it had before
            if seen.thing is None or (matched[at] >= 0 and store.label_scores[matched[at]].any()):
                continue
            rows = {self._row(store, number) for number in (seen.thing, *seen.joined)} - {None}
            # the whole goes on as its largest piece
            known = sorted((row for row in rows if row is not None), key=lambda one: _size(store, one))
            # what a detector names in this frame is that object, and no shape takes its place
            known = [row for row in known if row not in named]
            if not known:
                continue
            row = known.pop()
            # whatever was taken for one of these by its place is another
            matched[np.isin(matched, [row, *known])] = -1
            for other in reversed(known):
                if not _swallows_apart(store, row, other):
                    older, younger = (row, other) if store.seq[row] < store.seq[other] else (other, row)
                    yield older, younger
                    row = older
            matched[at] = row

    def keep(self, store: ObjectStore, observations: Sequence[Observation], matched: Rows) -> None:
        """Remember what each followed thing became, and its box."""
        for seen, row in zip(observations, matched.tolist(), strict=True):
            if seen.thing is None:
                continue
            number = int(store.seq[row])
            self._object_of[seen.thing] = number
            for part in seen.joined:
                if self._row(store, part) is None:
                    self._object_of[part] = number
            if not store.label_scores[row].any():
                # all views of it made this box; an average with those of pieces would not be it
                store.xyz[row], store.extent[row], store.yaw[row] = seen.position, seen.extent, seen.yaw
                store.update_grid(np.array([row]))
        while len(self._object_of) > MOST_KEPT:
            del self._object_of[next(iter(self._object_of))]

    def _row(self, store: ObjectStore, number: int) -> int | None:
        row = store.row_of.get(self._object_of.get(number, -1))
        return row if row is not None and store.state[row] <= CONFIRMED else None


def _size(store: ObjectStore, row: int) -> tuple[float, int]:
    """What the largest piece is chosen by; of two alike the older."""
    return float(store.extent[row].prod()), -int(store.seq[row])


def _swallows_apart(store: ObjectStore, one: int, two: int) -> bool:
    """Whether a confirmed thing would go into one several times its size, outside or beside which it was seen."""
    first, second = np.array([one]), np.array([two])
    if not swallows(store, first, second)[0]:
        return False
    if store.is_surface(first)[0] != store.is_surface(second)[0]:
        # a panel is no piece of what stands before it
        return True
    offset, sides = in_axes_of(
        store.xyz[one], store.yaw[one], store.xyz[second], store.extent[second], store.yaw[second]
    )
    inside = containment(ORIGIN, store.extent[first], offset, sides)[0]
    return bool(inside < PART_CONTAINMENT or not never_apart(store, first, second)[0])
