"""The lives of objects: who appears, is confirmed, goes, comes back, moves or becomes one with another, and the tale.

Whatever changes a state does it here, so that each turn is told once, with its evidence, and the line in which
proto-objects wait to expire is always right.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.absence import Gone
from lastseen.memory.objects.events import Event, EventKind
from lastseen.memory.objects.grid import Rows
from lastseen.memory.objects.joining import absorb
from lastseen.memory.objects.store import CONFIRMED, PROTO, ObjectStore, State, id_text


class Lives:
    """States of the objects in a store, as of the frame being taken."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.now = 0.0
        self.frame_id = 0
        self._protos: OrderedDict[int, None] = OrderedDict()
        self._events: list[Event] = []
        self._successors: dict[int, int | None] = {}

    def tell(self, kind: EventKind, row: int, **evidence: object) -> None:
        """Note a turn in an object's life."""
        self._events.append(Event(self.now, self.frame_id, kind, id_text(int(self.store.seq[row])), evidence))

    def told(self) -> tuple[Event, ...]:
        """What was told since this was last asked."""
        events, self._events = tuple(self._events), []
        return events

    def successors(self) -> dict[int, int | None]:
        """Numbers of the objects that ended since this was last asked, each with the one it goes on as, or None."""
        successors, self._successors = self._successors, {}
        return successors

    def appear(self, rows: Rows) -> None:
        """Begin the lives of new proto-objects."""
        for row in rows.tolist():
            self._protos[int(self.store.seq[row])] = None
            self.tell(EventKind.APPEARED, row, xyz=rounded(self.store.xyz[row]))

    def promote(self, rows: Rows) -> list[int]:
        """Confirm those proto-objects among these that are known well enough; they come back."""
        store, rules = self.store, self.store.settings.promotion
        protos = rows[store.state[rows] == PROTO]
        ready = (
            (store.hits[protos] >= rules.min_hits)
            & (store.stability[protos] >= rules.min_stability)
            & (store.n_bins[protos] >= rules.min_view_bins)
        )
        for row in protos[~ready].tolist():
            self._protos.move_to_end(int(store.seq[row]))
        confirmed: list[int] = protos[ready].tolist()
        for row in confirmed:
            del self._protos[int(store.seq[row])]
            store.state[row] = State.CONFIRMED
            self.tell(
                EventKind.CONFIRMED,
                row,
                hits=int(store.hits[row]),
                stability=round(float(store.stability[row]), 4),
                view_bins=int(store.n_bins[row]),
            )
        return confirmed

    def expire(self) -> None:
        """Let go of protos not seen for too long, and of the oldest ones when there are too many."""
        store, rules = self.store, self.store.settings.lifecycle
        while self._protos:
            row = store.row_of[next(iter(self._protos))]
            expired = self.now - float(store.last_seen[row]) > rules.proto_ttl
            if not expired and len(self._protos) <= rules.max_protos:
                break
            self.end(row)

    def end(self, row: int) -> None:
        """End a life: nothing is left of the object but what the undo of a correction keeps."""
        number = int(self.store.seq[row])
        self._protos.pop(number, None)
        self._successors[number] = None
        self.store.drop(row)

    def go(self, all_gone: Sequence[Gone]) -> None:
        """Take away what was seen to be gone: missing at first, removed when that is seen again later."""
        store = self.store
        for gone in all_gone:
            row = gone.row
            missing = store.state[row] == State.MISSING
            store.state[row] = State.REMOVED if missing else State.MISSING
            store.empty_views[row], store.doubt[row] = 0, 0.0
            if not missing:
                store.missing_since[row] = self.now
            self.tell(
                EventKind.REMOVED if missing else EventKind.MISSING,
                row,
                views=gone.views,
                needed=gone.needed,
                empty_share=gone.empty_share,
                detection_rate=gone.detection_rate,
            )

    def come_back(self, rows: Rows) -> None:
        """Bring back those of these objects that were gone."""
        store = self.store
        for row in rows[store.state[rows] > CONFIRMED].tolist():
            was = State(int(store.state[row])).name.lower()
            store.state[row] = State.CONFIRMED
            self.tell(EventKind.REAPPEARED, row, was=was, missing_for=self.now - float(store.missing_since[row]))

    def move(self, absent: int, arrived: int, cosine: float) -> None:
        """Let an absent object go on at the place of one that came."""
        store = self.store
        before, after = rounded(store.xyz[absent]), rounded(store.xyz[arrived])
        store.state[absent] = State.CONFIRMED
        self._join(absent, arrived, EventKind.MOVED, before=before, after=after, cosine=_number(cosine))

    def merge(self, keep: int, lose: int, *, cosine: float | None = None) -> None:
        """Let one object go on as another, found by a cosine or said by hand."""
        evidence: dict[str, object] = {"how": "by hand"} if cosine is None else {"cosine": _number(cosine)}
        self._join(keep, lose, EventKind.MERGED, **evidence)

    def _join(self, keep: int, lose: int, kind: EventKind, **evidence: object) -> None:
        """The id of ``keep`` stays, and the event names the id that went."""
        store = self.store
        absorbed = store.id(lose)
        self._successors[int(store.seq[lose])] = int(store.seq[keep])
        if store.state[keep] == PROTO and store.state[lose] == CONFIRMED:
            self._protos.pop(int(store.seq[keep]))
            store.state[keep] = State.CONFIRMED
        self._protos.pop(int(store.seq[lose]), None)
        absorb(store, keep, lose, place_of_lost=kind is EventKind.MOVED)
        if store.state[keep] == PROTO:
            # it was seen later than its place in the line says
            self.line_up()
        self.tell(kind, keep, absorbed=absorbed, **evidence)

    def line_up(self) -> None:
        """Line protos up as they expire: the longest unseen first."""
        store = self.store
        protos = store.live()
        protos = protos[store.state[protos] == State.PROTO]
        oldest_first = np.lexsort((store.seq[protos], store.last_seen[protos]))
        self._protos = OrderedDict((number, None) for number in store.seq[protos[oldest_first]].tolist())


def rounded(xyz: NDArray[np.float64]) -> list[float]:
    """A place as events tell it: in metres, to a tenth of a millimetre."""
    return [round(value, 4) for value in xyz.tolist()]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
