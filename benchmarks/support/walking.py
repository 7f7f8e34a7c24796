"""A simulated robot that tours a home: frames, and what it observed in each with the truth beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lastseen.appearance import with_embeddings
from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.frame import Frame
from lastseen.lift import lift
from lastseen.observation import Observation
from lastseen.sim.change import Change, ChangeKind
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector, source_of
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes
from lastseen.sim.senses import Level

Sights = list[tuple[int, Observation]]
"""Observations of one frame with the thing each is of."""
SETTINGS = Settings()
CHANGES = 18
"""Changes per home, of which those in the toured part can be known."""
LATER = 60.0
"""Seconds between the two tours of a changed home: what is missing is looked for a second time after them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One frame and what was observed in it."""

    frame: Frame
    sights: Sights


@dataclass(frozen=True, slots=True)
class Changed:
    """The home was changed at a time, unseen."""

    stamp: float
    changes: Sequence[Change]


Walk = Iterator[Seen | Changed]


@dataclass(frozen=True, slots=True)
class Way:
    """How a home is walked; ``stops`` limits tours to the first places of the way."""

    level: str
    seed: int
    stops: int | None
    drift: str = "perfect"
    changed: bool = False

    def walk(self, home: Home) -> Walk:
        """Two tours; or one, changes behind the robot's back, and two more with a pause between them."""
        robot = Robot(home, self)
        yield from robot.tour()
        if self.changed:
            yield robot.look_away()
            yield from robot.tour()
            robot.wait(LATER)
        yield from robot.tour()


class Robot:
    """One robot in one home."""

    def __init__(self, home: Home, way: Way) -> None:
        senses = Senses(depth=Level.of(way.level), pose=Level.of(way.level), drift=Level.of(way.drift))
        self.seed = way.seed
        self.world = SimEnvironment(home, seed=way.seed, senses=senses, settings=SETTINGS)
        self.detector = SimulatedDetector(self.world, level=way.level, seed=way.seed)
        self.encoder = ColorShapeEncoder()
        self.stops = coverage_stops(self.world.grid, (self.world.start.x, self.world.start.y))[: way.stops]
        self.started = False

    def tour(self) -> Iterator[Seen]:
        """Visit every stop and look around there; the next tour goes the other way round."""
        if not self.started:
            self.started = True
            yield self._seen(self.world.reset())
        for action in tour(self.world.agent, self.stops):
            yield self._seen(self.world.step(action).frame)
        self.stops = self.stops[::-1]

    def wait(self, seconds: float) -> None:
        """Let frame time pass without looking."""
        for _ in range(math.ceil(seconds / SETTINGS.camera.step_time)):
            self.world.skip(None)

    def look_away(self) -> Changed:
        """Change the home while nothing is seen of it."""
        at = self.world.stamp
        # additions come first: a removed thing's id must not be given to another
        kinds = (ChangeKind.ADD, ChangeKind.MOVE, ChangeKind.REMOVE)
        after, made = random_changes(self.world.home, [at] * CHANGES, seed=self.seed, kinds=kinds)
        self.world.replace_home(after)
        return Changed(at, made)

    def _seen(self, frame: Frame) -> Seen:
        ids = self.world.view_of(frame).ids
        sights: Sights = []
        for detection in with_embeddings(frame, self.detector.detect(frame), self.encoder):
            seen = lift(frame, detection, SETTINGS.lift)
            if seen is not None:
                sights.append((source_of(self.world.home, ids, detection), seen))
        return Seen(frame, sights)
