"""The six discrete actions and what each does to a pose when nothing but the action is known."""

from __future__ import annotations

import math
from enum import StrEnum

from lastseen.config.memory import DeadReckoning
from lastseen.errors import InvalidValue
from lastseen.pose2d import Pose2D, wrap_angle

_DEFAULTS = DeadReckoning()


class Action(StrEnum):
    """What a robot can be told to do; the values are the words of logs and planners."""

    FORWARD = "forward"
    TURN_LEFT = "turn_left"
    TURN_RIGHT = "turn_right"
    LOOK_UP = "look_up"
    LOOK_DOWN = "look_down"
    STOP = "stop"


def apply(pose: Pose2D, action: Action, *, motion: DeadReckoning = _DEFAULTS) -> Pose2D:
    """Move a pose by one action: forward along its yaw, turns to the left positive, all else no change.

    >>> apply(Pose2D(0.0, 0.0, 0.0), Action.FORWARD)
    Pose2D(x=0.25, y=0.0, yaw=0.0)
    """
    if not isinstance(action, Action):
        raise InvalidValue("action", action, "is not an Action", remedy="use Action(word)")
    if action is Action.FORWARD:
        return Pose2D(
            pose.x + motion.forward_step * math.cos(pose.yaw),
            pose.y + motion.forward_step * math.sin(pose.yaw),
            pose.yaw,
        )
    if action is Action.TURN_LEFT:
        return Pose2D(pose.x, pose.y, wrap_angle(pose.yaw + math.radians(motion.turn_angle)))
    if action is Action.TURN_RIGHT:
        return Pose2D(pose.x, pose.y, wrap_angle(pose.yaw - math.radians(motion.turn_angle)))
    return pose
