"""A robot on the graph for a search: frames with poses from its camera, and a ``Driver`` that moves it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

from lastseen.errors import SourceError
from lastseen.frame import Frame, floor_pose
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.protocols import Detector
from lastseen.ros2.driving import (
    Driver,
    GoalTopicMover,
    Limits,
    Mover,
    Moving,
    Stopped,
    VelocityMover,
    stamped_tree,
)
from lastseen.ros2.streams import ROBOT_FRAME, ImageStream, LocalizationGate
from lastseen.search.robot import Robot
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import POSE, POSE_COVARIANCE, message_class, to_message
from lastseen.sources.ros.stream import split_address
from lastseen.sources.ros.transport import Transport

SCHEME = "ros2://"
WAYS = ("auto", "nav2", "goal_pose", "cmd_vel")
"""What moves the robot; auto takes Nav2's action where its server is there, else the goal topic."""
NO_IMAGE = 10.0
"""Seconds without an image after which a search ends."""
_FIND_SERVER, _FIND_NAMED_SERVER = 2.0, 20.0
"""Seconds until Nav2's server must have shown up: where another way would do, and where it was asked for."""
_NAV2_ACTION = "navigate_to_pose"
_SUCCEEDED = 4
"""action_msgs/GoalStatus."""
_GONE = 2.0
"""Seconds without a server after which the robot's navigation is given up."""
_CANCELLED_WITHIN = 2.0
"""Seconds that Nav2 is given to take note that a goal is cancelled."""

NextFrame = Callable[[float], Frame | None]


def robot_of(
    stream: ImageStream,
    next_frame: NextFrame,
    mover: Mover | None,
    *,
    detector: Detector | None,
    limits: Limits,
    gate: LocalizationGate | None = None,
    base_frame: str = ROBOT_FRAME,
    cancelled: Callable[[], bool] = lambda: False,
) -> Robot:
    """A robot for ``Search``: views are newer than the moment it stood still.

    Args:
        stream: Knows tf.
        next_frame: Gives the next frame of the stream within some seconds, or None.
        mover: Moves it; None for a dry run.
        detector: Finds things in its frames.
        limits: What is allowed.
        gate: Whether it is localized.
        base_frame: The robot's own frame, which goals are for.
        cancelled: True ends the search.
    """

    def base_pose() -> tuple[Pose2D, float] | None:
        found = stream.newest_pose(base_frame)
        return None if found is None else (floor_pose(found[0], ahead=0), found[1])

    def camera_in_base() -> Pose2D:
        base, camera = stream.newest_pose(base_frame), stream.newest_pose(stream.camera)
        if base is None or camera is None:
            return ORIGIN
        return floor_pose(camera[0]).relative_to(floor_pose(base[0], ahead=0))

    def lost(stamp: float) -> str:
        if gate is not None and not gate.is_open(stamp):
            return gate.reason
        silent = stream.without_corrections(base_frame)
        return "" if silent is None else f"no correction of its pose came for {silent:.0f} s"

    driver = Driver(
        mover,
        base_pose=base_pose,
        camera_in_base=camera_in_base,
        limits=limits,
        lost=lost,
        cancelled=cancelled,
    )

    def views() -> Iterator[Frame]:
        while True:
            frame = next_frame(NO_IMAGE)
            if frame is None:
                raise SourceError("camera", stream.address, f"gave no image for {NO_IMAGE:g} s", remedy="check it")
            if frame.stamp > driver.stood_still_at:
                yield frame

    return Robot(views(), driver, detector=detector)


@contextmanager
def ros_robot(
    address: str,
    *,
    drive: bool,
    limits: Limits,
    detector: Detector | None = None,
    options: SourceOptions | None = None,
) -> Iterator[Robot]:
    """The robot that ``ros2://`` names, for a search from the shell.

    ``ros2://?domain=5&base_frame=base_footprint&localization=/amcl_pose&drive_by=cmd_vel``; each word may be missing.
    """
    from lastseen.sources.ros.rclpy_graph import Graph

    words = {"domain": "", "base_frame": ROBOT_FRAME, "localization": "", "drive_by": "auto"}
    for name, text in parse_qsl(address.removeprefix(SCHEME).removeprefix("?"), keep_blank_values=True):
        if name not in words:
            raise SourceError(f"robot {name}", text, "is not known", remedy=f"choose of {', '.join(words)}")
        words[name] = text
    if words["drive_by"] not in WAYS:
        raise SourceError("robot drive_by", words["drive_by"], "is no way", remedy=f"choose of {', '.join(WAYS)}")
    _, domain = split_address(f"?domain={words['domain']}" if words["domain"] else "")
    # a view that waits is old: the newest alone is wanted
    chosen = (options or SourceOptions()).replaced(stall_after=1.0, queue_frames=2)
    with Graph("lastseen_search", domain=domain) as graph, ImageStream(graph.transport, chosen) as stream:
        found = detector or stream.detector()
        if found is None:
            raise SourceError("detector", None, "is missing: no Detection2DArray topic", remedy="add --detector")
        stream.waits_for_detections = detector is None
        stream.waiting = _refuse_silence
        gate = LocalizationGate() if words["localization"] else None
        if gate is not None:
            graph.transport.subscribe(words["localization"], POSE_COVARIANCE, gate.on_message)
        frames = stream.frames()
        first = [next(frames, None)]

        def next_frame(seconds: float) -> Frame | None:
            until = time.monotonic() + seconds
            while True:
                frame = first.pop() if first else next(frames, None)
                if frame is None or gate is None or gate.is_open(frame.stamp):
                    return frame
                # what is seen now would be remembered in the wrong place
                if time.monotonic() > until:
                    raise SourceError("robot", SCHEME, f"is not localized: {gate.reason}", remedy="localize it first")

        way = words["drive_by"]
        mover = open_mover(graph.transport, graph.node, way, limits, world=stream.world) if drive else None
        try:
            yield robot_of(
                stream,
                next_frame,
                mover,
                detector=found,
                limits=limits,
                gate=gate,
                base_frame=words["base_frame"],
            )
        finally:
            if mover is not None:
                mover.cancel(None)


def _refuse_silence(seconds: float) -> None:
    if seconds >= NO_IMAGE:
        raise SourceError(
            "camera", SCHEME, f"gave no image with a pose for {seconds:.0f} s", remedy="see docs/ros2.md"
        )


class Nav2Mover:
    """Sends one goal after the other to Nav2's NavigateToPose; whoever made ``node`` spins it.

    Without rclpy or nav2_msgs it raises ImportError.
    """

    def __init__(self, node: Any, *, world: str) -> None:
        from rclpy.action import ActionClient

        self._world = world
        self._kind = message_class("nav2_msgs/action/NavigateToPose")
        self._client = ActionClient(node, self._kind, _NAV2_ACTION)
        self._goal: Any = None
        self._result: Any = None
        self._seen = time.monotonic()

    def is_there(self, seconds: float) -> bool:
        """Whether a server shows up within some seconds."""
        return bool(self._client.wait_for_server(timeout_sec=seconds))

    def start(self, goal: Pose2D) -> None:
        """Send the goal."""
        pose = to_message(message_class(POSE), stamped_tree(goal, self._world))
        self._result, self._seen = None, time.monotonic()
        self._goal = self._client.send_goal_async(self._kind.Goal(pose=pose))

    def poll(self, pose: Pose2D) -> Moving:
        """What Nav2 says; a server that is gone raises ``Stopped``."""
        del pose
        if self._client.server_is_ready():
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _GONE:
            raise Stopped(f"stopped: the {_NAV2_ACTION} server is gone; start Nav2 and search again")
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


def open_mover(transport: Transport, node: Any, way: str, limits: Limits, *, world: str) -> Mover:
    """What moves the robot: ``auto``, ``nav2``, ``goal_pose`` or ``cmd_vel``; ``node`` is rclpy's, None without."""
    if way == "cmd_vel":
        return VelocityMover(transport.publish, limits)
    if way != "goal_pose" and node is not None:
        try:
            nav2 = Nav2Mover(node, world=world)
            if nav2.is_there(_FIND_NAMED_SERVER if way == "nav2" else _FIND_SERVER):
                return nav2
            missing = "no navigate_to_pose server answers"
        except ImportError:
            missing = "nav2_msgs is not installed"
        if way == "nav2":
            raise SourceError("drive_by", way, missing, remedy="start Nav2, or take drive_by=goal_pose")
    return GoalTopicMover(transport.publish, world=lambda: world)
