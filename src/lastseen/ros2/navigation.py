"""Nav2's NavigateToPose as a ``Mover``; needs rclpy and nav2_msgs."""

from __future__ import annotations

import time
from typing import Any

from rclpy.action import ActionClient

from lastseen.pose2d import Pose2D
from lastseen.ros2.conversions import message_class, to_message
from lastseen.ros2.driving import POSE_STAMPED, Moving, Stopped, stamped_tree

ACTION = "navigate_to_pose"
_SUCCEEDED = 4
"""action_msgs/GoalStatus."""
_GONE = 2.0
"""Seconds without a server after which the robot's navigation is given up."""
_CANCELLED_WITHIN = 2.0


class Nav2Mover:
    """Sends one goal after the other to Nav2; whoever made ``node`` spins it."""

    def __init__(self, node: Any, *, world: str) -> None:
        self._world = world
        self._kind = message_class("nav2_msgs/action/NavigateToPose")
        self._client = ActionClient(node, self._kind, ACTION)
        self._goal: Any = None
        self._result: Any = None
        self._seen = time.monotonic()

    def is_there(self, seconds: float) -> bool:
        """Whether a server shows up within some seconds."""
        return bool(self._client.wait_for_server(timeout_sec=seconds))

    def start(self, goal: Pose2D) -> None:
        """Send the goal."""
        pose = to_message(message_class(POSE_STAMPED), stamped_tree(goal, self._world))
        self._result, self._seen = None, time.monotonic()
        self._goal = self._client.send_goal_async(self._kind.Goal(pose=pose))

    def poll(self, pose: Pose2D) -> Moving:
        """What Nav2 says; a server that is gone raises ``Stopped``."""
        del pose
        if self._client.server_is_ready():
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _GONE:
            raise Stopped(f"stopped: the {ACTION} server is gone; start Nav2 and search again")
        if not self._goal.done():
            return "moving"
        if self._result is None:
            handle = self._goal.result()
            if not handle.accepted:
                return "failed"
            self._result = handle.get_result_async()
        if not self._result.done():
            return "moving"
        return "reached" if self._result.result().status == _SUCCEEDED else "failed"

    def cancel(self, pose: Pose2D | None) -> None:
        """Cancel the goal and wait until Nav2 has taken note."""
        del pose
        goal, self._goal = self._goal, None
        if goal is None:
            return
        until = time.monotonic() + _CANCELLED_WITHIN
        while not goal.done() and time.monotonic() < until:
            time.sleep(0.02)
        if not goal.done() or not goal.result().accepted:
            return
        cancelled = goal.result().cancel_goal_async()
        while not cancelled.done() and time.monotonic() < until:
            time.sleep(0.02)
