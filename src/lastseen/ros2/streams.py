"""What comes in from the graph: images with poses, or boxes that a robot's own cameras found in 3-D.

Both speak to a ``Transport``, which rclpy and Zenoh offer alike (sources/ros/transport.py).
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.observation import Observation
from lastseen.ros2.publications import DETECTIONS_3D
from lastseen.sources.live import FrameQueue
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import NO_POSE, Intake
from lastseen.sources.ros.messages import POSE_COVARIANCE, TF, nanoseconds, pose
from lastseen.sources.ros.stream import KEEP_TF, WAIT_FOR_POSE, Arrived, RosStream, read_message
from lastseen.sources.ros.transforms import Link, TransformTree, frame_name
from lastseen.sources.ros.transport import Transport

MAX_POSITION_STD = 0.5
"""Metres of standard deviation up to which a robot counts as localized: a thing is then put into the right corner of
a room. AMCL that has lost its way reports metres."""
MAX_HEADING_STD = math.radians(15.0)
"""Radians: 15 degrees move a thing 3 m away by 0.8 m."""
LOCALIZER_SILENT = 5.0
"""Seconds without a new map -> odom after which a localizer that sent it all the time has died: AMCL and SLAM send it
with every scan, standing or not."""
_RECENT = 5
"""Corrections that tell how often they come; one that comes now and then is not missed."""
NOT_LOCALIZED = "not localized"
TF_LATE = 1.0
"""Seconds by which tf may come after the boxes: a link that is silent for longer holds the boxes of others up."""
ROBOT_FRAME = "base_link"
"""The robot's own frame by custom (REP 105)."""
_SMALLEST_SIDE = 0.01
"""Metres: a detector that gives no size has still seen something."""


class ImageStream(RosStream):
    """The robot's camera over a transport."""

    def __init__(self, transport: Transport, options: SourceOptions | None = None) -> None:
        super().__init__("ros2 graph", transport, options)
        self.waits_for_detections = False
        """Whether a pair waits for the detections of its stamp, and is left out where none come."""
        self._undetected: deque[Arrived] = deque()

    def _posed(self) -> list[Arrived]:
        """The pairs that are ready; those of a detector's topic wait for what it found, which takes a while."""
        ready = super()._posed()
        if not self.waits_for_detections:
            return ready
        self._undetected.extend(ready)
        found: list[Arrived] = []
        while self._undetected:
            stamp = self._undetected[0].pair.color.stamp
            known = self._detections.covers(stamp)
            if known is None and len(self._undetected) <= WAIT_FOR_POSE:
                break
            one = self._undetected.popleft()
            if known:
                found.append(one)
            else:
                # nothing was looked for in it, so nothing is absent from it
                self.queue.skip("no detections at this stamp", f"stamp {stamp:.6f}")
        return found

    def without_corrections(self, frame: str) -> float | None:
        """Seconds since the localizer last corrected the odometry, where it used to and has stopped; else None."""
        with self._lock:
            links = (None if self._poses is None else self._tree.chain(self._poses.world, frame)) or []
            odometry = [one.stamps[-1] for one in links if not one.static and not self._tree.is_step(one)]
            for link in links:
                known = link.stamps[-_RECENT:]
                if self._tree.is_step(link) and odometry and len(known) == _RECENT:
                    silent, usual = max(odometry) - known[-1], (known[-1] - known[0]) / (_RECENT - 1)
                    if silent > max(LOCALIZER_SILENT, _RECENT * usual):
                        return silent
        return None


class BoxStream:
    """Detection3DArray messages with tf, as frames without a camera and observations.

    An array waits until tf has caught up with its stamp. ``intake`` counts what was left out.
    """

    def __init__(self, transport: Transport, topic: str, options: SourceOptions) -> None:
        self._transport, self._topic, self._options = transport, topic, options
        self._tree = TransformTree(odom_frame=options.odom_frame, restart_after=options.restart_after)
        self._waiting: deque[Any] = deque()
        self._queue: FrameQueue[tuple[Frame, list[Observation]]] = FrameQueue(
            capacity=options.queue_frames, lossless=options.backpressure == "lossless"
        )
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self._newest: float | None = None
        self._number = 0
        self.intake = Intake()
        self.world = ""
        self.restarted = False

    def frames(self) -> Iterator[tuple[Frame, list[Observation]] | None]:
        """Frames with their observations as they come; None when nothing came for ``stall_after`` seconds."""
        for topic, kind in (("/tf_static", TF), ("/tf", TF), (self._topic, DETECTIONS_3D)):
            self._ends.append(self._transport.subscribe(topic, kind, partial(self.on_message, topic, kind)))
        while not self._queue.ended:
            yield self._queue.get(self._options.stall_after)
            self._queue.move_counts(self.intake)

    def close(self) -> None:
        """Subscribe to nothing any more."""
        self._queue.close()
        while self._ends:
            self._ends.pop()()

    def on_message(self, topic: str, kind: str, data: bytes) -> None:
        """Take one message in CDR; may be called by any thread."""
        try:
            message = read_message(data, kind, topic)
            with self._lock:
                if kind == TF:
                    self._tree.add_message(message, topic=topic, skip=self._queue.skip)
                else:
                    self._take(message)
                ready = list(self._ready())
        except InvalidValue as error:
            self._queue.skip(f"unreadable message on {topic}", str(error))
            return
        for one in ready:
            self._queue.put(one)

    def _take(self, message: Any) -> None:
        """Put an array in line; one from long before the newest says that the clock began anew."""
        stamp = nanoseconds(message.header) / 1e9
        if self._newest is not None and self._newest - stamp > self._options.restart_after:
            for late in self._waiting:
                self._queue.skip(NO_POSE, f"stamp {nanoseconds(late.header) / 1e9:.6f}: before the clock began anew")
            self._waiting.clear()
            self._tree, self._newest, self.restarted = self._tree.restarted(), None, True
        self._waiting.append(message)

    def _ready(self) -> Iterator[tuple[Frame, list[Observation]]]:
        """The arrays that tf places, by arrival; one in a frame that tf does not connect holds no later one up."""
        aside = 0
        while aside < len(self._waiting):
            message = self._waiting[aside]
            stamp, frame = nanoseconds(message.header) / 1e9, frame_name(message.header.frame_id)
            world = self.world or self._options.world_frame or self._root(frame)
            links = self._tree.chain(world, frame) if world else None
            in_line = len(self._waiting) <= WAIT_FOR_POSE
            if links is None and in_line:
                aside += 1
                continue
            late = nanoseconds(self._waiting[-1].header) / 1e9 - stamp
            if links is not None and self._reach(links) < stamp and late < TF_LATE and in_line:
                return
            del self._waiting[aside]
            placed = None if links is None else self._pose(links, stamp)
            if placed is None:
                self._queue.skip(NO_POSE, f"{frame} at {stamp:.6f}; tf has: {self._tree.frame_list()}")
                continue
            # what stepped aside would go back in time now
            for _ in range(aside):
                header = self._waiting.popleft().header
                where = f"{frame_name(header.frame_id)} at {nanoseconds(header) / 1e9:.6f}"
                self._queue.skip(NO_POSE, f"{where}; tf has: {self._tree.frame_list()}")
            aside = 0
            if self._newest is not None and stamp < self._newest:
                self._queue.skip("stamp goes backwards", f"{stamp:.6f} after {self._newest:.6f}")
                continue
            self.world, self._newest = world, stamp
            for link in self._tree.links.values():
                link.forget_before(stamp - KEEP_TF)
            # boxes are often given in the world: then the robot tells from where they were seen
            camera = placed
            if frame == world:
                robot = self._tree.chain(world, self._options.camera_frame or ROBOT_FRAME)
                camera = (self._pose(robot, stamp) if robot else None) or placed
            try:
                found = observations(message, placed, camera)
            except InvalidValue as error:
                self._queue.skip(f"unfit {error.field}", f"stamp {stamp:.6f}: {error}")
                continue
            self._number += 1
            yield Frame.without_camera(self._number, stamp, camera), found

    def _root(self, frame: str) -> str:
        """The top of the tree that holds a frame; empty while tf does not name it."""
        return self._tree.root(frame) if frame in self._tree.frames() else ""

    def _reach(self, links: list[Link]) -> float:
        """The stamp up to which tf has come on some links."""
        ends = [link.stamps[-1] for link in links if not link.static and not self._tree.is_step(link)]
        return min(ends, default=math.inf)

    def _pose(self, links: list[Link], stamp: float) -> Pose3D | None:
        if self._reach(links) < stamp:
            return None
        return self._tree.along(links, stamp, max_gap=self._options.max_pose_gap)


def observations(message: Any, T_world_frame: Pose3D, camera: Pose3D) -> list[Observation]:
    """The boxes of a Detection3DArray in the world; what is no box raises ``InvalidValue``.

    Args:
        message: Of rosbags or rclpy.
        T_world_frame: Where the frame of the boxes is.
        camera: T_world_camera, for the side that things were seen from.
    """
    stamp = nanoseconds(message.header) / 1e9
    found = []
    for one in message.detections:
        T_world_box = T_world_frame @ pose(one.bbox.center.position, one.bbox.center.orientation)
        size = np.array([one.bbox.size.x, one.bbox.size.y, one.bbox.size.z], dtype=np.float64)
        # memory's boxes stand upright: the extent of a turned one
        extent = np.abs(T_world_box.rotation) @ np.maximum(size, _SMALLEST_SIDE)
        labels: dict[str, float] = {}
        for result in one.results:
            name, score = str(result.hypothesis.class_id).strip(), float(result.hypothesis.score)
            if not math.isfinite(score):
                raise InvalidValue("detection.score", score, "must be finite", remedy="check the detector")
            if name:
                labels[name] = max(labels.get(name, 0.0), min(max(score, 0.0), 1.0))
        toward = camera.translation - T_world_box.translation
        found.append(
            Observation(
                position=T_world_box.translation,
                extent=extent,
                view_direction=toward if np.linalg.norm(toward) > 1e-6 else np.array([0.0, 0.0, 1.0]),
                stamp=stamp,
                labels=labels,
                quality=max(labels.values(), default=1.0),
            )
        )
    return found


class LocalizationGate:
    """Whether the robot knew where it was: the newest covariance of its localizer up to a frame's stamp decides.

    >>> gate = LocalizationGate()
    >>> gate.add(1.0, np.diag([4.0, 4.0, 0.0, 0.0, 0.0, 0.1]).ravel())
    >>> gate.is_open(2.0)
    False
    """

    def __init__(
        self, *, max_position_std: float = MAX_POSITION_STD, max_heading_std: float = MAX_HEADING_STD
    ) -> None:
        self._limits = max_position_std, max_heading_std
        self._known: deque[tuple[float, bool]] = deque(maxlen=1000)
        self._lock = threading.Lock()
        """Covariances come in a thread of the middleware, frames and the driver ask in theirs."""
        self.reason = "no pose with covariance came yet"

    def on_message(self, data: bytes) -> None:
        """Take a PoseWithCovarianceStamped in CDR; one that cannot be read raises and changes nothing."""
        message = read_message(data, POSE_COVARIANCE, "localization")
        self.add(nanoseconds(message.header) / 1e9, np.asarray(message.pose.covariance, dtype=np.float64))

    def add(self, stamp: float, covariance: Any) -> None:
        """Take a covariance of 36 numbers (x, y, z and rotations about them)."""
        matrix = np.asarray(covariance, dtype=np.float64).reshape(6, 6)
        floor, turn = matrix[:2, :2], float(matrix[5, 5])
        if np.isfinite(floor).all() and math.isfinite(turn) and min(*floor.diagonal(), turn) >= 0:
            # the longer half axis of the ellipse on the floor
            position, heading = math.sqrt(max(0.0, float(np.linalg.eigvalsh(floor)[-1]))), math.sqrt(turn)
            good = position <= self._limits[0] and heading <= self._limits[1]
            reason = f"standard deviation {position:.3g} m, {math.degrees(heading):.3g} deg"
        else:
            good, reason = False, "its covariance holds NaN or a negative variance"
        with self._lock:
            self.reason = reason
            if self._known and stamp < self._known[-1][0]:
                self._known.clear()
            self._known.append((stamp, good))

    def is_open(self, stamp: float) -> bool:
        """Whether a frame of this stamp may be written."""
        with self._lock:
            newest_first = reversed(self._known)
            oldest = self._known[0][1] if self._known else False
            return next((good for known, good in newest_first if known <= stamp), oldest)
