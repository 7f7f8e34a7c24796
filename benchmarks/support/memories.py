"""Memories that are given a walk, and the object each observation of a thing went to: lastseen's, and rtsm's."""

from __future__ import annotations

from typing import Any

import numpy as np

from lastseen.memory.objects import Event, ObjectMemory
from lastseen.memory.objects.columns import RING, id_text
from support.assignments import Assignments
from support.walking import SETTINGS, Seen


class LastseenMemory:
    """lastseen's object memory."""

    def __init__(self) -> None:
        self.memory = ObjectMemory(SETTINGS)
        self.assignments = Assignments()
        self.events: list[Event] = []

    def observe(self, seen: Seen) -> None:
        """Remember one frame and note where each observation went."""
        events = self.memory.observe(seen.frame, [one for _, one in seen.sights])
        self.events += events
        for event in events:
            if "absorbed" in event.evidence:
                self.assignments.absorbed(event.object_id, str(event.evidence["absorbed"]))
        went = self._where_they_went(seen.frame.stamp)
        for thing, one in seen.sights:
            self.assignments.note(thing, one, went.get(one.position.astype(np.float32).tobytes()))

    def confirmed(self) -> dict[str, np.ndarray]:
        """Places of the confirmed objects by id."""
        return {one.id: one.xyz_world for one in self.memory.states()}

    def _where_they_went(self, stamp: float) -> dict[bytes, str]:
        store = self.memory.store
        rows = store.live()
        rows = rows[store.last_seen[rows] == stamp]
        slot = (store.ring_n[rows] - 1) % RING
        places = np.ascontiguousarray(store.ring_world[rows, slot])
        return {place.tobytes(): id_text(int(store.seq[row])) for place, row in zip(places, rows, strict=True)}


class RtsmMemory:
    """rtsm on the same observations."""

    def __init__(self) -> None:
        from support.rtsm import Rtsm

        self.inner = Rtsm()
        self.assignments = Assignments()

    def observe(self, seen: Seen) -> None:
        """Give it one frame's observations and note where each went."""
        candidates, snapshot = self.inner.prepare(seen.frame, [one for _, one in seen.sights])
        for (thing, one), candidate in zip(seen.sights, candidates, strict=True):
            candidate.thing, candidate.seen = thing, one

        def note(record: dict[str, Any]) -> None:
            one = record["cand"]
            self.assignments.note(one.thing, one.seen, record.get("object_id"))

        self.inner.associator.update_with_candidates(
            candidates,
            snapshot,
            self.inner.memory,
            self.inner.index,
            is_keyframe=True,
            frame_id=str(seen.frame.id),
            on_observation=note,
        )

    def confirmed(self) -> dict[str, np.ndarray]:
        """Places of its confirmed objects by id."""
        return {one.id: np.asarray(one.xyz_world) for one in self.inner.memory.iter_objects() if one.confirmed}
