"""What people say of objects: corrections of names and identities, and what was told; each can be undone.

Like a frame, each change gives its events and marks the rows it changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.memory.objects.corrections import Change, Undo, as_before, checked_name, set_label
from lastseen.memory.objects.layout import ID_PREFIX, State
from lastseen.memory.objects.lifecycle import Event, EventKind, ObjectLifecycle, rounded
from lastseen.memory.objects.snapshot import read_state
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.objects.told import create_told, place, recognised


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
