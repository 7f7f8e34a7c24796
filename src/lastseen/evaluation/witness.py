"""Watches an episode from outside: where the robot truly went, and whether a goal was truly in its view.

The search never sees any of it. It stands between the loop and the simulator and passes everything through.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

import numpy as np

from lastseen.action import Action
from lastseen.frame import Frame
from lastseen.pose2d import Pose2D
from lastseen.protocols import StepResult
from lastseen.sim.environment import SimEnvironment

_MIN_PIXELS = 12
"""Pixels of a goal in a 160 pixel wide image that a person would notice."""
_STUCK_STEPS = 100
"""Steps: a fifth of the budget at the end without getting anywhere is a cause of failure."""
_STUCK_DISTANCE = 0.5
"""Metres: two forward steps: less is not getting anywhere."""
_REVISIT_CELL = 0.5
"""Metres: the robot with a step around it."""


class Witness:
    """An environment that keeps the true path; implements ``lastseen.protocols.Environment``."""

    def __init__(self, environment: SimEnvironment, goal_ids: Collection[int]) -> None:
        self.environment = environment
        self.goal_ids = np.array(sorted(goal_ids))
        self.path: list[Pose2D] = []
        self.collisions = 0
        self.goal_in_view = 0

    def reset(self) -> Frame:
        """Go back to the start; the path begins anew."""
        self.path.clear()
        frame = self.environment.reset()
        self._note(frame)
        return frame

    def step(self, action: Action) -> StepResult:
        """Do one action and take note of what truly happened."""
        result = self.environment.step(action)
        self.collisions += result.collided
        self._note(result.frame)
        return result

    @property
    def pose(self) -> Pose2D:
        """Where the robot truly is."""
        return self.environment.agent.pose

    @property
    def travelled(self) -> float:
        """Metres of the true path."""
        return path_length(self.path)

    def _note(self, frame: Frame) -> None:
        self.path.append(self.pose)
        ids = self.environment.view_of(frame).ids
        self.goal_in_view += int(np.isin(ids, self.goal_ids).sum()) >= _MIN_PIXELS


def path_length(path: Sequence[Pose2D]) -> float:
    """Metres along the poses."""
    return sum(a.distance_to(b) for a, b in itertools.pairwise(path))


def revisited_area(path: Sequence[Pose2D], *, cell: float = _REVISIT_CELL) -> float:
    """Square metres entered again: every entry of a cell after its first counts its area once more."""
    entered: set[tuple[int, int]] = set()
    last: tuple[int, int] | None = None
    again = 0
    for pose in path:
        here = (math.floor(pose.x / cell), math.floor(pose.y / cell))
        if here != last:
            again += here in entered
            entered.add(here)
            last = here
    return again * cell**2


def ended_stuck(path: Sequence[Pose2D]) -> bool:
    """Whether the last fifth of a budget of steps was spent without getting anywhere."""
    tail = path[-_STUCK_STEPS:]
    return len(tail) == _STUCK_STEPS and all(tail[0].distance_to(pose) < _STUCK_DISTANCE for pose in tail)


def drawn(path: Sequence[Pose2D]) -> list[list[float]]:
    """The path to the centimetre, without the turns on the spot."""
    points = [[round(pose.x, 2), round(pose.y, 2)] for pose in path]
    return [point for index, point in enumerate(points) if index == 0 or point != points[index - 1]]
