"""Object memory: a stream of frames and observations in, objects that persist out.

``ObjectMemory.observe`` is the whole path of one frame: leave out what must not be remembered, find which
observation is which object, update, create, promote, expire. Time is the frame's; nothing is random; ids count up.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.frame import Frame
from lastseen.memory.objects import snapshot
from lastseen.memory.objects.association import assign, gated_pairs
from lastseen.memory.objects.batch import Batch, gather
from lastseen.memory.objects.boxes import overlap
from lastseen.memory.objects.events import Event, EventKind
from lastseen.memory.objects.grid import Rows as RowNumbers
from lastseen.memory.objects.snapshot import Rows
from lastseen.memory.objects.state import ObjectState, read_state
from lastseen.memory.objects.store import ObjectStore, State, id_text
from lastseen.memory.objects.update import create, refresh
from lastseen.observation import Observation


@dataclass(frozen=True, slots=True)
class Crop:
    """A picture of an object, handed on and not kept: better than those before it, or from a new side."""

    object_id: str
    frame_id: int
    stamp: float
    quality: float
    jpeg: bytes


CropSink = Callable[[Crop], None]


class ObjectMemory:
    """The working memory of objects.

    ``crop_sink`` receives the crops worth keeping; without one they are dropped. ``observe`` expects frames in the
    order of their stamps: the facade checks it.
    """

    def __init__(self, settings: Settings | None = None, *, crop_sink: CropSink | None = None) -> None:
        self.settings = settings or Settings()
        self.store = ObjectStore(self.settings)
        self.crop_sink = crop_sink
        self.now = 0.0
        self._frame_id = 0
        self._protos: OrderedDict[int, None] = OrderedDict()
        self._events: list[Event] = []
        self._ignored = {self.store.labels.id_of(label) for label in self.settings.labels.ignore}

    def __len__(self) -> int:
        return len(self.store)

    def observe(self, frame: Frame, observations: Sequence[Observation]) -> tuple[Event, ...]:
        """Take one frame and what was seen in it; returns what this changed in the lives of objects."""
        batch = gather(frame, observations, self.store.labels)
        if batch.looks is not None:
            self.store.use_embeddings(batch.looks.shape[1])
        self.now, self._frame_id = frame.stamp, frame.id
        self.store.version += 1
        batch = self._without_people(batch)
        batch = self._without_doubles(batch)
        if len(batch):
            pairs = gated_pairs(self.store, batch)
            matched = assign(pairs, self.store, len(batch))
            self._remember(frame, batch, matched)
        self._expire()
        events, self._events = tuple(self._events), []
        return events

    def state(self, object_id: str) -> ObjectState:
        """Everything remembered of one object."""
        return read_state(self.store, self.store.row(object_id), now=self.now)

    def states(
        self, *, label: str | None = None, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """Objects in the order of their ids: confirmed ones, and on request protos and those seen to be gone.

        With a label, those whose likeliest label it is.
        """
        store = self.store
        rows = store.live()
        state = store.state[rows]
        wanted = state == State.CONFIRMED
        wanted |= (state == State.PROTO) & include_tentative
        wanted |= (state > State.CONFIRMED) & include_absent
        rows = rows[wanted]
        if label is not None:
            number = store.labels.find(label)
            if number is None:
                return []
            # a cheap sieve on the slots first; ties of the best label are settled by name in the state
            rows = rows[(store.label_ids[rows] == number).any(axis=1)]
        found = [read_state(store, row, now=self.now) for row in rows.tolist()]
        return found if label is None else [one for one in found if one.label == store.labels.names[number or 0]]

    def export_rows(self, since: int = 0) -> Rows:
        """What working memory holds, or what changed after the export whose ``version`` is given."""
        return snapshot.export_rows(self.store, now=self.now, frame_id=self._frame_id, since=since)

    def restore(self, rows: Rows) -> None:
        """Fill this memory, which must be empty, with a full export; the next frame then meets the same objects."""
        snapshot.restore_rows(self.store, rows)
        self.now, self._frame_id = rows.now, rows.frame_id
        store = self.store
        protos = store.live()
        protos = protos[store.state[protos] == State.PROTO]
        oldest_first = np.lexsort((store.seq[protos], store.last_seen[protos]))
        self._protos = OrderedDict((number, None) for number in store.seq[protos[oldest_first]].tolist())
        self._ignored = {store.labels.id_of(label) for label in self.settings.labels.ignore}

    def _without_people(self, batch: Batch) -> Batch:
        if not len(batch) or not batch.label_ids.shape[1]:
            return batch
        kept = [index for index, best in enumerate(batch.label_ids[:, 0].tolist()) if best not in self._ignored]
        return batch if len(kept) == len(batch) else batch.subset(np.array(kept, dtype=np.int64))

    def _without_doubles(self, batch: Batch) -> Batch:
        """One thing detected twice in one frame counts once: the better seen of two boxes that nearly coincide."""
        if len(batch) < 2:
            return batch
        rules = self.settings.linking
        first, second = np.triu_indices(len(batch), k=1)
        share = overlap(batch.xyz[first], batch.extent[first], batch.xyz[second], batch.extent[second])
        close = np.flatnonzero(share > rules.double_overlap)
        if not len(close):
            return batch
        dropped: set[int] = set()
        by_share = close[np.lexsort((close, -share[close]))]
        for one, other in zip(first[by_share].tolist(), second[by_share].tolist(), strict=True):
            if one in dropped or other in dropped or not _look_alike(batch, one, other, rules.same_look):
                continue
            better = batch.observations[other].quality > batch.observations[one].quality
            dropped.add(one if better else other)
        kept = [index for index in range(len(batch)) if index not in dropped]
        return batch.subset(np.array(kept, dtype=np.int64))

    def _remember(self, frame: Frame, batch: Batch, matched: RowNumbers) -> None:
        store = self.store
        known = np.flatnonzero(matched >= 0)
        if len(known):
            # by number: what later depends on the order in which things were touched must not depend on place
            known = known[np.argsort(store.seq[matched[known]])]
            rows = matched[known]
            self._note_reappeared(rows)
            fresh = refresh(store, batch, frame, rows, known)
            self._hand_on_crops(batch, rows, known, fresh)
            store.settle(rows)
            self._promote(rows)
        new = np.flatnonzero(matched < 0)
        if len(new):
            rows = create(store, batch, new)
            self._hand_on_crops(batch, rows, new, np.ones(len(rows), dtype=np.bool_))
            store.settle(rows)
            for row in rows.tolist():
                self._protos[int(store.seq[row])] = None
                self._tell(EventKind.APPEARED, row, xyz=_rounded(store.xyz[row]))
            self._promote(rows)

    def _note_reappeared(self, rows: RowNumbers) -> None:
        store = self.store
        for row in rows[store.state[rows] > State.CONFIRMED].tolist():
            was = State(int(store.state[row])).name.lower()
            store.state[row] = State.CONFIRMED
            self._tell(EventKind.REAPPEARED, row, was=was, missing_for=self.now - float(store.missing_since[row]))

    def _promote(self, rows: RowNumbers) -> None:
        store, rules = self.store, self.settings.promotion
        protos = rows[store.state[rows] == State.PROTO]
        ready = (
            (store.hits[protos] >= rules.min_hits)
            & (store.stability[protos] >= rules.min_stability)
            & (store.n_bins[protos] >= rules.min_view_bins)
        )
        for row, confirmed in zip(protos.tolist(), ready.tolist(), strict=True):
            number = int(store.seq[row])
            if not confirmed:
                self._protos.move_to_end(number)
                continue
            del self._protos[number]
            store.state[row] = State.CONFIRMED
            self._tell(
                EventKind.CONFIRMED,
                row,
                hits=int(store.hits[row]),
                stability=round(float(store.stability[row]), 4),
                view_bins=int(store.n_bins[row]),
            )

    def _expire(self) -> None:
        """Let go of protos not seen for too long, and of the oldest ones when there are too many."""
        store, rules = self.store, self.settings.lifecycle
        while self._protos:
            number = next(iter(self._protos))
            row = store.row_of[number]
            expired = self.now - float(store.last_seen[row]) > rules.proto_ttl
            if not expired and len(self._protos) <= rules.max_protos:
                break
            del self._protos[number]
            store.drop(row)

    def _hand_on_crops(
        self, batch: Batch, rows: RowNumbers, index: NDArray[np.int64], fresh: NDArray[np.bool_]
    ) -> None:
        if self.crop_sink is None:
            return
        store = self.store
        for row, seen_index, new_side in zip(rows.tolist(), index.tolist(), fresh.tolist(), strict=True):
            seen = batch.observations[seen_index]
            if seen.crop is None or not (new_side or seen.quality > store.crop_quality[row]):
                continue
            store.crop_quality[row] = max(seen.quality, float(store.crop_quality[row]))
            self.crop_sink(Crop(store.id(row), batch.frame_id, batch.stamp, seen.quality, seen.crop))

    def _tell(self, kind: EventKind, row: int, **evidence: object) -> None:
        self._events.append(Event(self.now, self._frame_id, kind, id_text(int(self.store.seq[row])), evidence))


def _look_alike(batch: Batch, one: int, other: int, same_look: float) -> bool:
    if batch.looks is None or not (batch.has_look[one] and batch.has_look[other]):
        return True
    return float(batch.looks[one] @ batch.looks[other]) >= same_look


def _rounded(xyz: NDArray[np.float64]) -> list[float]:
    return [round(value, 4) for value in xyz.tolist()]
