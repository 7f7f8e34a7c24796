"""A robot that moves through a home by discrete actions, bumps into things and slides along them.

It keeps two poses: where it is (truth) and where its actions alone say it is, which is all that dead reckoning has.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action, apply
from lastseen.config.memory import DeadReckoning
from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle
from lastseen.sim.navigation import CELL, NavigationGrid, Point
from lastseen.sim.render import camera_pose
from lastseen.sim.senses import ActuationNoise

_STRIDE = 0.01
"""Metres between two collision checks: a fifth of a grid cell, so no obstacle is stepped over."""
_MIN_SLIDE = 0.05
"""Share of a stride that must run along the obstacle for the robot to slide: nearly head-on it stops."""
_LOOK_LIMIT = 60.0
"""Degrees up and down: two looks, from ceiling to feet."""
_TURN_COST = 0.02
"""Metres that one turn counts for: of two paths about as long, the straighter one is taken."""
_MOTION = DeadReckoning()


class Agent:
    """A round robot on a navigation grid; its centre is on a free cell at all times.

    >>> agent.act(Action.FORWARD)  # doctest: +SKIP
    False
    """

    def __init__(
        self,
        grid: NavigationGrid,
        start: Pose2D,
        *,
        motion: DeadReckoning = _MOTION,
        noise: ActuationNoise | None = None,
    ) -> None:
        self.grid = grid
        self.motion = motion
        self.noise = noise
        self.place(start)

    def place(self, pose: Pose2D) -> None:
        """Put the robot down somewhere, looking level; its dead-reckoned pose starts again at the origin."""
        if not self.grid.is_free(pose.x, pose.y):
            raise InvalidValue("start", pose, "is not free floor", remedy="see NavigationGrid.nearest_free")
        self.pose = pose
        self.reckoned = ORIGIN
        self.pitch = 0.0
        self.stopped = False

    @property
    def T_world_camera(self) -> Pose3D:
        """The true pose of the camera."""
        return camera_pose(self.pose, height=self.grid.robot.camera_height, pitch=math.radians(self.pitch))

    def act(self, action: Action) -> bool:
        """Do one action; True when a forward was blocked or cut short. Nothing moves after stop."""
        if self.stopped:
            raise InvalidValue("action", str(action), "comes after stop", remedy="place the agent again")
        if not isinstance(action, Action):
            raise InvalidValue("action", action, "is not an action", remedy=f"choose one of {', '.join(Action)}")
        robot = self.grid.robot
        if action is Action.STOP:
            self.stopped = True
        elif action in (Action.LOOK_UP, Action.LOOK_DOWN):
            change = robot.look_angle if action is Action.LOOK_UP else -robot.look_angle
            self.pitch = min(max(self.pitch + change, -_LOOK_LIMIT), _LOOK_LIMIT)
        self.reckoned = apply(self.reckoned, action, motion=self.motion)
        distance, turn = _intended(action, self.motion)
        if self.noise is not None and (distance or turn):
            distance, turn = self.noise.disturb(distance, turn)
        (x, y), clear = advanced(self.grid, self.pose, distance)
        self.pose = Pose2D(x, y, wrap_angle(self.pose.yaw + turn))
        return not clear


def advanced(grid: NavigationGrid, pose: Pose2D, distance: float) -> tuple[Point, bool]:
    """Where a forward of this distance ends, sliding along obstacles, and whether nothing was in between."""
    heading = math.cos(pose.yaw), math.sin(pose.yaw)
    x, y = pose.x, pose.y
    left, clear = distance, True
    while left > 1e-9:
        stride = min(_STRIDE, left)
        left -= stride
        step = stride * heading[0], stride * heading[1]
        if grid.is_free(x + step[0], y + step[1]):
            x, y = x + step[0], y + step[1]
            continue
        clear = False
        slid = _slid(grid, (x, y), step) if grid.robot.slide else None
        if slid is None:
            break
        x, y = slid
    return (x, y), clear


def _slid(grid: NavigationGrid, at: Point, step: Point) -> Point | None:
    """The end of that part of a blocked stride that runs along the obstacle; None where it is blocked too."""
    for along in _tangents(grid, at):
        share = step[0] * along[0] + step[1] * along[1]
        # head-on into a wall there is next to nothing left to slide
        if abs(share) > _MIN_SLIDE * math.hypot(*step):
            moved = at[0] + share * along[0], at[1] + share * along[1]
            if grid.is_free(*moved):
                return moved
    return None


def _tangents(grid: NavigationGrid, at: Point) -> list[Point]:
    """Directions along the obstacle: across the slope of the clearance, then along the grid's own steps."""
    i, j = grid.cell_of(*at)
    around = grid.clearance[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2]
    tangents = [(1.0, 0.0), (0.0, 1.0)]
    if around.shape == (3, 3):
        slope = float(around[2].sum() - around[0].sum()), float(around[:, 2].sum() - around[:, 0].sum())
        length = math.hypot(*slope)
        if length > 1e-9:
            tangents.insert(0, (-slope[1] / length, slope[0] / length))
    return tangents


def _intended(action: Action, motion: DeadReckoning) -> tuple[float, float]:
    """Distance in metres and turn in radians that an action asks for."""
    turn = math.radians(motion.turn_angle)
    if action is Action.FORWARD:
        return motion.forward_step, 0.0
    if action is Action.TURN_LEFT:
        return 0.0, turn
    if action is Action.TURN_RIGHT:
        return 0.0, -turn
    return 0.0, 0.0


def next_action(agent: Agent, field: NDArray[np.float64], *, within: float) -> Action:
    """The next action towards the goals of ``NavigationGrid.distances``; STOP when within reach or unreachable.

    Each heading is tried, collisions and slides included, and the one that ends nearest to a goal along the free
    floor is taken. No path is followed blindly, so actuation noise and collisions do no harm.
    """
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
        if left < here - CELL / 2.0:
            cost = left + _TURN_COST * abs(count)
            if best is None or cost < best[0]:
                best = cost, count
    if best is None:
        return Action.STOP
    if best[1] == 0:
        return Action.FORWARD
    return Action.TURN_LEFT if best[1] > 0 else Action.TURN_RIGHT
