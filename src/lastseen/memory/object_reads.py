"""What a memory knows of objects: each by its id, all of them, what happened to them, and how they stand."""

from __future__ import annotations

from dataclasses import replace

from lastseen.memory.browse import Browse
from lastseen.memory.history import Change, HistoryEntry, changes, object_history
from lastseen.memory.object import Object
from lastseen.memory.objects import ObjectState, Relation
from lastseen.memory.sessions import Sessions
from lastseen.memory.store.clock import Moment
from lastseen.memory.write_path import WritePath
from lastseen.observation import OBJECT


class ObjectReads:
    """The part of ``Memory`` that reads objects; all of it may be read while frames come in."""

    _writes: WritePath
    _sessions: Sessions
    _placed: tuple[bool, ...]
    browse: Browse
    """Pages, earlier states, pictures and what changed lately: for whoever displays this memory."""

    def object(self, object_id: str) -> Object:
        """Everything remembered of one object, pictures included; an id that is not remembered raises."""
        apart, prefix = self._sessions.apart, self._sessions.prefix
        if apart is not None and object_id.startswith(prefix):
            return replace(apart.object(object_id.removeprefix(prefix)), id=object_id)
        with self._writes.lock:
            state = self._writes.objects.state(object_id)
        self._writes.pull()
        crops = tuple(crop.jpeg for crop in self._writes.store.crops(object_id))
        return self.browse.described([replace(state, image_crops=crops)])[0]

    def objects(
        self,
        label: str | None = None,
        *,
        kind: str | None = OBJECT,
        include_tentative: bool = False,
        include_removed: bool = False,
    ) -> list[Object]:
        """Every remembered object in the order of its id; with a label, those most likely called so.

        Tentative objects, and those seen to be gone (missing, removed), come only when asked for, and so do surfaces
        such as floor, walls and table tops: ``kind="surface"``, or None for both kinds.
        """
        states = self.states(label, kind=kind, include_tentative=include_tentative, include_removed=include_removed)
        return self.browse.described(states)

    def states(
        self,
        label: str | None = None,
        *,
        kind: str | None = OBJECT,
        include_tentative: bool = False,
        include_removed: bool = False,
    ) -> list[ObjectState]:
        """The same as working memory's own records."""
        with self._writes.lock:
            return self._writes.objects.states(
                label=label, kind=kind, include_tentative=include_tentative, include_absent=include_removed
            )

    def history(self, object_id: str) -> list[HistoryEntry]:
        """Where an object was known and what happened to it, oldest first; an id that is not remembered raises."""
        with self._writes.lock:
            self._writes.objects.state(object_id)
        self._writes.flush()
        return object_history(self._writes.store, self._writes.clock, object_id)

    def what_changed(self, since: Moment | None = None, *, newest: int | None = None) -> list[Change]:
        """What happened to objects since a time, oldest first; one that was never confirmed is left out.

        ``newest`` looks at no more than so many events, from the last one back.
        """
        self._writes.flush()
        store, clock = self._writes.store, self._writes.clock
        start = None if since is None else clock.time(since, name="since")
        with store.guard:
            return changes(store, clock, since=start, newest=newest)

    def relations(self, object_id: str) -> list[Relation]:
        """How an object stands to those around it: in, on, under, next to; nearest first within each."""
        with self._writes.lock:
            return self._writes.objects.relations(object_id)

    @property
    def matched(self) -> tuple[str | None, ...]:
        """The object that each observation of the newest frame went to, in their order; None for none."""
        apart, prefix = self._sessions.apart, self._sessions.prefix
        if apart is not None:
            return tuple(None if one is None else prefix + one for one in apart.matched)
        return self._writes.objects.matched

    @property
    def matched_detections(self) -> tuple[str | None, ...]:
        """The same for the detections of the newest frame; None also for those that depth did not place."""
        apart, prefix = self._sessions.apart, self._sessions.prefix
        if apart is not None:
            return tuple(None if one is None else prefix + one for one in apart.matched_detections)
        ids = iter(self._writes.objects.matched)
        return tuple(next(ids, None) if placed else None for placed in self._placed)
