"""A simulated robot that tours a home, remembers what it detects, and keeps the truth on the side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from lastseen.encoders.look import LookEncoder
from lastseen.frame import Frame
from lastseen.memory.objects import Event, ObjectMemory
from lastseen.memory.objects.store import RING, id_text
from lastseen.observation import Observation
from lastseen.perception.lift import lift
from lastseen.perception.look import with_looks
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.home import Home
from lastseen.sim.level import Level
from support.ledger import SETTINGS, Ledger, source_of

Sights = list[tuple[int, Observation]]
"""Observations of one frame with the thing each is of."""


class Beside(Protocol):
    """Another memory that takes the same observations."""

    def see(self, frame: Frame, sights: Sights) -> None:
        """Take one frame."""
        ...


class Robot:
    """One robot in one home; ``stops`` limits its tours to the first places of the way."""

    def __init__(
        self,
        home: Home,
        *,
        level: str,
        seed: int,
        drift: str = "perfect",
        stops: int | None = None,
        beside: Beside | None = None,
    ) -> None:
        senses = Senses(depth=Level.of(level), pose=Level.of(level), drift=Level.of(drift))
        self.world = SimEnvironment(home, seed=seed, senses=senses, settings=SETTINGS)
        self.detector = SimulatedDetector(self.world, level=level, seed=seed)
        self.memory = ObjectMemory(SETTINGS)
        self.encoder = LookEncoder()
        self.ledger = Ledger()
        self.events: list[Event] = []
        self.beside = beside
        self.stops = coverage_stops(self.world.grid, (self.world.start.x, self.world.start.y))[:stops]
        self.frames = 0

    def tour(self) -> None:
        """Visit every stop and look around there; the next tour goes the other way round."""
        for frame in self._frames():
            self.see(frame)
        self.stops = self.stops[::-1]

    def _frames(self) -> Iterator[Frame]:
        if self.frames == 0:
            yield self.world.reset()
        for action in tour(self.world.agent, self.stops):
            yield self.world.step(action).frame

    def wait(self, seconds: float) -> None:
        """Let frame time pass without looking."""
        for _ in range(math.ceil(seconds / SETTINGS.camera.step_time)):
            self.world.skip(None)

    def see(self, frame: Frame) -> None:
        """Detect, lift and remember one frame."""
        self.frames += 1
        ids = self.world.view_of(frame).ids
        sights: Sights = []
        for detection in with_looks(frame, self.detector.detect(frame), self.encoder):
            seen = lift(frame, detection, SETTINGS.lift)
            if seen is not None:
                sights.append((source_of(self.world.home, ids, detection), seen))
        self.remember(frame, sights)
        if self.beside is not None:
            self.beside.see(frame, sights)

    def remember(self, frame: Frame, sights: Sights) -> None:
        """Give the memory one frame and note where each observation went."""
        events = self.memory.observe(frame, [seen for _, seen in sights])
        self.events += events
        for event in events:
            if "absorbed" in event.evidence:
                self.ledger.absorbed(event.object_id, str(event.evidence["absorbed"]))
        went = self._where_they_went(frame)
        for thing, seen in sights:
            self.ledger.note(thing, seen, went.get(seen.position.astype(np.float32).tobytes()))

    def _where_they_went(self, frame: Frame) -> dict[bytes, str]:
        store = self.memory.store
        rows = store.live()
        rows = rows[store.last_seen[rows] == frame.stamp]
        slot = (store.ring_n[rows] - 1) % RING
        places = np.ascontiguousarray(store.ring_world[rows, slot])
        return {place.tobytes(): id_text(int(store.seq[row])) for place, row in zip(places, rows, strict=True)}


class RtsmBeside:
    """rtsm on the same observations."""

    def __init__(self) -> None:
        from support.rtsm import Rtsm

        self.inner = Rtsm()
        self.ledger = Ledger()

    def see(self, frame: Frame, sights: Sights) -> None:
        """Give it one frame's observations and note where each went."""
        candidates, snapshot = self.inner.prepare(frame, [seen for _, seen in sights])
        for (thing, seen), candidate in zip(sights, candidates, strict=True):
            candidate.thing, candidate.seen = thing, seen

        def note(record: dict[str, Any]) -> None:
            one = record["cand"]
            self.ledger.note(one.thing, one.seen, record.get("object_id"))

        self.inner.associator.update_with_candidates(
            candidates,
            snapshot,
            self.inner.memory,
            self.inner.index,
            is_keyframe=True,
            frame_id=str(frame.id),
            on_observation=note,
        )

    def confirmed(self) -> dict[str, np.ndarray]:
        """Its confirmed objects by id."""
        return {one.id: np.asarray(one.xyz_world) for one in self.inner.memory.iter_objects() if one.confirmed}
