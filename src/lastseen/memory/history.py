"""What memory tells about the past: an object's track, and what changed in the home."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import numpy as np

from lastseen.memory.objects import ObjectState
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.records import PROTO, STATUSES, VersionRecord
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One moment in an object's life: a place it was known at, or something that happened to it.

    ``kind`` is "known" for a place, else the event's; ``stamp`` is the frame's in that ``session``.
    """

    session: int
    stamp: float
    kind: str
    xyz: tuple[float, float, float] | None
    label: str | None
    status: str | None
    evidence: Mapping[str, Any]
    wall: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to an object, as ``what_changed`` lists it."""

    object_id: str
    kind: str
    session: int
    stamp: float
    label: str | None
    xyz: tuple[float, float, float] | None
    evidence: Mapping[str, Any]
    wall: datetime | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RememberedObject(ObjectState):
    """An object as it is now, with the way to its past."""

    read_history: Callable[[], list[HistoryEntry]]

    def history(self) -> list[HistoryEntry]:
        """The object's track and events, oldest first."""
        return self.read_history()


def past_table(store: LongTermStore, time: float) -> ObjectTable:
    """What was known at a memory time, ready to be searched."""
    # a version is written with the newest sighting it covers, which may lie after the time asked for
    versions = [replace(version, last_seen=min(version.last_seen, time)) for version in store.journal.as_of(time)]
    table = ObjectTable()
    table.upsert([version.object_id for version in versions], versions)
    return table


def past_states(
    versions: Iterable[VersionRecord], time: float, now: Mapping[str, ObjectState], *, stale_after: float
) -> list[ObjectState]:
    """What was known at a memory time, as states; versions keep no size and stability, so today's stand in."""
    found = []
    for version in versions:
        today = now.get(version.object_id)
        last_seen = min(version.last_seen, time)
        found.append(
            ObjectState(
                id=version.object_id,
                xyz_world=np.array(version.xyz, dtype=np.float64),
                emb_mean=None,
                emb_gallery=None,
                view_bins=frozenset() if today is None else today.view_bins,
                label_scores=dict(version.label_scores),
                stability=0.0 if today is None else today.stability,
                hits=version.hits,
                confirmed=version.status != PROTO,
                image_crops=(),
                last_seen=last_seen,
                first_seen=version.first_seen,
                state=version.status,
                stale=time - last_seen > stale_after,
                extent=np.zeros(3) if today is None else today.extent,
                detection_rate=0.5 if today is None else today.detection_rate,
            )
        )
    return found


def remembered(
    state: ObjectState, *, crops: tuple[bytes, ...], read_history: Callable[[], list[HistoryEntry]]
) -> RememberedObject:
    """Add pictures and past to a state of working memory."""
    values = {field.name: getattr(state, field.name) for field in fields(ObjectState)}
    values["image_crops"] = crops
    return RememberedObject(**values, read_history=read_history)


class Chronicle:
    """Reads the past of a memory out of its journal, in the stamps of the sessions."""

    def __init__(self, store: LongTermStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def of(self, object_id: str) -> list[HistoryEntry]:
        """Where an object was known and what happened to it, oldest first; an event precedes what it led to."""
        entries: list[tuple[float, int, HistoryEntry]] = []
        for event in self._store.journal.events(object_id=object_id):
            session, stamp, wall = self._when(event.time)
            entry = HistoryEntry(session, stamp, event.kind, None, None, None, event.evidence, wall)
            entries.append((event.time, 0, entry))
        for version in self._store.journal.versions(object_id):
            scores = version.label_scores
            label = min(scores, key=lambda name: (-scores[name], name)) if scores else None
            session, stamp, wall = self._when(version.time)
            entry = HistoryEntry(session, stamp, "known", version.xyz, label, version.status, {}, wall)
            entries.append((version.time, 1, entry))
        return [entry for _, _, entry in sorted(entries, key=lambda item: item[:2])]

    def changes(self, *, since: float | None, newest: int | None = None) -> list[Change]:
        """What happened to objects, oldest first; what befell a mere proto is left out.

        ``newest`` bounds how many events are looked at, from the last one back.
        """
        table = self._store.table
        found = []
        for event in self._store.journal.events(since=since, newest=newest):
            row = table.row_of.get(event.object_id)
            if row is None or STATUSES[int(table.columns.status[row])] == PROTO:
                continue
            session, stamp, wall = self._when(event.time)
            label, xyz = table.label(row), table.xyz(row)
            found.append(Change(event.object_id, event.kind, session, stamp, label, xyz, event.evidence, wall))
        return found

    def _when(self, time: float) -> tuple[int, float, datetime | None]:
        session = self._clock.session_at(time)
        return 1 if session is None else session.id, self._clock.stamp(time), self._clock.wall(time)
