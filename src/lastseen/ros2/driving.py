"""Driving a robot for a search: goals within limits, watched all the way, stopped when anything is wrong.

What moves the robot is a ``Mover``: Nav2's action, a goal topic, or velocities. ``Driver`` stands before it, the same
for all: it refuses goals out of bounds, and cancels on stale poses, lost localization, time and distance.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, Protocol

import numpy as np

from lastseen.errors import InvalidValue, LastseenError
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.ros2.publications import point_tree, time_tree
from lastseen.search.robot import Driven
from lastseen.sources.ros.messages import POSE
from lastseen.sources.ros.transport import Publication, Tree

TWIST = "geometry_msgs/msg/Twist"
GOAL_TOPIC, VELOCITY_TOPIC = "/goal_pose", "/cmd_vel"
PERIOD = 0.05
"""Seconds between looks at the robot while it moves."""
GOAL_SECONDS = 30.0
"""Seconds for one goal, which is a step of 0.25 m or a turn of 30 degrees: Nav2's recoveries fit in."""
NEAR, ALIGNED = 0.10, math.radians(8.0)
"""Metres and radians within which a goal is reached: Nav2's own tolerance is 0.25 m, a whole step."""
WATCHDOG = 0.3
"""Seconds after the last velocity at which zero is sent, whatever the thread that drives is doing."""
_WAIT_FOR_POSE = 10.0
"""Seconds that a robot which stands is given to tell where it is."""
_SLOW_DOWN = 0.3
"""Metres before the goal from which velocity falls in proportion."""
_DEEPER = 0.01
"""Metres by which a way must lead deeper into a zone to be refused: the noise of a pose."""
_HALTS = 5
"""Zero velocities that are sent to stop: one may be lost."""

Moving = Literal["moving", "reached", "failed"]
Zone = tuple[tuple[float, float], ...]


class Stopped(LastseenError):
    """The robot was stopped and the search ends; one line says why."""


class DryRun(LastseenError):
    """Nothing moves: ``goal`` is where the robot would have gone."""

    def __init__(self, goal: Pose2D) -> None:
        degrees = math.degrees(goal.yaw)
        super().__init__(f"dry run: it would go to x {goal.x:.2f} m, y {goal.y:.2f} m, heading {degrees:.0f} degrees")
        self.goal = goal


class Mover(Protocol):
    """Brings a robot to a pose of its base."""

    def start(self, goal: Pose2D) -> None:
        """Begin to move."""

    def poll(self, pose: Pose2D) -> Moving:
        """How it goes, given where the robot is; called every ``PERIOD``."""

    def cancel(self, pose: Pose2D | None) -> None:
        """Stop the robot now; ``pose`` is where it is, where that is known. May be called at any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a search may do with a robot.

    Args:
        speed: m/s at most, for velocity commands; Nav2 has its own limits.
        turn_speed: rad/s at most.
        seconds: The whole search at most.
        distance: Metres from where the search began at most.
        keep_out: Polygons (x, y) that the robot's middle must stay out of, with ``margin`` metres to spare.
        margin: Half the robot's width and a little.
        pose_age: Seconds without a newer pose after which a moving robot is stopped; in one second it goes 0.3 m.
    """

    speed: float = 0.3
    turn_speed: float = 0.8
    seconds: float = 900.0
    distance: float = 15.0
    keep_out: tuple[Zone, ...] = ()
    margin: float = 0.25
    pose_age: float = 1.0

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not is_number or value < 0 or (value == 0 and name != "margin"):
                raise InvalidValue(
                    f"limits.{name}", value, "must be a positive number", remedy="metres, seconds, radians"
                )

    def refusal(self, start: Pose2D, pose: Pose2D, goal: Pose2D) -> str | None:
        """Why a goal is refused; None where it may be driven to."""
        away = start.distance_to(goal)
        if away > self.distance:
            return f"the goal is {away:.1f} m from the start, more than {self.distance:g} m"
        steps = max(1, math.ceil(pose.distance_to(goal) / 0.05))
        for zone in self.keep_out:
            apart = [
                distance_to_zone(pose.x + (goal.x - pose.x) * k / steps, pose.y + (goal.y - pose.y) * k / steps, zone)
                for k in range(steps + 1)
            ]
            # a robot that stands inside may leave, and may turn where it stands
            if min(apart) < min(self.margin, apart[0] - _DEEPER):
                return "the way leads into a keep-out zone"
        return None

    def is_inside(self, before: Pose2D, pose: Pose2D) -> bool:
        """Whether a robot is in a keep-out zone, the margin apart, and not on its way out of one."""
        return any(
            distance_to_zone(pose.x, pose.y, zone) < min(0.0, distance_to_zone(before.x, before.y, zone) - _DEEPER)
            for zone in self.keep_out
        )


NUMBERS = tuple(one.name for one in fields(Limits) if one.name != "keep_out")
"""The limits that are numbers; parameters of a node name them ``limits.NAME``."""


class Driver:
    """``drive`` for ``lastseen.Robot``: camera goals in, "reached" or "failed" out; raises ``Stopped`` to end it all.

    Args:
        mover: Moves the robot; None for a dry run, which raises ``DryRun`` with the first goal.
        base_pose: Where the robot's base is now and the stamp of that; None where it is not known.
        camera_in_base: Where the camera looks from, on the floor, in the base's frame.
        limits: What is allowed.
        lost: Why the robot does not know where it is at a stamp; empty where it does.
        cancelled: Asked while it moves: True stops the robot and ends the search.
    """

    def __init__(
        self,
        mover: Mover | None,
        *,
        base_pose: Callable[[], tuple[Pose2D, float] | None],
        camera_in_base: Callable[[], Pose2D],
        limits: Limits,
        lost: Callable[[float], str] = lambda _: "",
        cancelled: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._mover, self._base_pose, self._camera = mover, base_pose, camera_in_base
        self._limits, self._lost, self._cancelled = limits, lost, cancelled
        self._clock, self._sleep = clock, sleep
        self._began: tuple[float, Pose2D] | None = None
        self._newest: tuple[float, float] = (-math.inf, 0.0)
        """Stamp of the newest pose, and when it came."""
        self.refused: list[str] = []
        self.stood_still_at = -math.inf
        """Stamp of the pose at which the robot stood still: a view must be newer."""

    def __call__(self, goal: Pose2D) -> Driven:
        """Drive until the camera is at a pose; "failed" where it may not or does not get there."""
        pose = self._watched_pose(waiting=True)
        if self._began is None:
            self._began = self._clock(), pose
        base_goal = goal.compose(self._camera().inverse())
        refusal = self._limits.refusal(self._began[1], pose, base_goal)
        if refusal is not None:
            self.refused.append(refusal)
            return "failed"
        if self._mover is None:
            raise DryRun(base_goal)
        ended: Moving = "moving"
        until, began_at = self._clock() + GOAL_SECONDS, pose
        try:
            self._mover.start(base_goal)
            while ended == "moving" and self._clock() < until:
                self._sleep(PERIOD)
                pose = self._watched_pose()
                if self._limits.is_inside(began_at, pose):
                    # whoever plans the way there, Nav2 or a recovery of it, does not know the zones
                    raise Stopped("stopped: the robot came into a keep-out zone; move it out and search again")
                ended = self._mover.poll(pose)
        finally:
            # Ctrl-C, a stop and a timeout pass here too
            if ended != "reached":
                self._mover.cancel(pose)
        self.stood_still_at = self._newest[0]
        return "reached" if ended == "reached" else "failed"

    def _watched_pose(self, *, waiting: bool = False) -> Pose2D:
        """Where the robot is; raises ``Stopped`` where it must not go on. ``waiting`` gives a standing robot time."""
        until = self._clock() + (_WAIT_FOR_POSE if waiting else 0.0)
        while True:
            found, now = self._base_pose(), self._clock()
            if found is not None and found[1] > self._newest[0]:
                self._newest = found[1], now
            age = now - self._newest[1]
            if found is not None and age <= self._limits.pose_age:
                break
            if now >= until:
                told = f"no newer pose came for {age:.1f} s" if self._newest[0] > -math.inf else "tf gives no pose"
                raise Stopped(f"stopped: {told}; check tf or odometry")
            self._sleep(PERIOD)
        pose = found[0]
        if self._cancelled():
            raise Stopped("stopped: the search was cancelled")
        if lost := self._lost(found[1]):
            raise Stopped(f"stopped: the robot is not localized any more ({lost}); localize it and search again")
        if self._began is not None:
            if now - self._began[0] > self._limits.seconds:
                raise Stopped(f"stopped: the search took more than {self._limits.seconds:g} s")
            away = self._began[1].distance_to(pose)
            if away > self._limits.distance + 1.0:
                raise Stopped(f"stopped: the robot is {away:.1f} m from its start, more than allowed")
        return pose


class GoalTopicMover:
    """Publishes goals on a topic, as RViz does; arrival is told by the robot's pose."""

    def __init__(self, publish: Callable[[Publication], None], *, world: Callable[[], str]) -> None:
        self._publish, self._world = publish, world
        self._goal: Pose2D | None = None

    def start(self, goal: Pose2D) -> None:
        """Publish the goal."""
        self._goal = goal
        self._publish(Publication(GOAL_TOPIC, POSE, stamped_tree(goal, self._world())))

    def poll(self, pose: Pose2D) -> Moving:
        """Reached when the robot is near the goal and faces its way."""
        assert self._goal is not None
        return "reached" if is_at(pose, self._goal) else "moving"

    def cancel(self, pose: Pose2D | None) -> None:
        """A goal topic knows no cancel: the robot is sent to where it is."""
        if pose is not None:
            self._publish(Publication(GOAL_TOPIC, POSE, stamped_tree(pose, self._world())))


class VelocityMover:
    """Turns, drives straight and turns again by velocities; a watchdog sends zero when nobody drives on."""

    def __init__(self, publish: Callable[[Publication], None], limits: Limits) -> None:
        self._publish, self._limits = publish, limits
        self._goal: Pose2D | None = None
        self._facing = False
        self._watchdog: threading.Timer | None = None

    def start(self, goal: Pose2D) -> None:
        """Take a goal; ``poll`` moves."""
        self._goal, self._facing = goal, False

    def poll(self, pose: Pose2D) -> Moving:
        """Send the next velocity."""
        goal = self._goal
        assert goal is not None
        left = pose.distance_to(goal)
        heading = wrap_angle(goal.yaw - pose.yaw)
        if left > NEAR / 2:
            turn = pose.bearing_to(goal)
            self._facing = abs(turn) < (math.radians(25.0) if self._facing else ALIGNED)
            forward = self._limits.speed * min(1.0, left / _SLOW_DOWN) if self._facing else 0.0
            self._send(forward, turn)
        elif abs(heading) > ALIGNED / 2:
            self._send(0.0, heading)
        else:
            self._halt()
            return "reached"
        return "moving"

    def cancel(self, pose: Pose2D | None) -> None:
        """Send zero."""
        del pose
        self._halt()

    def _send(self, forward: float, turn: float) -> None:
        most = self._limits.turn_speed
        self._publish(velocity(forward, min(max(1.5 * turn, -most), most)))
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._watchdog = threading.Timer(WATCHDOG, self._halt)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _halt(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        for _ in range(_HALTS):
            self._publish(velocity(0.0, 0.0))


def velocity(forward: float, turn: float) -> Publication:
    """A Twist of m/s forward and rad/s to the left."""
    tree = {"linear": point_tree((forward, 0.0, 0.0)), "angular": point_tree((0.0, 0.0, turn))}
    return Publication(VELOCITY_TOPIC, TWIST, tree)


def stamped_tree(pose: Pose2D, world: str) -> Tree:
    """A PoseStamped on the floor; stamp 0 means the newest transform."""
    turn = {"z": math.sin(pose.yaw / 2), "w": math.cos(pose.yaw / 2)}
    placed = {"position": point_tree((pose.x, pose.y, 0.0)), "orientation": turn}
    return {"header": {"stamp": time_tree(0.0), "frame_id": world}, "pose": placed}


def is_at(pose: Pose2D, goal: Pose2D, *, near: float = NEAR, aligned: float = ALIGNED) -> bool:
    """Whether a robot has arrived: within ``near`` metres and ``aligned`` radians of its goal."""
    return pose.distance_to(goal) <= near and abs(wrap_angle(goal.yaw - pose.yaw)) <= aligned


def parse_zones(texts: object) -> tuple[Zone, ...]:
    """The keep-out zones of a parameter: a list of texts, or none."""
    if not isinstance(texts, Sequence) or isinstance(texts, str) or not all(isinstance(one, str) for one in texts):
        raise InvalidValue("limits.keep_out", texts, "must be a list of text", remedy="write ['0,0 1,2']")
    return tuple(parse_zone(text) for text in texts)


def parse_zone(text: str) -> Zone:
    """A keep-out zone from ``x,y x,y ...``: two corners of a box, or the corners of a polygon.

    >>> parse_zone("0,0 1,2")
    ((0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (0.0, 2.0))
    """
    try:
        points = [tuple(float(number) for number in point.split(",")) for point in text.split()]
        corners = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    except ValueError:
        corners, points = [], []
    if len(corners) < 2 or len(corners) != len(points):
        raise InvalidValue("--keep-out", text, "is no zone", remedy="write 'x,y x,y' for a box, or more corners")
    if len(corners) == 2:
        (left, low), (right, high) = corners
        corners = [(left, low), (right, low), (right, high), (left, high)]
    return tuple(corners)


def zone_text(zone: Zone) -> str:
    """A zone as ``parse_zone`` reads it."""
    return " ".join(f"{x:g},{y:g}" for x, y in zone)


def distance_to_zone(x: float, y: float, zone: Sequence[tuple[float, float]]) -> float:
    """Metres from a point to a polygon; negative inside, by how deep.

    >>> distance_to_zone(2.0, 0.5, parse_zone("0,0 1,1"))
    1.0
    """
    corners = np.array(zone)
    ends = np.roll(corners, -1, axis=0)
    edges, point = ends - corners, np.array([x, y])
    lengths = np.maximum((edges**2).sum(axis=1), 1e-12)
    along = np.clip(((point - corners) * edges).sum(axis=1) / lengths, 0.0, 1.0)
    nearest = float(np.hypot(*(corners + along[:, None] * edges - point).T).min())
    crosses = (corners[:, 1] > y) != (ends[:, 1] > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = corners[:, 0] + (y - corners[:, 1]) * edges[:, 0] / edges[:, 1]
    inside = int((crosses & (x < at)).sum()) % 2 == 1
    return -nearest if inside else nearest
