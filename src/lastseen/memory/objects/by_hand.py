"""What people say of objects: corrections of names and identities, and what was told; each can be undone.

Like a frame, each change gives its events and marks the rows it changed. Corrections are undone in reverse order, as
long as the objects were not forgotten. A told object has no sighting (``hits`` is 0) and a place that is only roughly
known, so that the first sightings decide where and what it is; where its place is seen empty, it goes as a seen one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import check_readable
from lastseen.errors import InvalidValue
from lastseen.memory.objects.appearance import appearance_cosine
from lastseen.memory.objects.boxes import vectors_in_axes
from lastseen.memory.objects.columns import ID_PREFIX, Rows, State
from lastseen.memory.objects.labels import normal
from lastseen.memory.objects.lifecycle import Event, EventKind, ObjectLifecycle, rounded
from lastseen.memory.objects.snapshot import read_state
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.objects.update import keep_points

UNDO_DEPTH = 32
"""Corrections that can be taken back: a person's last minutes, not a history."""
TOLD_SIGMA = 0.3
"""Metres by which a told place is off: a person points at a shelf, not at a spot on it."""
_REACH = 1.5
"""Metres from a told place within which a thing of its name that is seen is taken for it."""
_ALIKE = 0.7
"""Cosine from which a thing of its name that is seen elsewhere is the one that was said to be put away."""
_ON_A_SIDE = 3
"""Surface points along an edge of the box of a told object, from which an empty place is told."""
NAME_COLUMNS = ("label_ids", "label_scores", "pinned")
"""What a new name changes."""


class ByHand:
    """The part of ``ObjectMemory`` that people change."""

    store: ObjectStore
    lifecycle: ObjectLifecycle
    _undo: Undo
    undone: Change | None = None
    """The correction that was taken back last."""

    def relabel(self, object_id: str, label: str) -> tuple[Event, ...]:
        """Name an object by hand; later sightings do not change the name."""
        checked_name(label)
        row = self._begin_change("relabel", object_id)
        before = self._label(object_id)
        set_label(self.store, row, label)
        self.lifecycle.record(EventKind.CORRECTED, row, how="relabel", before=before, after=self._label(object_id))
        return self.lifecycle.take_events()

    def confirm(self, object_id: str) -> tuple[Event, ...]:
        """Vouch for a tentative object that was seen from close by; one that is confirmed already stays as it is."""
        row = self.store.row(object_id)
        if self.store.state[row] == State.TENTATIVE:
            self.store.version += 1
            self.lifecycle.confirm(row)
            self.store.mark_changed(np.array([row]))
        return self.lifecycle.take_events()

    def delete(self, object_id: str) -> tuple[Event, ...]:
        """Drop an object that is none; undo brings it back. To leave no trace, forget it."""
        row = self._begin_change("delete", object_id)
        self.lifecycle.record(EventKind.CORRECTED, row, how="delete")
        self.lifecycle.delete(row)
        return self.lifecycle.take_events()

    def merge(self, keep: str, lose: str) -> tuple[Event, ...]:
        """Say that two objects are one; the first id stays."""
        if keep == lose:
            raise InvalidValue("merge", keep, "names one object twice", remedy="give two ids")
        kept = self._begin_change("merge", keep, lose)
        self.lifecycle.merge(kept, self.store.row(lose))
        return self.lifecycle.take_events()

    def undo(self) -> tuple[Event, ...]:
        """Take back the last relabel, delete, merge or word that was not yet taken back: ``undone``."""
        self.store.version += 1
        self.undone, rows = change, _ = self._undo.restore_last(self.store)
        self.lifecycle.order_tentative()
        for row in rows.tolist():
            self.lifecycle.record(EventKind.CORRECTED, row, how="undo", undone=change.what)
            # one that was seen since is no longer only told
            if change.made is not None and not self.store.hits[row]:
                self.lifecycle.delete(row)
        return self.lifecycle.take_events()

    def tell(
        self, fact: int, *, label: str, xyz: Sequence[float], extent: Sequence[float]
    ) -> tuple[str, tuple[Event, ...]]:
        """Make an object that was told by a fact of this number; returns its id and the events."""
        checked_name(label)
        self.store.version += 1
        row = create_told(self.store, xyz, extent, time=self.lifecycle.now)
        set_label(self.store, row, label)
        # what is seen there later may be called otherwise
        self.store.pinned[row] = False
        self._undo.remember_told(fact, made=int(self.store.seq[row]))
        self.lifecycle.record(EventKind.CORRECTED, row, how="tell", xyz=rounded(self.store.xyz[row]))
        return self.store.id(row), self.lifecycle.take_events()

    def put(self, fact: int, object_id: str, *, xyz: Sequence[float]) -> tuple[Event, ...]:
        """Put an object where a fact of this number says that it is."""
        row = self.store.row(object_id)
        self.store.version += 1
        self._undo.remember_told(fact, moved=as_before(self.store, "tell", [row]))
        before = rounded(self.store.xyz[row])
        place(self.store, row, xyz)
        self.lifecycle.record(EventKind.CORRECTED, row, how="tell", before=before, xyz=rounded(self.store.xyz[row]))
        return self.lifecycle.take_events()

    def carry(self, object_id: str, shift: Sequence[float]) -> None:
        """Move an object along with what it is inside of, by metres."""
        row = self.store.row(object_id)
        place(self.store, row, self.store.xyz[row] + np.asarray(shift))

    def forget_told(self, facts: Iterable[str]) -> None:
        """Let undo know no more of facts that were forgotten, by their ids."""
        self._undo.forget_told({int(fact.rpartition("-")[2]) for fact in facts})

    def only_told(self, object_ids: Iterable[str]) -> list[str]:
        """Those of these objects that are remembered and were never seen."""
        rows = {one: self.store.row_of.get(int(one.removeprefix(ID_PREFIX))) for one in object_ids}
        return [one for one, row in rows.items() if row is not None and not self.store.hits[row]]

    def holds(self, object_id: str) -> bool:
        """Whether an object is remembered."""
        return int(object_id.removeprefix(ID_PREFIX)) in self.store.row_of

    def remember_told(self, fact: int) -> None:
        """Let undo take back a fact that is of no object."""
        self._undo.remember_told(fact)

    def recognise(self, told: Iterable[str], events: Iterable[Event]) -> tuple[Event, ...]:
        """Join objects that these events confirm with the told ones that they are; ids of told ones stay."""
        store = self.store
        numbers = [int(one.removeprefix(ID_PREFIX)) for one in told]
        for event in events:
            row = store.row_of.get(int(event.object_id.removeprefix(ID_PREFIX)))
            if event.kind is EventKind.CONFIRMED and row is not None:
                found = recognised(store, [store.row_of[one] for one in numbers if one in store.row_of], row)
                if found is not None:
                    self.lifecycle.recognise(found, row)
        return self.lifecycle.take_events()

    def _begin_change(self, what: str, *object_ids: str) -> int:
        rows = [self.store.row(object_id) for object_id in object_ids]
        self.store.version += 1
        self._undo.remember(self.store, what, rows)
        return rows[0]

    def _label(self, object_id: str) -> str | None:
        return read_state(self.store, self.store.row(object_id), now=self.lifecycle.now).label


def create_told(store: ObjectStore, xyz: Sequence[float], extent: Sequence[float], *, time: float) -> int:
    """Make a confirmed object without a sighting; returns its row."""
    row = int(store.allocate(1)[0])
    store.state[row] = State.CONFIRMED
    store.extent[row] = extent
    store.first_seen[row] = store.last_seen[row] = time
    place(store, row, xyz)
    return row


def place(store: ObjectStore, row: int, xyz: Sequence[float]) -> None:
    """Put an object where it was said to be; what was seen of its old place tells nothing of the new one."""
    store.xyz[row] = xyz
    store.precision[row] = TOLD_SIGMA**-2.0
    store.n_points[row] = store.ring_n[row] = 0
    store.end_doubt(np.array([row]))
    if store.state[row] != State.TENTATIVE:
        store.state[row] = State.CONFIRMED
    keep_points(store, row, _box_points(store.xyz[row], store.extent[row], store.yaw[row]))
    store.update_grid(np.array([row]))


def recognised(store: ObjectStore, told: Sequence[int], row: int) -> int | None:
    """The row among told ones that an object just confirmed is; None where it is none of them.

    One that was never seen is the thing of its name near where it was told to be; one that was seen before and put
    away since must look like it, wherever it is.
    """
    label = store.label(row)
    best: tuple[float, int] | None = None
    for one in told:
        if one == row or label is None or store.label(one) != label or store.state[one] == State.TENTATIVE:
            continue
        away = float(np.linalg.norm(store.xyz[one] - store.xyz[row]))
        if store.hits[one]:
            alike = float(appearance_cosine(store, np.array([one]), np.array([row]))[0])
            if not alike >= _ALIKE:
                continue
        elif away > _REACH + 0.5 * float(store.extent[one].max()):
            continue
        if best is None or (away, int(store.seq[one])) < (best[0], int(store.seq[best[1]])):
            best = away, one
    return None if best is None else best[1]


def _box_points(xyz: NDArray[np.float64], extent: NDArray[np.float64], yaw: float) -> NDArray[np.float32]:
    """Points on top and sides of a box."""
    steps = np.linspace(-0.5, 0.5, _ON_A_SIDE)
    a, b = (grid.ravel() for grid in np.meshgrid(steps, steps))
    half = np.full(len(a), 0.5)
    faces = [(a, b, half), (half, a, b), (-half, a, b), (a, half, b), (a, -half, b)]
    points = np.concatenate([np.stack(face, axis=1) for face in faces])
    return (xyz + vectors_in_axes(points * extent, -yaw)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Change:
    """One correction by hand and the rows as they were before it.

    What was told has the number of its ``fact``; an object that was ``made`` for it goes with it.
    """

    what: str
    numbers: tuple[int, ...]
    before: dict[str, NDArray[Any]]
    fact: int | None = None
    made: int | None = None


def as_before(store: ObjectStore, what: str, rows: Iterable[int]) -> Change:
    """Rows as they are before they are changed."""
    taken = np.array(sorted(rows), dtype=np.int64)
    names = NAME_COLUMNS if what == "relabel" else store.names
    return Change(what, tuple(store.seq[taken].tolist()), {name: store.column(name)[taken] for name in names})


class Undo:
    """The last corrections by hand."""

    def __init__(self) -> None:
        self._changes: list[Change] = []

    def remember(self, store: ObjectStore, what: str, rows: Iterable[int]) -> None:
        """Keep rows as they are before they are changed; of a new name the old one alone, so that sightings stay."""
        self._changes.append(as_before(store, what, rows))
        del self._changes[:-UNDO_DEPTH]

    def remember_told(self, fact: int, *, made: int | None = None, moved: Change | None = None) -> None:
        """Keep that a fact was told, with the number of an object made for it or an object as it was before."""
        numbers, before = ((), {}) if moved is None else (moved.numbers, moved.before)
        self._changes.append(Change("tell", numbers if made is None else (made,), before, fact, made))
        del self._changes[:-UNDO_DEPTH]

    def restore_last(self, store: ObjectStore) -> tuple[Change, Rows]:
        """Put the rows of the last correction back as they were; one that was made for it stays for the caller."""
        if not self._changes:
            raise InvalidValue("undo", 0, "has nothing to take back", remedy="corrections by hand can be undone")
        change = self._changes.pop()
        if not change.before:
            made = [store.row_of[number] for number in change.numbers if number in store.row_of]
            return change, np.array(made, dtype=np.int64)
        absent = np.array([number for number in change.numbers if number not in store.row_of], dtype=np.int64)
        if len(absent) and change.what == "relabel":
            raise InvalidValue("undo", change.what, "was of an object that is gone since", remedy="undo once more")
        store.allocate_numbered(absent)
        store.deleted = [entry for entry in store.deleted if entry[1] not in set(absent.tolist())]
        rows = np.array([store.row_of[number] for number in change.numbers], dtype=np.int64)
        for name, values in change.before.items():
            store.column(name)[rows] = values
        store.update_grid(rows)
        return change, rows

    def forget(self, numbers: Set[int]) -> None:
        """Drop every correction that holds one of these objects."""
        self._changes = [change for change in self._changes if numbers.isdisjoint(change.numbers)]

    def forget_told(self, facts: Set[int]) -> None:
        """Drop the corrections that were these facts."""
        self._changes = [change for change in self._changes if change.fact not in facts]

    def labels(self) -> set[int]:
        """The numbers of the labels that corrections would bring back."""
        return {number for change in self._changes for number in _label_ids(change)}


def _label_ids(change: Change) -> list[int]:
    return change.before["label_ids"].ravel().tolist() if "label_ids" in change.before else []


def checked_name(label: str) -> str:
    """A label that can be given by hand; one that is blank or cannot be read raises."""
    if not normal(label):
        raise InvalidValue("label", label, "must be text that is not blank", remedy="give the thing's name")
    check_readable("label", label)
    return label


def set_label(store: ObjectStore, row: int, label: str) -> None:
    """Give an object one label that later sightings do not change."""
    store.label_ids[row], store.label_scores[row] = 0, 0.0
    store.label_ids[row, 0], store.label_scores[row, 0] = store.labels.id_of(label), 1.0
    store.pinned[row] = True
    store.mark_changed(np.array([row]))
