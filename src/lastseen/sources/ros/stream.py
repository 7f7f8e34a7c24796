"""Live ROS 2 topics as a source, whatever brings the messages: they arrive as CDR bytes and leave as records.

tf, camera infos and detections are small and all are kept; only images wait in line and may be dropped. An image
waits until tf has caught up with it, because a pose is interpolated and never guessed.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from lastseen.errors import InvalidValue, SourceError
from lastseen.geometry import Pose3D
from lastseen.protocols import Detector
from lastseen.sources.conversion import Box
from lastseen.sources.detections import RecentDetections, StoredDetection
from lastseen.sources.live import LiveSource
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import NO_POSE, Intake, RawRecord, RevisedPose
from lastseen.sources.ros import messages
from lastseen.sources.ros.cameras import UNPLACED_DEPTH, CameraPair, color_frame_in
from lastseen.sources.ros.container import bag_errors
from lastseen.sources.ros.messages import CAMERA_INFO, DETECTIONS, IMAGES, POSES, TF, require_rosbags, ros2_types
from lastseen.sources.ros.pairs import Pair, Pairs
from lastseen.sources.ros.poses import CameraPoses, Corrections
from lastseen.sources.ros.topics import Chosen, Topic, choose
from lastseen.sources.ros.transforms import Link, TransformTree, frame_name, pose_frames
from lastseen.sources.ros.transport import Transport

KEEP_TF = 30.0
"""Seconds of tf that are kept: an image older than that is not waited for."""

WAIT_FOR_POSE = 30
"""Images that wait for tf at most; the oldest goes without a pose, and that is counted."""

MAX_DOMAIN = 232
"""The largest ROS domain that DDS has ports for."""

FIND_TOPICS = 10.0
"""Seconds until the camera's topics must have shown up."""

_LOOK = 0.25
"""Seconds between two looks at the topics."""

SETTLE = 1.0
"""Seconds that the topics must then stay the same: those of one robot show up one by one."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A pair of images in CDR with the pose at its stamp."""

    pair: Pair[bytes]
    pose: Pose3D


class RosStream(LiveSource[Arrived]):
    """A camera on the graph that a transport leads to; ``leave`` ends a transport that is this stream's own."""

    def __init__(
        self,
        address: str,
        transport: Transport,
        options: SourceOptions | None = None,
        *,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        require_rosbags("live ROS 2 topics")
        super().__init__(address, options)
        self._transport, self._leave = transport, leave
        self._lock = threading.Lock()
        self._chosen: Chosen | None = None
        self._detections = RecentDetections(self.options, undistort=self._undistort_box)
        self._infos: dict[str, Any] = {}
        self._cameras: CameraPair | None = None
        self._T_color_depth: Pose3D | None = None
        self._cameras_known: list[bool] = []
        """Whether colour's info, depth's info and the place of depth were known when the cameras were made."""
        self._revised: dict[float, RevisedPose] = {}
        self._pose_link: Link | None = None
        self._tree = TransformTree(odom_frame=self.options.odom_frame, restart_after=self.options.restart_after)
        self._begin()

    def find_topics(self) -> list[Topic]:
        """The topics that are published now; an image with depth in its name is depth."""
        return [
            Topic(name, kind, depth="depth" in name.lower() if kind in IMAGES else None)
            for name, kind in sorted(self._transport.topics())
        ]

    def receive(self, stop: threading.Event) -> None:
        """Subscribe to the camera's topics until ``stop`` is set."""
        ends: list[Callable[[], None]] = []
        try:
            # tf_static last: it comes at once, and then everything is known to be subscribed
            for topic, kind in sorted(self.wanted().items(), key=lambda one: one[0] == "/tf_static"):
                try:
                    end = self._transport.subscribe(topic, kind, partial(self.on_message, topic, kind))
                except SourceError:
                    # where poses come from elsewhere, a graph may do without tf
                    if kind != TF or not self.options.pose_topic:
                        raise
                    continue
                ends.append(end)
            stop.wait()
        finally:
            for end in ends:
                end()

    def close(self) -> None:
        """Stop receiving, and leave the graph where it was joined for this stream."""
        super().close()
        self._leave()

    def topics(self) -> Chosen:
        """The camera's topics, once they are all there; one that does not show up is an error."""
        if self._chosen is None:
            self._chosen = self._wait_for_topics()
        return self._chosen

    def detector(self) -> Detector | None:
        """Detections that come beside the images, where a topic has them."""
        return self._detections if self.topics().detections else None

    def wanted(self) -> dict[str, str]:
        """The topics to subscribe to, each with its type."""
        chosen = self.topics()
        named = {chosen.color.name: chosen.color.type, chosen.depth.name: chosen.depth.type}
        for info in (chosen.color_info, chosen.depth_info):
            if info:
                named[info] = CAMERA_INFO
        if chosen.detections:
            named[chosen.detections] = DETECTIONS
        if self.options.pose_topic:
            named[chosen.pose] = next(topic.type for topic in self.find_topics() if topic.name == chosen.pose)
        return {**named, "/tf": TF, "/tf_static": TF}

    def on_message(self, topic: str, kind: str, data: bytes) -> None:
        """Handle one message in CDR; may be called by any thread of the middleware."""
        if len(data) > self.options.max_message_mb * 2**20:
            self.queue.skip("unreadable message", f"{topic}: {len(data)} bytes exceed max_message_mb")
            return
        try:
            with self._lock:
                ready = self._sort(topic, kind, data)
        except InvalidValue as error:
            self.queue.skip(f"unreadable message on {topic}", str(error))
            return
        for one in ready:
            self.queue.put(one)

    def decode(self, item: Arrived) -> RawRecord:
        """The record of a pair of images."""
        chosen, limit = self.topics(), self.options.max_pixels
        color = read_message(item.pair.color.item, chosen.color.type, "color")
        rgb = messages.color_image(color, name="color", max_pixels=limit)
        distant = read_message(item.pair.depth.item, chosen.depth.type, "depth")
        depth, raw_per_metre = messages.depth_image(distant, name="depth", max_pixels=limit)
        frames = frame_name(color.header.frame_id), frame_name(distant.header.frame_id)
        cameras = self._camera_pair(*frames, item.pair.color.stamp)
        record = cameras.record(item.pair, rgb, depth, raw_per_metre, pose=item.pose)
        with self._lock:
            if self._poses is not None:
                world, top = self._poses.world, self._tree.root(self._poses.camera)
                if world != top and not self.options.world_frame:
                    self.intake.note(f"tf has put {top} above {world}, which stays the world; set world_frame={top}")
            revised, self._revised = tuple(self._revised.values()), {}
        return dataclasses.replace(record, revised=revised)

    @property
    def world(self) -> str:
        """The frame that poses are in; empty before the first image."""
        with self._lock:
            return "" if self._poses is None else self._poses.world

    @property
    def camera(self) -> str:
        """The frame of the camera; empty before the first image."""
        with self._lock:
            return "" if self._poses is None else self._poses.camera

    def newest_pose(self, frame: str) -> tuple[Pose3D, float] | None:
        """T_world_frame as tf knows it last, and the stamp it is of; None where tf does not connect them yet."""
        with self._lock:
            links = None if self._poses is None else self._tree.chain(self._poses.world, frame)
            if not links:
                return None
            moving = [link for link in links if not link.static and not self._tree.is_step(link)]
            stamp = min((link.stamps[-1] for link in moving if link.stamps), default=self._newest or 0.0)
            pose = self._tree.along(links, stamp, max_gap=math.inf)
            return None if pose is None else (pose, stamp)

    def _begin(self) -> None:
        """Forget all that belongs to one clock: at the start, and when the clock begins anew."""
        self._counts = Intake()
        self._pairs: Pairs[bytes] = Pairs(
            self.options, self._counts, max_bytes=4 * self.options.max_message_mb * 2**20
        )
        self._unposed: deque[Pair[bytes]] = deque()
        self._tree = self._tree.restarted()
        self._poses: CameraPoses | None = None
        self._corrections: Corrections | None = None
        self._newest: float | None = None

    def _sort(self, topic: str, kind: str, data: bytes) -> list[Arrived]:
        chosen = self.topics()
        if topic in {chosen.color.name, chosen.depth.name}:
            return self._image(topic == chosen.color.name, kind, data)
        if kind == CAMERA_INFO and topic in self._infos:
            return []
        message = read_message(data, kind, topic)
        if kind == CAMERA_INFO:
            self._infos[topic] = message
        elif kind == TF:
            self._tree.add_message(message, topic=topic, skip=self.queue.skip)
        elif kind in POSES:
            self._add_pose(message)
        else:
            stamp = messages.nanoseconds(message.header) / 1e9
            self._detections.add(stamp, [(stamp, StoredDetection(one)) for one in messages.detections(message)])
        return self._posed()

    def _image(self, is_color: bool, kind: str, data: bytes) -> list[Arrived]:
        stamp = _stamp(data)
        if self._newest is not None and self._newest - stamp > self.options.restart_after:
            self._begin()
        self._newest = stamp if self._newest is None else max(self._newest, stamp)
        if self._poses is None and is_color:
            frame = frame_name(read_message(data, kind, "color").header.frame_id)
            self._poses = CameraPoses(self._tree, frame, self.options)
            self._corrections = Corrections(self._poses)
        arrive = self._pairs.color if is_color else self._pairs.depth
        self._unposed.extend(arrive(stamp, data, len(data)))
        for reason, count in self._counts.skipped.items():
            for _ in range(count):
                self.queue.skip(reason, self._counts.examples[reason])
        self._counts.skipped.clear()
        for link in self._tree.links.values():
            link.forget_before(self._newest - KEEP_TF)
        return self._posed()

    def _posed(self) -> list[Arrived]:
        """The pairs whose stamp tf has passed, each with its pose."""
        ready: list[Arrived] = []
        while self._unposed and self._poses is not None and self._corrections is not None:
            stamp = self._unposed[0].color.stamp
            # a camera on its mount is not in the world yet: something must move, unless the world was named
            placed = self._poses.moves() or bool(self.options.world_frame and self._poses.links())
            waiting = not placed or self._poses.known_until() < stamp
            if waiting and len(self._unposed) <= WAIT_FOR_POSE:
                break
            pair = self._unposed.popleft()
            pose = self._poses.at(stamp) if placed else None
            if pose is None:
                wanted = self._poses.options.world_frame
                missing = f"; world_frame {wanted} is not above {self._poses.camera}" if wanted and not placed else ""
                where = f"{self._poses.camera} at {stamp:.6f}{missing}"
                self.queue.skip(NO_POSE, f"{where}; tf has: {self._tree.frame_list()}")
                continue
            # from now on this is the world, whatever tf puts above it later
            self._poses.options = self._poses.options.replaced(world_frame=self._poses.world)
            for revised in self._corrections.advance(stamp):
                self._revised[revised.stamp] = revised
            ready.append(Arrived(pair, pose))
        return ready

    def _add_pose(self, message: Any) -> None:
        parent, child = pose_frames(message, self.options, camera=self._poses.camera if self._poses else "")
        if not child:
            # nothing has named the camera's frame yet
            return
        link = self._tree.links.get(child)
        if link is None or link is not self._pose_link:
            link = self._pose_link = Link(parent, child)
            self._tree.override(link)
        link.add(messages.nanoseconds(message.header) / 1e9, messages.pose_of(message))

    def _undistort_box(self, box: Box, size: tuple[int, int]) -> Box | None:
        # asked for a frame that has come through here, so its cameras are known
        return box if self._cameras is None else self._cameras.undistort_box(box, size, self.intake)

    def _camera_pair(self, color: str, depth: str, stamp: float) -> CameraPair:
        """The two cameras as one; made anew when more becomes known about them, not for every frame."""
        if self._cameras is not None and all(self._cameras_known):
            return self._cameras
        chosen, options = self.topics(), self.options
        infos = [self._infos.get(name) for name in (chosen.color_info, chosen.depth_info)]
        together = depth in {"", color}
        if not together and self._T_color_depth is None:
            with self._lock:
                color = color_frame_in(self._tree, color, options)
                self._T_color_depth = self._tree.between_frames(
                    color, depth, stamp + options.pose_delay, max_gap=math.inf
                )
            if self._T_color_depth is None:
                self.intake.note(UNPLACED_DEPTH.format(depth=depth, color=color))
        known = [info is not None for info in infos] + [together or self._T_color_depth is not None]
        if self._cameras is None or known != self._cameras_known:
            names = (chosen.color.name, chosen.depth.name)
            self._cameras = CameraPair(
                *infos, names=names, options=options, intake=self.intake, T_color_depth=self._T_color_depth
            )
            self._cameras_known = known
        return self._cameras

    def _wait_for_topics(self) -> Chosen:
        found: list[Topic] = []
        same = 0
        for _ in range(int((FIND_TOPICS + SETTLE) / _LOOK)):
            before, found = found, self.find_topics()
            depths = {topic.depth for topic in found if topic.type in IMAGES}
            named = {topic.name for topic in found}
            asked = {self.options.color_topic, self.options.depth_topic, self.options.pose_topic} - {""}
            same = same + 1 if found == before and depths >= {True, False} and asked <= named else 0
            whole = same and {CAMERA_INFO, DETECTIONS} <= {topic.type for topic in found}
            if whole or same >= SETTLE / _LOOK or self._stop.wait(_LOOK):
                break
        return choose(found, self.options)


def read_message(data: bytes, kind: str, name: str) -> Any:
    """A message of rosbags from its CDR."""
    try:
        return ros2_types().deserialize_cdr(data, kind)
    except bag_errors() as error:
        raise SourceError(name, data, f"is no {kind} ({error})", remedy="the message is left out") from error


def _stamp(data: bytes) -> float:
    if len(data) < 12:
        raise SourceError("image", data, "is cut off", remedy="the message is left out")
    return messages.cdr_nanoseconds(data) / 1e9


def split_address(address: str) -> tuple[str, int]:
    """Host with port (or nothing) and domain of ``host:port?domain=5``; the domain defaults to ROS_DOMAIN_ID or 0."""
    host, _, query = address.partition("?")
    if host and not re.fullmatch(r"[\w.:\[\]-]+:\d{1,5}", host):
        raise SourceError("ROS address", address, "is no host:port", remedy="for example 127.0.0.1:7447?domain=5")
    domain = os.environ.get("ROS_DOMAIN_ID", "") or "0"
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name != "domain":
            raise SourceError(f"ROS {name}", text, "is not known", remedy="the only word is domain")
        domain = text
    if not domain.isdecimal() or int(domain) > MAX_DOMAIN:
        raise SourceError("ROS domain", domain, f"must be 0 to {MAX_DOMAIN}", remedy="0 is the usual one")
    return host, int(domain)
