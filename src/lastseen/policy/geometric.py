"""The default pixel policy: walks to a goal pixel with depth and geometry alone, in discrete actions.

It stands where PixelNav's network stands and has its contract: it is given a goal pixel, it answers with one action
a step, and it says STOP when it is there, cannot get there, or has used up its actions.
"""

from __future__ import annotations

import math
from typing import Literal

from lastseen.action import Action, apply
from lastseen.config.moving import DeadReckoning
from lastseen.config.policy import Policy, Stop
from lastseen.frame import Frame
from lastseen.policy.body import body_points
from lastseen.policy.goal_pixel import GoalPixel
from lastseen.policy.local_map import LocalMap
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle

StopReason = Literal["reached", "blocked", "exhausted"]

_LOOK_AHEAD = 0.8
"""Metres along the path to steer for: long enough to smooth the eight directions of the grid."""


class GeometricPixelPolicy:
    """Feed it every frame with ``see``, give it a goal with ``follow``, and ask ``act`` once a step.

    It keeps its own action-only pose, in which a forward that ended in a collision does not count: the bump is felt
    by the robot, whatever the literal dead reckoning of the memory says.
    """

    def __init__(
        self, settings: Policy | None = None, *, stop: Stop | None = None, motion: DeadReckoning | None = None
    ) -> None:
        self.settings = settings or Policy()
        self.stop = stop or Stop()
        self.motion = motion or DeadReckoning()
        self.stop_reason: StopReason | None = None
        self._half_turn = math.radians(self.motion.turn_angle) / 2.0
        self.reset()

    def reset(self) -> None:
        """Forget everything: a new look around begins a new local map."""
        self.pose = ORIGIN
        self._map = LocalMap(self.pose, self.settings)
        self._goal: tuple[float, float] | None = None
        self._goal_kind = "floor"
        self._actions = 0
        self._collisions = 0

    def moved(self, action: Action, *, collided: bool) -> None:
        """Take note of an action that was done, by this policy or by anyone."""
        if collided and action is Action.FORWARD:
            self._map.mark_blocked(self.pose)
            self._collisions += 1
        else:
            self.pose = apply(self.pose, action, motion=self.motion)

    def see(self, frame: Frame) -> None:
        """Take in the depth of a frame seen from the present pose."""
        self._map.add(body_points(frame), self.pose)

    def follow(self, pixel: GoalPixel) -> None:
        """Walk to the point that a pixel of the present view shows."""
        x, y, _ = pixel.point
        there = self.pose.compose(Pose2D(x, y, 0.0))
        self._goal, self._goal_kind = (there.x, there.y), pixel.kind
        self._actions, self._collisions = 0, 0
        self.stop_reason = None

    def act(self) -> Action:
        """The next action towards the goal; STOP with ``stop_reason`` set when it ends here."""
        if self._goal is None:
            return self._end("blocked")
        goal = Pose2D(*self._goal, 0.0)
        near = self.stop.reach if self._goal_kind == "target" else self.settings.waypoint_reached
        if self.pose.distance_to(goal) <= near:
            # a target is stopped at face to face, so that the camera can verify it
            turn = self._turn_to(goal) if self._goal_kind == "target" else None
            return turn or self._end("reached")
        if self._actions >= self.settings.max_actions:
            return self._end("exhausted")
        if self._collisions >= self.settings.max_collisions:
            return self._end("blocked")
        self._actions += 1
        path = self._map.path(self.pose, self._goal)
        if path is None or len(path) < 2:
            turn = self._turn_to(goal) if self._goal_kind == "target" else None
            return turn or self._end("blocked" if self._goal_kind == "floor" else "reached")
        return self._turn_to(self._steer(path)) or Action.FORWARD

    def _steer(self, path: list[tuple[float, float]]) -> Pose2D:
        """The farthest point of the path within the look-ahead that can be seen in a straight line."""
        target = path[1]
        for point in path[1:]:
            if math.dist(point, (self.pose.x, self.pose.y)) > _LOOK_AHEAD or not self._straight(point):
                break
            target = point
        return Pose2D(*target, 0.0)

    def _straight(self, point: tuple[float, float]) -> bool:
        blocked = self._map.blocked
        distance = math.dist(point, (self.pose.x, self.pose.y))
        steps = max(1, math.ceil(distance / (self.settings.cell / 2.0)))
        for step in range(2, steps + 1):
            share = step / steps
            cell = self._map.cell_of(
                self.pose.x + share * (point[0] - self.pose.x), self.pose.y + share * (point[1] - self.pose.y)
            )
            if cell is None or blocked[cell]:
                return False
        return True

    def _turn_to(self, there: Pose2D) -> Action | None:
        bearing = wrap_angle(self.pose.bearing_to(there))
        if abs(bearing) <= self._half_turn + 1e-6:
            return None
        return Action.TURN_LEFT if bearing > 0 else Action.TURN_RIGHT

    def _end(self, reason: StopReason) -> Action:
        self.stop_reason = reason
        return Action.STOP
