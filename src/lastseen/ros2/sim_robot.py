"""A simulated robot on the ROS 2 graph: camera, tf, odometry and detections out; goals or velocities in.

It stands where a real robot would: ``lastseen sim ros2`` in one terminal, ``lastseen ros2`` in another. It offers
NavigateToPose where nav2_msgs is installed, listens to /goal_pose and /cmd_vel, and stops when no velocity comes.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from lastseen.config import Settings
from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.ros2.driving import TWIST, is_at
from lastseen.ros2.publications import point_tree, time_tree
from lastseen.ros2.rclpy_node import ros_program
from lastseen.search.robot import open_robot
from lastseen.sim.agent import advanced
from lastseen.sim.render import camera_pose
from lastseen.sources.ros import writing
from lastseen.sources.ros.messages import (
    CAMERA_INFO,
    DETECTIONS,
    IMAGE,
    ODOMETRY,
    POSE,
    TF,
    message_class,
    ros2_types,
    to_cdr,
)
from lastseen.sources.ros.transport import Tree

MOTION_PERIOD, CAMERA_PERIOD = 0.05, 0.25
"""Seconds: odometry at 20 Hz; an image takes some 100 ms to render."""
SPEED, TURN_SPEED = 0.5, 1.5
"""m/s and rad/s of a small indoor robot."""
VELOCITY_TIMEOUT = 0.5
"""Seconds after which a base stops when no velocity comes, as ros2_control's diff_drive_controller does."""
GOAL_TIMEOUT = 30.0
NEAR, ALIGNED = 0.03, math.radians(3.0)
CAMERA = "/camera/color/image_raw", "/camera/depth/image_raw", "/camera/color/camera_info"


class SimRobot(Node):  # type: ignore[misc]
    """One robot in one simulated home."""

    def __init__(self, address: str, settings: Settings | None = None, *, nav2: bool = True) -> None:
        super().__init__("sim_robot")
        robot: Any = open_robot(address, settings)
        self.environment, self.detector = robot, robot.detector
        self.environment.reset()
        self._lock = threading.Lock()
        self._goal: Pose2D | None = None
        self._velocity, self._velocity_at = (0.0, 0.0), -math.inf
        self._moved_at = time.monotonic()
        self.T_base_camera = camera_pose(Pose2D(0.0, 0.0, 0.0), height=robot.grid.robot.camera_height, pitch=0.0)
        kept = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        topics = {
            CAMERA[0]: IMAGE,
            CAMERA[1]: IMAGE,
            CAMERA[2]: CAMERA_INFO,
            "/detections": DETECTIONS,
            "/tf": TF,
            "/odom": ODOMETRY,
        }
        self._out = {topic: self.create_publisher(message_class(kind), topic, 10) for topic, kind in topics.items()}
        self._out["/tf_static"] = self.create_publisher(message_class(TF), "/tf_static", kept)
        mount = writing.transform(self.T_base_camera, stamp=self._now(), parent="base_link")
        self._send("/tf_static", mount)
        alone, together = MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup()
        pose, twist = message_class(POSE), message_class(TWIST)
        self.create_subscription(pose, "/goal_pose", self._on_goal, 10, callback_group=together)
        self.create_subscription(twist, "/cmd_vel", self._on_velocity, 10, callback_group=together)
        self.create_timer(MOTION_PERIOD, self._move, callback_group=alone())
        self.create_timer(CAMERA_PERIOD, self._look, callback_group=alone())
        if nav2:
            self._offer_navigation(together)

    def _offer_navigation(self, group: Any) -> None:
        try:
            kind = message_class("nav2_msgs/action/NavigateToPose")
        except ImportError:
            return
        from rclpy.action import ActionServer, CancelResponse

        ActionServer(
            self,
            kind,
            "navigate_to_pose",
            self._navigate,
            callback_group=group,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def _navigate(self, handle: Any) -> Any:
        goal, result = _pose2d(handle.request.pose.pose), message_class("nav2_msgs/action/NavigateToPose").Result()
        self._set_goal(goal)
        deadline = time.monotonic() + GOAL_TIMEOUT
        while time.monotonic() < deadline:
            if handle.is_cancel_requested:
                self._set_goal(None)
                handle.canceled()
                return result
            with self._lock:
                arrived, replaced = self._goal is None, self._goal not in (None, goal)
            if arrived or replaced:
                break
            time.sleep(MOTION_PERIOD)
        self._set_goal(None)
        reached = is_at(self.environment.agent.pose, goal, near=NEAR, aligned=ALIGNED)
        handle.succeed() if reached else handle.abort()
        return result

    def _on_goal(self, message: Any) -> None:
        self._set_goal(_pose2d(message.pose))

    def _set_goal(self, goal: Pose2D | None) -> None:
        with self._lock:
            self._goal = goal

    def _on_velocity(self, message: Any) -> None:
        self._velocity, self._velocity_at = (float(message.linear.x), float(message.angular.z)), time.monotonic()

    def _move(self) -> None:
        agent, now = self.environment.agent, time.monotonic()
        # timers are late on a busy machine: what counts is the time that passed
        passed, self._moved_at = min(now - self._moved_at, 4 * MOTION_PERIOD), now
        with self._lock:
            forward, turn = 0.0, 0.0
            if self._goal is not None:
                forward, turn = _toward(agent.pose, self._goal, passed)
            elif now - self._velocity_at < VELOCITY_TIMEOUT:
                forward, turn = (value * passed for value in self._velocity)
            turned = Pose2D(agent.pose.x, agent.pose.y, wrap_angle(agent.pose.yaw + turn))
            (x, y), clear = advanced(agent.grid, turned, max(forward, 0.0))
            agent.pose = Pose2D(x, y, turned.yaw)
            if self._goal is not None and (not clear or is_at(agent.pose, self._goal, near=NEAR, aligned=ALIGNED)):
                self._goal = None
        self._send_pose(self._now(), agent.pose)

    def _send_pose(self, stamp: float, pose: Pose2D) -> None:
        base = Pose3D.from_pose2d(pose)
        self._send("/tf", writing.transform(base, stamp=stamp, parent="odom", child="base_link"))
        self._send("/tf", writing.transform(Pose3D.identity(), stamp=stamp, parent="map", child="odom"))
        x, y, z, w = base.quaternion.tolist()
        placed: Tree = {
            "position": point_tree(base.translation),
            "orientation": {"x": x, "y": y, "z": z, "w": w},
        }
        tree = {"header": {"stamp": time_tree(stamp), "frame_id": "odom"}, "child_frame_id": "base_link"}
        self._out["/odom"].publish(to_cdr(ODOMETRY, {**tree, "pose": {"pose": placed}}))

    def _look(self) -> None:
        # the robot may move on while the image is rendered: pose, image and stamp are of one moment
        with self._lock:
            pose, stamp = self.environment.agent.pose, self._now()
        frame = self.environment.look()
        self._send_pose(stamp, pose)
        found = self.detector.detect(frame)
        frame = replace(frame, stamp=stamp)
        self._send("/detections", writing.boxes(found, stamp=stamp))
        self._send(CAMERA[2], writing.camera_info(frame.intrinsics, stamp=stamp))
        self._send(CAMERA[0], writing.image(frame.rgb, "rgb8", stamp=stamp))
        self._send(CAMERA[1], writing.image(frame.depth, "32FC1", stamp=stamp))

    def _send(self, topic: str, message: Any) -> None:
        self._out[topic].publish(bytes(ros2_types().serialize_cdr(message, message.__msgtype__)))

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds) / 1e9


def run_sim_robot(address: str, settings: Settings, arguments: list[str], *, nav2: bool = True) -> None:
    """Run the robot until Ctrl-C."""
    with ros_program(arguments, lambda: SimRobot(address, settings, nav2=nav2), threads=4) as (_, executor):
        executor.spin()


def _toward(pose: Pose2D, goal: Pose2D, passed: float) -> tuple[float, float]:
    """Metres forward and radians to the left in the time that passed: face the goal, go there, take its heading."""
    most = TURN_SPEED * passed
    left = pose.distance_to(goal)
    turn = pose.bearing_to(goal) if left > NEAR else wrap_angle(goal.yaw - pose.yaw)
    forward = min(left, SPEED * passed) if left > NEAR and abs(turn) < ALIGNED * 2 else 0.0
    return forward, min(max(turn, -most), most)


def _pose2d(message: Any) -> Pose2D:
    turn = message.orientation
    yaw = math.atan2(2.0 * (turn.w * turn.z + turn.x * turn.y), 1.0 - 2.0 * (turn.y**2 + turn.z**2))
    return Pose2D(message.position.x, message.position.y, yaw)
