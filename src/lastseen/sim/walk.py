"""A walk through a home that can be taken again: the same actions and changes for the same plan.

A walk that was broken off goes on at any frame, because everything before it can be repeated without looking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.sim.change import Change
from lastseen.sim.coverage import endless_tour
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes
from lastseen.sim.senses import Level


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """How long to walk, how good the senses are, and how often the home changes on the way; all from one seed."""

    minutes: float
    seed: int = 0
    level: str = Level.TYPICAL
    changes: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.minutes) or self.minutes <= 0.0:
            raise InvalidValue("minutes", self.minutes, "must be positive", remedy="2 is a good start")
        if self.changes < 0:
            raise InvalidValue("changes", self.changes, "must not be negative", remedy="0 for a home at rest")
        Level.of(self.level)


class Walk:
    """A robot on a coverage tour, again and again until its time is over."""

    def __init__(self, home: Home, plan: WalkPlan, *, settings: Settings | None = None) -> None:
        self.plan = plan
        settings = settings or Settings()
        self.world = SimEnvironment(home, seed=plan.seed, senses=Senses.all(plan.level), settings=settings)
        self.frames_planned = max(1, round(plan.minutes * 60.0 / settings.camera.step_time))
        end = self.frames_planned * settings.camera.step_time
        stamps = [end * (k + 1) / (plan.changes + 1) for k in range(plan.changes)]
        _, drawn = random_changes(home, stamps, seed=plan.seed, robot=settings.robot)
        self._due = drawn
        self.changes: list[Change] = []
        self.true_poses: list[tuple[float, ...]] = []

    def frames(self, *, first: int = 0, wanted: Callable[[int], bool] | None = None) -> Iterator[Frame]:
        """The frames from number ``first`` on that are wanted; the others are walked without looking."""
        actions = endless_tour(self.world.agent, (self.world.start.x, self.world.start.y))
        for number in range(self.frames_planned):
            self._change()
            action = next(actions) if number else None
            if number < first or (wanted is not None and not wanted(number)):
                self.world.skip(action)
            else:
                yield self.world.reset() if action is None else self.world.step(action).frame
            pose = self.world.agent.T_world_camera
            self.true_poses.append((*pose.translation.tolist(), *pose.quaternion.tolist()))
        # changes that nobody saw any more still happened
        self._change()

    def _change(self) -> None:
        """Make the changes that are due; one that would land on the robot waits until it has gone on."""
        while self._due and self._due[0].stamp <= self.world.stamp:
            change = replace(self._due[0], stamp=self.world.stamp)
            try:
                self.world.replace_home(change.apply(self.world.home))
            except InvalidValue:
                return
            self.changes.append(change)
            del self._due[0]
