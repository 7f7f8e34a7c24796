"""Object memory: a stream of frames and observations in, objects that persist out.

``ObjectMemory.observe`` is the whole path of one frame: leave out what must not be remembered, find which
observation is which object, update, create, promote, expire. Time is the frame's; nothing is random; ids count up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.objects import snapshot
from lastseen.memory.objects.absence import find_absent
from lastseen.memory.objects.association import Pairs, associate
from lastseen.memory.objects.batch import (
    Batch,
    batch_observations,
    without_body,
    without_duplicates,
    without_labels,
)
from lastseen.memory.objects.by_hand import ByHand, Undo
from lastseen.memory.objects.cannot_link import count_neighbours, forget_neighbours
from lastseen.memory.objects.columns import CONFIRMED, ID_PREFIX, TENTATIVE, State, id_text
from lastseen.memory.objects.columns import Rows as RowNumbers
from lastseen.memory.objects.duplicates import duplicates
from lastseen.memory.objects.free_space import DepthKeyframes, evidence_at_confirmation, evidence_at_creation
from lastseen.memory.objects.labels import MOST_UNUSED
from lastseen.memory.objects.lifecycle import Event, EventKind, ObjectLifecycle, rounded
from lastseen.memory.objects.loop_closure import retire_frames, shift_to_new_poses
from lastseen.memory.objects.relations import Relation, relations_of
from lastseen.memory.objects.relocation import (
    ARRIVAL_HITS,
    arrivals_among,
    just_arrived,
    newcomers,
    relocated_from,
    relocated_to,
)
from lastseen.memory.objects.snapshot import ObjectState, Rows, read_state
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.objects.tracks import Tracks
from lastseen.memory.objects.update import create, update
from lastseen.observation import OBJECT, SURFACE, Observation

MERGE_EVERY = 3
"""Frames between searches for duplicates: they grow together over many frames, and a frame's time is short."""


@dataclass(frozen=True, slots=True)
class Crop:
    """A picture of an object, handed on and not kept: better than those before it, or from a new side."""

    object_id: str
    frame_id: int
    stamp: float
    quality: float
    jpeg: bytes


CropSink = Callable[[Crop], None]


class Matched(NamedTuple):
    """Which objects the observations of one frame became part of, by number.

    ``numbers`` are those of the observations at ``given``; of the others of ``total`` nothing was remembered.
    ``successors`` leads from an object that ended in the same frame to the one it goes on as, or to None.
    """

    total: int
    given: NDArray[np.int64]
    numbers: NDArray[np.int64]
    successors: Mapping[int, int | None]

    def ids(self) -> tuple[str | None, ...]:
        """One id per observation, in the order in which they were given."""
        ids: list[str | None] = [None] * self.total
        for at, first in zip(self.given.tolist(), self.numbers.tolist(), strict=True):
            number: int | None = first
            while number is not None and number in self.successors:
                number = self.successors[number]
            ids[at] = None if number is None else id_text(number)
        return tuple(ids)


NOTHING_MATCHED = Matched(0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), {})


class ObjectMemory(ByHand):
    """The working memory of objects.

    ``crop_sink`` receives the crops worth keeping; without one they are dropped. ``observe`` expects frames in the
    order of their stamps: the facade checks it.
    """

    def __init__(self, settings: Settings | None = None, *, crop_sink: CropSink | None = None) -> None:
        self.settings = settings or Settings()
        self.store = ObjectStore(self.settings)
        self.crop_sink = crop_sink
        self.lifecycle = ObjectLifecycle(self.store)
        self._arrived: list[int] = []
        self.tracks = Tracks()
        self._matched = NOTHING_MATCHED
        self._undo = Undo()
        self._ignored = {self.store.labels.id_of(label) for label in self.settings.labels.ignore}
        self.keyframes = DepthKeyframes(self.settings)
        self.body_mask: NDArray[np.bool_] | None = None

    @property
    def now(self) -> float:
        """The stamp of the last frame: frames bring the time."""
        return self.lifecycle.now

    def set_body_mask(self, mask: NDArray[np.bool_] | None) -> None:
        """Set which pixels of the depth image show the robot itself: nothing there is remembered or evidence."""
        if mask is not None and (mask.ndim != 2 or mask.dtype != np.bool_):
            raise InvalidValue("body_mask", mask, "must be a 2-D bool array", remedy="use mask > 0")
        self.body_mask = None if mask is None else mask.copy()

    def __len__(self) -> int:
        return len(self.store)

    @property
    def matched(self) -> tuple[str | None, ...]:
        """The object that each observation of the last frame became part of, in the order they were given.

        None stands for an observation that was left out: an ignored label, the robot's body, a second detection of
        one thing, or an object that expired at once because there are too many. Where objects were merged in the
        frame it is the id that stayed. Corrections after the frame do not change it.

        >>> ObjectMemory().matched
        ()
        """
        return self._matched.ids()

    def check(self, observations: Sequence[Observation]) -> None:
        """Refuse observations whose embeddings do not fit this memory, before anything is changed."""
        for seen in observations:
            if seen.embedding is not None and self.store.dim is not None:
                self.store.use_embeddings(len(seen.embedding))

    def observe(self, frame: Frame, observations: Sequence[Observation]) -> tuple[Event, ...]:
        """Update the memory with one frame and what was observed in it; returns the events of the change."""
        if self.body_mask is not None and self.body_mask.shape != frame.depth.shape:
            raise InvalidValue(
                "body_mask", self.body_mask, f"must have the depth's shape {frame.depth.shape}", remedy="resize it"
            )
        self._matched = NOTHING_MATCHED
        names = len(self.store.labels.names)
        batch = batch_observations(frame, observations, self.store.labels)
        if batch.embeddings is not None:
            self.store.use_embeddings(batch.embeddings.shape[1])
        if frame.id <= self.lifecycle.frame_id and self.store.version:
            retire_frames(self.store, self.keyframes)
        self.lifecycle.now, self.lifecycle.frame_id = frame.stamp, frame.id
        self.store.version += 1
        batch = without_labels(batch, self._ignored)
        batch = without_body(batch, frame, self.body_mask)
        batch = without_duplicates(batch)
        detector_works, numbers = False, batch.given
        self.lifecycle.successors = {}
        if len(batch):
            pairs, matched = associate(self.store, batch)
            for older, younger in self.tracks.follow(self.store, batch.observations, matched):
                self.lifecycle.merge(older, younger, how="seen as one")
            detector_works = self._update(batch, matched)
            numbers = self.store.seq[matched]
            self.tracks.keep(self.store, batch.observations, matched)
            count_neighbours(self.store, batch, matched)
            if self.store.version % MERGE_EVERY == 0:
                self._merge_duplicates(batch, pairs, matched)
            self._link_relocated()
        if self.settings.absence.enabled and frame.has_camera:
            self._find_absent(frame, detector_works=detector_works)
        self.lifecycle.expire()
        if len(self.store.labels.names) // MOST_UNUSED > names // MOST_UNUSED:
            self._drop_unused_labels()
        self._matched = Matched(len(observations), batch.given, numbers, self.lifecycle.successors)
        # corrections after the frame are not of it
        self.lifecycle.successors = {}
        return self.lifecycle.take_events()

    def state(self, object_id: str) -> ObjectState:
        """Everything remembered of one object."""
        return read_state(self.store, self.store.row(object_id), now=self.now)

    def listed(
        self, *, kind: str | None = OBJECT, include_tentative: bool = False, include_absent: bool = False
    ) -> RowNumbers:
        """Rows of one kind (None: of both) in the order of their ids: confirmed ones, and others on request.

        What is listed as present goes by ``state``; ``confirmed`` alone stays true of what was seen to be gone.
        """
        store = self.store
        rows = store.live()
        state = store.state[rows]
        wanted = state == State.CONFIRMED
        wanted |= (state == State.TENTATIVE) & include_tentative
        wanted |= (state > State.CONFIRMED) & include_absent
        if kind is not None:
            wanted &= store.is_surface(rows) == (kind == SURFACE)
        return rows[wanted]

    def states(
        self,
        *,
        label: str | None = None,
        kind: str | None = OBJECT,
        include_tentative: bool = False,
        include_absent: bool = False,
    ) -> list[ObjectState]:
        """What ``listed`` chooses; with a label, those whose likeliest label it is."""
        store = self.store
        rows = self.listed(kind=kind, include_tentative=include_tentative, include_absent=include_absent)
        if label is not None:
            number = store.labels.find(label)
            if number is None:
                return []
            # a cheap sieve on the slots first; ties of the best label are settled by name in the state
            rows = rows[(store.label_ids[rows] == number).any(axis=1)]
        found = [read_state(store, row, now=self.now) for row in rows.tolist()]
        return found if label is None else [one for one in found if one.label == store.labels.names[number or 0]]

    def newcomers(self) -> frozenset[str]:
        """What stands where its place was seen free before: it has come, and was not just found late."""
        return frozenset(map(self.store.id, newcomers(self.store, -math.inf).tolist()))

    def relations(self, object_id: str) -> list[Relation]:
        """How an object stands to the confirmed ones around it: in, on, under, next to."""
        return relations_of(self.store, self.store.row(object_id))

    def correct_poses(self, poses: Mapping[int, Pose3D]) -> tuple[Event, ...]:
        """Take new poses of past frames (by frame id, after a loop closure) and move what was seen from them."""
        self.store.version += 1
        for row, shift in shift_to_new_poses(self.store, self.keyframes, poses):
            self.lifecycle.record(EventKind.CORRECTED, row, how="poses", shift=rounded(shift))
        return self.lifecycle.take_events()

    def forget(self, object_ids: Sequence[str], *, absorbed: Sequence[str] = ()) -> frozenset[str]:
        """Delete objects for good: no undo brings them back, nor those that went on as them before (``absorbed``).

        Returns the labels that no object has any more; they are forgotten too.
        """
        store = self.store
        rows = [store.row(object_id) for object_id in object_ids]
        store.version += 1
        numbers = {int(object_id.removeprefix(ID_PREFIX)) for object_id in (*object_ids, *absorbed)}
        self._undo.forget(numbers)
        for row in rows:
            self.lifecycle.delete(row)
        forget_neighbours(store, numbers)
        return self._drop_unused_labels() if rows else frozenset()

    def _drop_unused_labels(self) -> frozenset[str]:
        """Take labels that no object has out of the table; returns them."""
        live = self.store.label_ids[self.store.live()]
        return self.store.labels.keep(set(np.unique(live).tolist()) | self._undo.labels() | self._ignored)

    def export_rows(self, since: int = 0) -> Rows:
        """What working memory holds, or what changed after the export whose ``version`` is given."""
        return snapshot.export_rows(
            self.store, self.keyframes, now=self.now, frame_id=self.lifecycle.frame_id, since=since
        )

    def restore(self, rows: Rows) -> None:
        """Fill this memory, which must be empty, with a full export; the next frame then meets the same objects."""
        snapshot.restore_rows(self.store, rows)
        self._matched = NOTHING_MATCHED
        self.keyframes.restore(rows.views)
        self.lifecycle.now, self.lifecycle.frame_id = rows.now, rows.frame_id
        self.lifecycle.order_tentative()
        self._ignored = {self.store.labels.id_of(label) for label in self.settings.labels.ignore}

    def _update(self, batch: Batch, matched: RowNumbers) -> bool:
        """Update what was seen again and make objects of the rest; returns whether something confirmed was seen."""
        store = self.store
        known = (matched >= 0).nonzero()[0]
        confirmed_seen = False
        if len(known):
            # by number: what later depends on the order in which things were touched must not depend on place
            known = known[store.seq[matched[known]].argsort()]
            rows = matched[known]
            states = set(store.state[rows].tolist())
            confirmed_seen = CONFIRMED in states
            if max(states) > CONFIRMED:
                self.lifecycle.reappear(rows)
            fresh = update(store, batch, rows, known)
            self._pass_on_crops(batch, rows, known, fresh)
            if TENTATIVE in states:
                self._promote(rows[batch.confirming(known)])
            self._arrived += just_arrived(store, rows)
        new = (matched < 0).nonzero()[0]
        if len(new):
            rows = create(store, batch, new)
            matched[new] = rows
            store.free_space[rows] = evidence_at_creation(self.keyframes, batch, new)
            self._pass_on_crops(batch, rows, new, np.ones(len(rows), dtype=np.bool_))
            self.lifecycle.appear(rows)
            self._promote(rows[batch.confirming(new)])
        return confirmed_seen

    def _promote(self, rows: RowNumbers) -> None:
        store = self.store
        for row in self.lifecycle.promote(rows):
            store.free_space[row] = evidence_at_confirmation(store, self.keyframes, row)
            if store.free_space[row] and store.hits[row] > ARRIVAL_HITS:
                self._arrived.append(int(store.seq[row]))

    def _merge_duplicates(self, batch: Batch, pairs: Pairs, matched: RowNumbers) -> None:
        store = self.store
        for older, younger, cosine in duplicates(store, batch, pairs, matched):
            if not (store.state[older] and store.state[younger]):
                # one of the two went into a third just now
                continue
            if store.last_seen[older] == store.last_seen[younger]:
                # the third was seen in this frame, and so was the other one: they are two
                continue
            few = store.hits[older] < ARRIVAL_HITS
            self.lifecycle.merge(older, younger, cosine=cosine)
            if few:
                self._arrived += arrivals_among(store, np.array([older]))

    def _link_relocated(self) -> None:
        """See whether what was confirmed in this frame, where it was free before, is an absent object."""
        store = self.store
        for number in self._arrived:
            row = store.row_of.get(number)
            if row is None:
                continue
            found = relocated_from(store, row)
            if found is not None:
                self.lifecycle.relocate(found[0], row, found[1])
        self._arrived.clear()

    def _find_absent(self, frame: Frame, *, detector_works: bool) -> None:
        store = self.store
        all_gone, doubted = find_absent(store, frame, self.body_mask, detector_works=detector_works)
        # what is gone as well has not come: all are marked before one is looked for elsewhere
        self.lifecycle.mark_absent(all_gone)
        for row in (*(gone.row for gone in all_gone), *doubted):
            found = relocated_to(store, row, surely=store.state[row] > CONFIRMED)
            if found is not None:
                self.lifecycle.relocate(row, *found)
        self.keyframes.keep(frame, version=store.version)

    def _pass_on_crops(
        self, batch: Batch, rows: RowNumbers, index: NDArray[np.int64], fresh: NDArray[np.bool_]
    ) -> None:
        if self.crop_sink is None:
            return
        store = self.store
        for row, seen_index, new_side in zip(rows.tolist(), index.tolist(), fresh.tolist(), strict=True):
            seen = batch.observations[seen_index]
            if not (new_side or seen.quality > store.crop_quality[row]):
                continue
            picture = seen.picture()
            if picture is None:
                continue
            store.crop_quality[row] = max(seen.quality, float(store.crop_quality[row]))
            self.crop_sink(Crop(store.id(row), batch.frame_id, batch.stamp, seen.quality, picture))
