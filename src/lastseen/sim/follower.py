"""From a way to actions: how a robot with 0.25 m steps and 30 degree turns gets to a point.

Each heading is tried in the mind, bumps and slides included, and the one that ends nearest to the goal along the
free floor is taken. No path is followed blindly, so actuation noise and collisions do no harm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.sim.agent import Agent, advanced

_TURN_COST = 0.02
"""Metres that one turn counts for: of two ways about as good, the straighter one is taken."""


def next_action(agent: Agent, field: NDArray[np.float64], *, within: float) -> Action:
    """The next action towards the goals of ``NavigationGrid.distances``; STOP when within reach or unreachable."""
    grid = agent.grid
    here = float(field[grid.cell_of(agent.pose.x, agent.pose.y)])
    if here <= within or not math.isfinite(here):
        return Action.STOP
    turn = math.radians(agent.motion.turn_angle)
    best: tuple[float, int] | None = None
    half = math.floor(math.pi / turn + 1e-9)
    for count in sorted(range(-half + 1, half + 1), key=lambda k: (abs(k), -k)):
        pose = Pose2D(agent.pose.x, agent.pose.y, wrap_angle(agent.pose.yaw + count * turn))
        landing, _ = advanced(grid, pose, agent.motion.forward_step)
        left = float(field[grid.cell_of(*landing)])
        # less than a cell nearer is no progress: it may be rounding
        if left < here - grid.navigation.cell / 2.0:
            cost = left + _TURN_COST * abs(count)
            if best is None or cost < best[0]:
                best = cost, count
    if best is None:
        return Action.STOP
    if best[1] == 0:
        return Action.FORWARD
    return Action.TURN_LEFT if best[1] > 0 else Action.TURN_RIGHT
