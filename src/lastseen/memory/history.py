"""The past of a memory: an object's history, what changed, and what was known at an earlier time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from lastseen.detection import best_label
from lastseen.memory.objects import ObjectState
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.records import STATES, TENTATIVE, VersionRecord
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable
from lastseen.observation import OBJECT


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A position at which an object was known, or an event that happened to it.

    ``kind`` is "known" for a position, else the event's; ``stamp`` is the frame's in that ``session``.
    """

    session: int
    stamp: float
    kind: str
    position: tuple[float, float, float] | None
    label: str | None
    state: str | None
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
    position: tuple[float, float, float] | None
    evidence: Mapping[str, Any]
    wall: datetime | None = None


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
                confirmed=version.state != TENTATIVE,
                image_crops=(),
                last_seen=last_seen,
                first_seen=version.first_seen,
                state=version.state,
                stale=time - last_seen > stale_after,
                extent=np.zeros(3) if today is None else today.extent,
                detection_rate=0.5 if today is None else today.detection_rate,
                kind=OBJECT if today is None else today.kind,
                yaw=0.0 if today is None else today.yaw,
            )
        )
    return found


def object_history(store: LongTermStore, clock: Clock, object_id: str) -> list[HistoryEntry]:
    """Where an object was known and what happened to it, oldest first; an event precedes what it led to."""
    entries: list[tuple[float, int, HistoryEntry]] = []
    for event in store.journal.events(object_id=object_id):
        session, stamp, wall = _when(clock, event.time)
        label = event.evidence.get("label")
        entry = HistoryEntry(session, stamp, event.kind, None, label, None, event.evidence, wall)
        entries.append((event.time, 0, entry))
    for version in store.journal.versions(object_id):
        session, stamp, wall = _when(clock, version.time)
        label = best_label(version.label_scores)
        entry = HistoryEntry(session, stamp, "known", version.xyz, label, version.state, {}, wall)
        entries.append((version.time, 1, entry))
    return [entry for _, _, entry in sorted(entries, key=lambda item: item[:2])]


def changes(store: LongTermStore, clock: Clock, *, since: float | None, newest: int | None = None) -> list[Change]:
    """What happened to objects, oldest first; what happened to one that was never confirmed is left out.

    ``newest`` bounds how many events are read, from the last one back.
    """
    table = store.table
    found = []
    for event in store.journal.events(since=since, newest=newest):
        row = table.row_of.get(event.object_id)
        if row is None or STATES[int(table.columns.state[row])] == TENTATIVE:
            continue
        session, stamp, wall = _when(clock, event.time)
        # the name it had then; events of files from before names were kept have that of now
        label, position = event.evidence.get("label", table.label(row)), table.xyz(row)
        found.append(Change(event.object_id, event.kind, session, stamp, label, position, event.evidence, wall))
    return found


def _when(clock: Clock, time: float) -> tuple[int, float, datetime | None]:
    session = clock.session_at(time)
    return 1 if session is None else session.id, clock.stamp(time), clock.wall(time)
