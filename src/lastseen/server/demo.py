"""A home to show: a robot on its rounds, and a household that moves things meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.perception.pipeline import Perception
from lastseen.protocols import StepResult
from lastseen.server.live import Runner
from lastseen.server.searching import ServedSearch
from lastseen.server.service import Service
from lastseen.sim.change import ChangeKind
from lastseen.sim.coverage import endless_tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.generate import generate_home
from lastseen.sim.random_change import random_changes
from lastseen.sim.senses import Level

WIDTH, HEIGHT = 320, 240
_CHANGE_EVERY = 60
"""Frames between changes in the home: half a minute of frame time."""
_PACE = 0.25
"""Seconds per frame: a robot at twice its pace sees a flat in two minutes."""
_ROOMS = 4


def demo_settings(settings: Settings) -> Settings:
    """Settings with the camera of the demo."""
    return replace(settings, camera=replace(settings.camera, width=WIDTH, height=HEIGHT))


class Demo(Runner):
    """One robot in one home; it walks until it is stopped."""

    def __init__(self, service: Service, *, seed: int, change_every: int = _CHANGE_EVERY) -> None:
        super().__init__(service)
        self.seed = seed
        self.change_every = change_every
        self._drawn = 0
        self.search = service.search = ServedSearch("simulated")

    def feed(self) -> None:
        """Walk until stopped, at a pace that people can follow."""
        for _ in self.walk():
            self.service.source.state = "running"
            if self.stopped.wait(_PACE):
                return

    def walk(self) -> Iterator[Frame]:
        """Every frame of a walk without end, each already taken into memory."""
        settings = self.service.settings
        home = generate_home(self.seed, rooms=_ROOMS, settings=settings.homes)
        # a memory that goes on is older than this walk: its clock must not run backwards
        sessions = self.service.memory.sessions()
        first = sessions[-1].stamp(sessions[-1].last) + 1.0 if sessions else 0.0
        self.world = SimEnvironment(
            home, seed=self.seed, senses=Senses.all(Level.GOOD), settings=settings, first_stamp=first
        )
        detector = SimulatedDetector(self.world, level=Level.GOOD, seed=self.seed)
        self.perception = Perception(settings, detector=detector)
        yield self._see(self.world.reset())
        number = 0
        while True:
            for action in endless_tour(self.world.agent, (self.world.start.x, self.world.start.y)):
                number += 1
                yield self._see(self.world.step(action).frame)
                if number % self.change_every == 0:
                    self._change()
                if self.search.wanted:
                    break
            self.search.run(self.service, _Here(self.world, detector), over=lambda: self.stopped.wait(_PACE / 4))

    def _see(self, frame: Frame) -> Frame:
        self.service.observe(frame, self.perception.perceive(frame))
        return frame

    def _change(self) -> None:
        """Let the household do something to one thing, away from the robot."""
        kinds = (ChangeKind.MOVE, ChangeKind.MOVE, ChangeKind.REMOVE, ChangeKind.ADD, ChangeKind.SWAP)
        self._drawn += 1
        try:
            _, drawn = random_changes(
                self.world.home,
                [self.world.stamp],
                seed=self.seed * 1000 + self._drawn,
                kinds=[kinds[self._drawn % len(kinds)]],
                robot=self.service.settings.robot,
            )
            self.world.replace_home(drawn[0].apply(self.world.home))
        except InvalidValue:
            # no room for it, or it would land on the robot: the next change comes soon
            return


class _Here:
    """The demo's robot for a search: it begins where it stands, not where the walk began."""

    def __init__(self, world: SimEnvironment, detector: SimulatedDetector) -> None:
        self.world, self.detector = world, detector

    def reset(self) -> Frame:
        """Turn a little and look."""
        return self.world.step(Action.TURN_LEFT).frame

    def step(self, action: Action) -> StepResult:
        """Do one action and look."""
        return self.world.step(action)
