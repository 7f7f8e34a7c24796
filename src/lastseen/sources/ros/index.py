"""The first reading of a bag: which topics are the camera, and everything about them that is not an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from lastseen.errors import InvalidValue, SourceError
from lastseen.sources.detections import StoredDetection, rows_of_line
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake
from lastseen.sources.ros import decode
from lastseen.sources.ros.cameras import CameraPair
from lastseen.sources.ros.container import Container, Raw
from lastseen.sources.ros.poses import CameraPoses
from lastseen.sources.ros.topics import Chosen, Topic, choose
from lastseen.sources.ros.transforms import Link, TransformTree, frame_name
from lastseen.sources.ros.types import CAMERA_INFO, IMAGES, TF

UNNAMED_WORLD = "world"
"""The frame of poses whose message does not name one."""

UNPLACED_DEPTH = (
    "depth is in frame {depth}, colour in {color}, and tf does not say how they stand: they are taken as one; "
    "record /tf_static, or name depth that is registered to colour with depth_topic"
)
"""Said where depth cannot be registered."""

PLACE_TRIES = 64
"""Moments of a recording at which tf is asked how depth stands to colour: one good answer is enough."""


@dataclass(slots=True)
class BagIndex:
    """What is known of a bag before its images are read."""

    topics: Chosen
    tree: TransformTree
    camera_frame: str
    color_info: Any = None
    depth_info: Any = None
    color_stamps: list[float] = field(default_factory=list)
    depth_stamps: list[float] = field(default_factory=list)
    detections: list[tuple[float, StoredDetection]] = field(default_factory=list)
    intake: Intake = field(default_factory=Intake)

    def cameras(self, options: SourceOptions, intake: Intake) -> CameraPair:
        """The two cameras as one; what cannot be put right about them is noted."""
        apart = None
        color, depth = self.camera_frame, self.topics.depth.frame
        if depth and depth != color and self.color_stamps:
            color = frame_of_color(color, self.tree, options)
            # tf may begin later than the images, so a spread of moments is asked
            stamps = sorted(self.color_stamps)
            moments = stamps[:: -(-len(stamps) // PLACE_TRIES)]
            found = (
                self.tree.between_frames(color, depth, stamp + options.pose_delay, max_gap=options.max_pose_gap)
                for stamp in moments
            )
            apart = next((one for one in found if one is not None), None)
            if apart is None:
                intake.note(UNPLACED_DEPTH.format(depth=depth, color=color))
        return CameraPair(
            self.color_info,
            self.depth_info,
            names=(self.topics.color.name, self.topics.depth.name),
            options=options,
            intake=intake,
            T_color_depth=apart,
        )


def read_index(bag: Container, options: SourceOptions) -> BagIndex:
    """Read a bag once and keep what is small."""
    topics = choose(_topics(bag), options)
    index = BagIndex(
        topics,
        TransformTree(odom_frame=options.odom_frame),
        frame_name(topics.color.frame),
    )
    for name in bag.left_out:
        index.intake.note(f"{name} holds nothing that can be read, and is left out")
    reading = _Reading(bag, options, index)
    try:
        for raw in bag.messages(reading.wanted()):
            reading.take(raw)
    except SourceError as error:
        if not index.color_stamps:
            raise
        index.intake.skip("bag breaks off", str(error))
    if bag.cut_off or index.intake.skipped["bag breaks off"]:
        index.intake.cut_off = cut_off_line(index.color_stamps)
    reading.finish()
    return index


def cut_off_line(stamps: list[float]) -> str:
    """What is said of a recording that breaks off."""
    until = f" (t = {max(stamps):.3f} s, {max(stamps) - min(stamps):.1f} s after the first)" if stamps else ""
    return f"the recording was cut off after {len(stamps)} frames{until}"


def frame_of_color(told: str, tree: TransformTree, options: SourceOptions) -> str:
    """The frame that depth is placed against.

    Colour and depth name their frames alike, rightly or wrongly. ``camera_frame`` corrects the pose alone, and stands
    in here only where tf has never heard of what colour says.
    """
    return told if told in tree.frames() else options.camera_frame or told


def _topics(bag: Container) -> Iterator[Topic]:
    """Every topic; of images and camera infos the first message, which tells what they hold."""
    found = bag.topics()
    peek = {name for name, (kind, count) in found.items() if kind in {*IMAGES, CAMERA_INFO} and count > 0}
    first: dict[str, Any] = {}
    for raw in bag.messages(peek):
        if raw.topic not in first:
            first[raw.topic] = _first(bag, raw)
        if len(first) == len(peek):
            break
    for name, (kind, count) in found.items():
        message = first.get(name)
        frame = "" if message is None else frame_name(message.header.frame_id)
        depth = decode.holds_depth(message) if message is not None and kind in IMAGES else None
        yield Topic(name, kind, count, depth, frame)


def _first(bag: Container, raw: Raw) -> Any:
    try:
        return bag.decode(raw)
    except SourceError:
        # whatever the first one is, the others may be whole: a named topic is tried all the same
        return None


class _Reading:
    """Takes the messages of the first reading, one by one."""

    def __init__(self, bag: Container, options: SourceOptions, index: BagIndex) -> None:
        self._bag = bag
        self._options = options
        self._index = index
        self._infos: dict[str, Any] = {}
        self._pose_link: Link | None = None

    def wanted(self) -> set[str]:
        """The topics to read."""
        topics = self._index.topics
        named = {topics.color.name, topics.depth.name, topics.color_info, topics.depth_info, topics.pose}
        tf = {name for name, (kind, _) in self._bag.topics().items() if kind == TF}
        return {*named, *tf, topics.detections_text or topics.detections} - {""}

    def take(self, raw: Raw) -> None:
        """Keep what a message says; one that cannot be read is counted."""
        topics, index = self._index.topics, self._index
        if raw.topic in {topics.color.name, topics.depth.name}:
            stamp = self._bag.header_stamp(raw)
            if stamp == 0 and raw.log_time != 0:
                index.intake.note(f"{raw.topic} has no stamps: the time of recording stands in for them")
            stamps = index.color_stamps if raw.topic == topics.color.name else index.depth_stamps
            stamps.append((stamp or raw.log_time) / 1e9)
            return
        if raw.topic in self._infos:
            return
        try:
            message = self._bag.decode(raw)
            if raw.type == CAMERA_INFO:
                self._infos[raw.topic] = message
            elif raw.type == TF:
                self._index.tree.take(message, topic=raw.topic, refuse=self._index.intake.skip)
            elif raw.topic == topics.pose:
                self._pose(message, raw)
            else:
                self._detections(message, raw)
        except InvalidValue as error:
            index.intake.skip(f"unreadable message on {raw.topic}", str(error))

    def finish(self) -> None:
        """Put cameras and poses together when all is read."""
        index, options, topics = self._index, self._options, self._index.topics
        for link in index.tree.links.values():
            # said once and never again: it holds for the whole recording
            if len(link.stamps) == 1 and not index.tree.is_step(link):
                link.static = True
        if self._pose_link is not None:
            moves = CameraPoses(index.tree, index.camera_frame, options).moves()
            if options.pose_topic or not moves:
                index.tree.give(self._pose_link)
        index.color_info, index.depth_info = self._infos.get(topics.color_info), self._infos.get(topics.depth_info)
        self._check_frames()
        for stamps in (index.color_stamps, index.depth_stamps):
            index.intake.out_of_order += sum(later < earlier for earlier, later in pairwise(stamps))

    def _check_frames(self) -> None:
        """Refuse a frame that was named and is not there, before every image is left out for want of a pose."""
        options, tree = self._options, self._index.tree
        camera = options.camera_frame or self._index.camera_frame
        if options.camera_frame and camera not in tree.frames():
            raise SourceError("camera_frame", camera, "is no frame of tf", remedy=f"tf has: {tree.told()}")
        if options.world_frame and tree.chain(options.world_frame, camera) is None:
            raise SourceError(
                "world_frame", options.world_frame, f"is not above {camera} in tf", remedy=f"tf has: {tree.told()}"
            )

    def _pose(self, message: Any, raw: Raw) -> None:
        options = self._options
        stamp = (decode.nanoseconds(message.header) or raw.log_time) / 1e9
        parent = frame_name(message.header.frame_id) or UNNAMED_WORLD
        told = frame_name(getattr(message, "child_frame_id", ""))
        child = options.pose_frame or told or options.camera_frame or self._index.camera_frame
        try:
            pose = decode.pose_of(message)
        except InvalidValue as error:
            self._index.intake.skip(f"NaN or no pose on {raw.topic}", f"stamp {stamp:.6f}: {error}")
            return
        if self._pose_link is None or (self._pose_link.parent, self._pose_link.child) != (parent, child):
            self._pose_link = Link(parent, child)
        self._pose_link.add(stamp, pose)

    def _detections(self, message: Any, raw: Raw) -> None:
        if raw.topic == self._index.topics.detections_text:
            self._index.detections += rows_of_line(message.data, raw.topic)
            return
        stamp = (decode.nanoseconds(message.header) or raw.log_time) / 1e9
        self._index.detections += [(stamp, StoredDetection(one)) for one in decode.detections(message)]
