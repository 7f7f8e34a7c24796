"""A home to show: a robot on its rounds, things that are moved meanwhile, and places by the rooms it passes.

The rooms' types come from the simulated home, as a scene model would tell them; what the robot remembers of things
comes from its camera alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.perception.pipeline import Perception
from lastseen.pose2d import Pose2D
from lastseen.server.service import Service
from lastseen.sim.change import Change, ChangeKind
from lastseen.sim.coverage import endless_tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.generate import generate_home
from lastseen.sim.level import Level
from lastseen.sim.random_change import random_changes

WIDTH, HEIGHT = 320, 240


def demo_settings(settings: Settings) -> Settings:
    """Settings with the camera of the demo."""
    return replace(settings, camera=replace(settings.camera, width=WIDTH, height=HEIGHT))


class Demo:
    """One robot in one home; ``walk`` never ends."""

    def __init__(self, service: Service, *, seed: int, rooms: int | None = 4) -> None:
        settings = service.settings
        self.service = service
        self.seed = seed
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
        every = self.service.settings.live.demo_change_every
        yield self._see(self.world.reset(), None)
        for number, action in enumerate(
            endless_tour(self.world.agent, (self.world.start.x, self.world.start.y)), start=1
        ):
            result = self.world.step(action)
            yield self._see(result.frame, action, collided=result.collided)
            if number % every == 0:
                self._change()

    def _see(self, frame: Frame, action: Action | None, *, collided: bool = False) -> Frame:
        perceived = self.perception.perceive(frame)
        labels = sorted({seen.label for seen in perceived.observations if seen.label is not None})
        self._place(labels, action, collided=collided)
        if perceived.refusal is None:
            self.service.take(frame, perceived.observations)
        else:
            self.service.show(frame)
        return frame

    def _place(self, labels: list[str], action: Action | None, *, collided: bool) -> None:
        memory, agent = self.service.memory, self.world.agent
        with memory.browse.lock:
            spatial = memory.spatial
            if action is not None:
                pose = Pose2D(agent.pose.x, agent.pose.y, agent.pose.yaw)
                spatial.step(action, collided=collided, world_pose=pose)
            if spatial.needs_scene_analysis:
                room = self.world.home.room_at(agent.pose.x, agent.pose.y)
                spatial.scene_analyzed(room.type if room is not None else "unknown", labels)

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
            self._apply(drawn[0])
        except InvalidValue:
            # no room for it, or it would land on the robot: the next change comes soon
            return

    def _apply(self, change: Change) -> None:
        self.world.replace_home(change.apply(self.world.home))
