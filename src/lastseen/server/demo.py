"""A home to show: a robot on its rounds, and a household that moves things meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.perception.pipeline import Perception
from lastseen.server.service import Service
from lastseen.sim.change import ChangeKind
from lastseen.sim.coverage import endless_tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.generate import generate_home
from lastseen.sim.level import Level
from lastseen.sim.random_change import random_changes

WIDTH, HEIGHT = 320, 240
_CHANGE_EVERY = 60
"""Frames between changes in the home: half a minute of frame time."""


def demo_settings(settings: Settings) -> Settings:
    """Settings with the camera of the demo."""
    return replace(settings, camera=replace(settings.camera, width=WIDTH, height=HEIGHT))


class Demo:
    """One robot in one home; ``walk`` never ends."""

    def __init__(
        self, service: Service, *, seed: int, rooms: int | None = 4, change_every: int = _CHANGE_EVERY
    ) -> None:
        settings = service.settings
        self.service = service
        self.seed = seed
        self.change_every = change_every
        home = generate_home(seed, rooms=rooms, settings=settings.homes)
        # a memory that goes on is older than this walk: its clock must not run backwards
        sessions = service.memory.sessions()
        first = sessions[-1].stamp(sessions[-1].last) + 1.0 if sessions else 0.0
        self.world = SimEnvironment(
            home, seed=seed, senses=Senses.all(Level.GOOD), settings=settings, first_stamp=first
        )
        detector = SimulatedDetector(self.world, level=Level.GOOD, seed=seed)
        self.perception = Perception(settings, detector=detector)
        self._drawn = 0

    def walk(self) -> Iterator[Frame]:
        """Every frame of the walk, each already taken into memory."""
        yield self._see(self.world.reset())
        for number, action in enumerate(
            endless_tour(self.world.agent, (self.world.start.x, self.world.start.y)), start=1
        ):
            yield self._see(self.world.step(action).frame)
            if number % self.change_every == 0:
                self._change()

    def _see(self, frame: Frame) -> Frame:
        perceived = self.perception.perceive(frame)
        if perceived.refusal is None:
            self.service.observe(frame, perceived.observations)
        else:
            self.service.show(frame)
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
