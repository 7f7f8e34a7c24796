"""The lifecycle of objects: tentative, confirmed, missing, removed, and the events of each change.

Whatever changes a state does it here, so that each change is one event, with its evidence, and the order in which
tentative objects expire is always right.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.absence import Gone
from lastseen.memory.objects.columns import CONFIRMED, TENTATIVE, Rows, State, id_text
from lastseen.memory.objects.duplicates import merge_rows
from lastseen.memory.objects.store import ObjectStore


class EventKind(StrEnum):
    """What can happen to an object.

    appeared: it was seen for the first time; ``place_was_free`` in the evidence says that it came there.
    confirmed: it was seen often enough, from enough sides, and looked alike.
    moved: it is elsewhere than it was.
    missing: its place was seen without it.
    removed: its place was seen without it again, later.
    reappeared: it was missing or removed, and is seen again.
    merged: another object proved to be the same one; ``absorbed`` names it.
    corrected: a person or a localizer set something right; ``how`` says what.
    """

    APPEARED = "appeared"
    CONFIRMED = "confirmed"
    MOVED = "moved"
    MISSING = "missing"
    REMOVED = "removed"
    REAPPEARED = "reappeared"
    MERGED = "merged"
    CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one object, when, and on what evidence.

    ``evidence`` holds plain values (numbers, text, lists) so that it can be written down as JSON.
    """

    stamp: float
    frame_id: int
    kind: EventKind
    object_id: str
    evidence: Mapping[str, object] = field(default_factory=dict)


class ObjectLifecycle:
    """States of the objects in a store, as of the frame being observed."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.now = 0.0
        self.frame_id = 0
        self._tentative: OrderedDict[int, None] = OrderedDict()
        self._events: list[Event] = []
        self.successors: dict[int, int | None] = {}
        """Numbers of the objects deleted in this frame, each with the one it was merged into, or None."""

    def record(self, kind: EventKind, row: int, **evidence: object) -> None:
        """Note an event of an object, with the name it has now: a later name does not change what happened."""
        label = self.store.label(row)
        if label is not None:
            evidence["label"] = label
        self._events.append(Event(self.now, self.frame_id, kind, id_text(int(self.store.seq[row])), evidence))

    def take_events(self) -> tuple[Event, ...]:
        """The events since this was last asked."""
        events, self._events = tuple(self._events), []
        return events

    def appear(self, rows: Rows) -> None:
        """Note that tentative objects were made."""
        for row in rows.tolist():
            self._tentative[int(self.store.seq[row])] = None
            self.record(EventKind.APPEARED, row, xyz=rounded(self.store.xyz[row]))

    def promote(self, rows: Rows) -> list[int]:
        """Confirm those tentative objects among these that are known well enough; returns their rows."""
        store, rules = self.store, self.store.settings.promotion
        tentative = rows[store.state[rows] == TENTATIVE]
        ready = (
            (store.hits[tentative] >= rules.min_hits)
            & (store.stability[tentative] >= rules.min_stability)
            & (store.n_bins[tentative] >= rules.min_view_bins)
        )
        for row in tentative[~ready].tolist():
            self._tentative.move_to_end(int(store.seq[row]))
        confirmed: list[int] = tentative[ready].tolist()
        for row in confirmed:
            self.confirm(row)
        return confirmed

    def confirm(self, row: int) -> None:
        """Make a tentative object a confirmed one."""
        store = self.store
        del self._tentative[int(store.seq[row])]
        store.state[row] = State.CONFIRMED
        self.record(
            EventKind.CONFIRMED,
            row,
            hits=int(store.hits[row]),
            stability=round(float(store.stability[row]), 4),
            view_bins=int(store.n_bins[row]),
        )

    def expire(self) -> None:
        """Delete tentative objects not seen for too long, and those longest unseen when there are too many."""
        store, rules = self.store, self.store.settings.lifecycle
        while self._tentative:
            row = store.row_of[next(iter(self._tentative))]
            expired = self.now - float(store.last_seen[row]) > rules.tentative_ttl
            if not expired and len(self._tentative) <= rules.max_tentative:
                break
            self.delete(row)

    def delete(self, row: int) -> None:
        """Delete an object: nothing is left of it but what the undo of a correction keeps."""
        number = int(self.store.seq[row])
        self._tentative.pop(number, None)
        self.successors[number] = None
        self.store.delete(row)

    def mark_absent(self, all_gone: Sequence[Gone]) -> None:
        """Change the state of what was seen to be gone: missing at first, removed when that is seen again later."""
        store = self.store
        for gone in all_gone:
            row = gone.row
            missing = store.state[row] == State.MISSING
            store.state[row] = State.REMOVED if missing else State.MISSING
            store.end_doubt(np.array([row]))
            if not missing:
                store.missing_since[row] = self.now
            self.record(
                EventKind.REMOVED if missing else EventKind.MISSING,
                row,
                views=gone.views,
                needed=gone.needed,
                empty_share=gone.empty_share,
                detection_rate=gone.detection_rate,
            )

    def reappear(self, rows: Rows) -> None:
        """Confirm those of these objects again that were missing or removed."""
        store = self.store
        for row in rows[store.state[rows] > CONFIRMED].tolist():
            was = State(int(store.state[row])).text
            store.state[row] = State.CONFIRMED
            self.record(EventKind.REAPPEARED, row, was=was, missing_for=self.now - float(store.missing_since[row]))

    def relocate(self, absent: int, arrived: int, cosine: float) -> None:
        """Merge an object that arrived into the absent one that it is, at the new place."""
        store = self.store
        before, after = rounded(store.xyz[absent]), rounded(store.xyz[arrived])
        store.state[absent] = State.CONFIRMED
        self._merge(absent, arrived, EventKind.MOVED, before=before, after=after, cosine=_number(cosine))

    def recognise(self, told: int, seen: int) -> None:
        """Let a told object be the one that is seen, at the place where it is seen."""
        store = self.store
        kind = EventKind.MOVED if store.hits[told] else EventKind.MERGED
        before, after = rounded(store.xyz[told]), rounded(store.xyz[seen])
        store.state[told] = State.CONFIRMED
        self._merge(told, seen, kind, at_lost=True, before=before, after=after, how="told")

    def merge(self, keep: int, lose: int, *, cosine: float | None = None, how: str = "by hand") -> None:
        """Merge two objects; without a ``cosine`` of their appearance the event says ``how`` that was told."""
        evidence: dict[str, object] = {"how": how} if cosine is None else {"cosine": _number(cosine)}
        self._merge(keep, lose, EventKind.MERGED, at_lost=False, **evidence)

    def _merge(self, keep: int, lose: int, kind: EventKind, *, at_lost: bool = False, **evidence: object) -> None:
        """The id of ``keep`` stays, and the event names the id that went; ``at_lost`` gives it the other's place."""
        store = self.store
        absorbed = store.id(lose)
        self.successors[int(store.seq[lose])] = int(store.seq[keep])
        if store.state[keep] == TENTATIVE and store.state[lose] == CONFIRMED:
            self._tentative.pop(int(store.seq[keep]))
            store.state[keep] = State.CONFIRMED
        self._tentative.pop(int(store.seq[lose]), None)
        merge_rows(store, keep, lose, place_of_lost=at_lost or kind is EventKind.MOVED)
        if store.state[keep] == TENTATIVE:
            # it was seen later than its place in the order says
            self.order_tentative()
        self.record(kind, keep, absorbed=absorbed, **evidence)

    def order_tentative(self) -> None:
        """Order tentative objects as they expire: the longest unseen first."""
        store = self.store
        tentative = store.live()
        tentative = tentative[store.state[tentative] == State.TENTATIVE]
        oldest_first = np.lexsort((store.seq[tentative], store.last_seen[tentative]))
        self._tentative = OrderedDict((number, None) for number in store.seq[tentative[oldest_first]].tolist())


def rounded(xyz: NDArray[np.float64]) -> list[float]:
    """A position as events give it: in metres, to a tenth of a millimetre."""
    return [round(value, 4) for value in xyz.tolist()]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
