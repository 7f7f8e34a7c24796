"""A home to act in: the simulator behind the same seam as a robot.

Frames carry what a robot would have (disturbed by the level of the senses); the truth behind each frame stays here,
where the simulated detector and the evaluation find it by frame id.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.pose2d import Pose2D
from lastseen.protocols import StepResult
from lastseen.sim.agent import Agent
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.render import Renderer, View, intrinsics_of
from lastseen.sim.senses import ActuationNoise, Drift, Level, noisy_depth, noisy_pose

_KEPT_VIEWS = 64
"""Truths kept by frame id: five panoramas, so that a detector may lag behind a little."""


@dataclass(frozen=True, slots=True)
class Senses:
    """The level of each sense; ``Senses.all("typical")`` sets depth and pose, drift and actuation stay perfect."""

    depth: Level = Level.PERFECT
    pose: Level = Level.PERFECT
    drift: Level = Level.PERFECT
    actuation: Level = Level.PERFECT

    @classmethod
    def all(cls, level: str) -> Senses:
        """Depth and pose noise of one level; drift and actuation noise are asked for by name."""
        return cls(depth=Level.of(level), pose=Level.of(level))


class SimEnvironment:
    """One robot in one home; implements ``lastseen.protocols.Environment``.

    The clock never goes back: ``reset`` returns the robot to its start, frame ids and stamps go on.
    A ``grid`` of this home and robot, made before, is shared.
    """

    def __init__(
        self,
        home: Home,
        *,
        start: Pose2D | None = None,
        seed: int = 0,
        senses: Senses | None = None,
        settings: Settings | None = None,
        intrinsics: Intrinsics | None = None,
        first_stamp: float = 0.0,
        grid: NavigationGrid | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.intrinsics = intrinsics or intrinsics_of(self.settings.camera)
        self.seed = seed
        self.renderer = Renderer(home, scene=None if grid is None else grid.scene)
        self.grid = grid or self._grid()
        self.start = start if start is not None else random_start(self.grid, seed=seed)
        self.senses = senses or Senses()
        self._drift = Drift(self.senses.drift, seed=seed)
        noise = ActuationNoise(self.senses.actuation, seed=seed)
        self.agent = Agent(self.grid, self.start, motion=self.settings.dead_reckoning, noise=noise)
        self._first_stamp = first_stamp
        self._next_id = 0
        self._truths: OrderedDict[int, tuple[View, Pose3D]] = OrderedDict()

    @property
    def home(self) -> Home:
        """The home as it is now."""
        return self.renderer.home

    @property
    def stamp(self) -> float:
        """The time of the next frame in seconds."""
        return self._first_stamp + self._next_id * self.settings.camera.step_time

    def reset(self) -> Frame:
        """Put the robot back at its start and look."""
        self.agent.place(self.start)
        return self.look()

    def step(self, action: Action) -> StepResult:
        """Do one action and look."""
        collided = self.agent.act(action)
        return StepResult(self.look(), collided)

    def look(self) -> Frame:
        """A frame from where the robot is."""
        frame_id, stamp = self._next_id, self.stamp
        truth = self.agent.T_world_camera
        view = self.renderer.render(truth, self.intrinsics)
        self._truths[frame_id] = view, truth
        while len(self._truths) > _KEPT_VIEWS:
            self._truths.popitem(last=False)
        self._next_id += 1
        return Frame(
            frame_id,
            stamp,
            view.rgb,
            noisy_depth(view.depth, self.intrinsics, frame_id, level=self.senses.depth, seed=self.seed),
            noisy_pose(self._drift.apply(truth), frame_id, level=self.senses.pose, seed=self.seed),
            self.intrinsics,
        )

    def skip(self, action: Action | None) -> bool:
        """Do one action (None: stay at the start) without looking; the next frame is as if it had been seen."""
        collided = False if action is None else self.agent.act(action)
        # drift goes by the frames, seen or not
        self._drift.apply(self.agent.T_world_camera)
        self._next_id += 1
        return collided

    def replace_home(self, home: Home) -> None:
        """Change the world under the robot; the robot stays where it is, which must still be free."""
        renderer = self.renderer.changed(home)
        before = self.renderer
        self.renderer = renderer
        grid = self._grid()
        if not grid.is_free(self.agent.pose.x, self.agent.pose.y):
            self.renderer = before
            raise InvalidValue(
                "home", home.name, "has something where the robot stands", remedy="move the thing elsewhere"
            )
        self.grid = self.agent.grid = grid

    def view_of(self, frame: Frame) -> View:
        """The truth behind one of the last frames."""
        return self._truth(frame)[0]

    def true_pose(self, frame: Frame) -> Pose3D:
        """Where the camera really was at one of the last frames."""
        return self._truth(frame)[1]

    def _truth(self, frame: Frame) -> tuple[View, Pose3D]:
        try:
            return self._truths[frame.id]
        except KeyError:
            raise InvalidValue(
                "frame.id", frame.id, "is not a recent frame of this environment", remedy="detect as frames come"
            ) from None

    def _grid(self) -> NavigationGrid:
        return NavigationGrid(self.renderer.home, robot=self.settings.robot, scene=self.renderer.scene)


def random_start(grid: NavigationGrid, *, seed: int) -> Pose2D:
    """A place on the largest free area and one of twelve headings."""
    rng = np.random.default_rng([seed, 77])
    cells = grid.reachable()
    x, y = grid.centers(cells[[int(rng.integers(len(cells)))]])[0]
    return Pose2D(float(x), float(y), math.radians(30.0 * int(rng.integers(12)) - 150.0))
