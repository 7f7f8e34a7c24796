"""A recording in ROS messages: ROS 1 bag, ROS 2 folder with sqlite3 or MCAP, or a bare .mcap.

It is read twice: once for everything small (tf, poses, camera infos, detections, the stamps of images), then for the
images. So every image finds its pose, however late tf was recorded, and memory holds a few images at a time.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, SourceError
from lastseen.geometry import Pose3D
from lastseen.protocols import Detector
from lastseen.sources.base import RecordSource
from lastseen.sources.conversion import Box
from lastseen.sources.detections import RecordedDetections, StoredDetection, rows_of_line
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import NO_POSE, Intake, RawRecord, Trajectory
from lastseen.sources.ros import messages
from lastseen.sources.ros.cameras import UNPLACED_DEPTH, CameraPair, color_frame_in
from lastseen.sources.ros.container import Container, Raw
from lastseen.sources.ros.messages import CAMERA_INFO, IMAGES, TF, TRANSFORM
from lastseen.sources.ros.pairs import Pair, Pairs
from lastseen.sources.ros.poses import CameraPoses, Corrections
from lastseen.sources.ros.topics import Topic, choose
from lastseen.sources.ros.transforms import Link, TransformTree, frame_name, pose_frames

MAX_WAITING_BYTES = 128 * 2**20
"""Bytes of images that wait for their partner at most."""

MAX_DETECTIONS = 300_000
"""Detections of a recording at most, 300 MB: eight hours of a detector that finds ten things a second."""

MAX_IMAGES = 5_000_000
"""Images of a topic at most, two days at 30 Hz: only their stamps are kept, but a packed file may hold any number."""

DEPTH_UNITS = "/option/Depth_Units/value"
"""How the topic ends that gives the metres of a raw value in RealSense's own bags: 0.00025 for an L515."""

PLACE_TRIES = 64
"""Stamps of a recording at which depth's place is looked up in tf: one that is found is enough."""

BREAKS_OFF = "bag breaks off"


STANDS_STILL = "nothing in it moves the camera: if it was carried, take poses from the images with --poses odometry"
"""Said of a recording without poses, such as RealSense's own, where the camera is taken to stand still."""


class BagSource(RecordSource):
    """Frames of a bag, by the stamps of the colour images."""

    def __init__(self, path: str | Path, options: SourceOptions | None = None) -> None:
        super().__init__(str(path), options)
        self._bag = Container(Path(path))
        try:
            self._index = BagIndex(self._bag, self.options)
        except SourceError:
            self._bag.close()
            raise
        self._start()

    def length(self) -> int:
        """How many colour images there are."""
        return len(self._index.color_stamps)

    def stamps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The stamps of colour and depth, sorted."""
        return np.sort(self._index.color_stamps), np.sort(self._index.depth_stamps)

    def trajectory(self) -> Trajectory | None:
        """The camera's pose at every sample of tf or of the pose topic."""
        return self._index.poses(self.options).trajectory()

    def detector(self) -> Detector | None:
        """The recorded detections, where there are any."""
        topics = self._index.topics
        if not (topics.detections or topics.detections_text):
            return None
        return RecordedDetections(self._index.detections, self.options, undistort=self._undistort_box)

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Yield raw records in the order of the colour stamps; ``wanted`` counts colour images as recorded."""
        self._start()
        poses = self._index.poses(self.options)
        still = self.options.poses == "recorded" and not poses.moves()
        corrections = Corrections(poses)
        stamps: list[float] = []
        for pair in self._pairs(wanted):
            if still and len(stamps) == 1:
                # of a single image nothing is to be said
                self.intake.note(STANDS_STILL)
            record = self._record(pair, poses, corrections)
            if record is not None:
                stamps.append(record.stamp)
                yield record
        if self.intake.cut_off and wanted is None:
            # the last images may have lost their depth or pose behind the cut
            self.intake.cut_off = _cut_off_line(stamps)

    def close(self) -> None:
        """Release the files."""
        self._bag.close()

    def _start(self) -> None:
        self.intake = copy.deepcopy(self._index.intake)
        self._cameras = self._index.cameras(self.options, self.intake)

    def _undistort_box(self, box: Box, size: tuple[int, int]) -> Box | None:
        # detections written by us are of undistorted images, and their CameraInfo says so
        return self._cameras.undistort_box(box, size, self.intake)

    def _pairs(self, wanted: Callable[[int], bool] | None) -> Iterator[Pair[Raw]]:
        topics = self._index.topics
        pairs: Pairs[Raw] = Pairs(self.options, self.intake, max_bytes=MAX_WAITING_BYTES)
        number = -1
        try:
            for raw in self._bag.messages({topics.color.name, topics.depth.name}):
                stamp = (self._bag.header_stamp(raw) or raw.log_time) / 1e9
                if raw.topic == topics.depth.name:
                    yield from pairs.depth(stamp, raw, len(raw.data))
                    continue
                number += 1
                if wanted is None or wanted(number):
                    yield from pairs.color(stamp, raw, len(raw.data))
        except SourceError as error:
            self.intake.skip(BREAKS_OFF, str(error))
        yield from pairs.end()

    def _record(self, pair: Pair[Raw], poses: CameraPoses, corrections: Corrections) -> RawRecord | None:
        stamp, limit = pair.color.stamp, self.options.max_pixels
        pose = Pose3D.identity() if self.options.poses == "odometry" else poses.at(stamp)
        if pose is None:
            self.intake.skip(NO_POSE, f"stamp {stamp:.6f}")
            return None
        if not self._is_wanted(stamp, pose.translation, pose.quaternion):
            return None
        try:
            rgb = messages.color_image(self._bag.decode(pair.color.item), name="color", max_pixels=limit)
            depth, raw_per_metre = messages.depth_image(
                self._bag.decode(pair.depth.item), name="depth", max_pixels=limit
            )
            if depth.dtype.kind == "u":
                raw_per_metre = self._index.raw_per_metre or raw_per_metre
            record = self._cameras.record(pair, rgb, depth, raw_per_metre, pose=pose)
        except InvalidValue as error:
            self.intake.skip(f"unreadable {error.field.split()[0]}", str(error))
            return None
        return dataclasses.replace(record, revised=corrections.advance(stamp))


class BagIndex:
    """The first reading of a bag: its topics, and everything about them that is not an image."""

    def __init__(self, bag: Container, options: SourceOptions) -> None:
        self._bag, self._options = bag, options
        self.topics = choose(_topics(bag), options)
        self.tree = TransformTree(odom_frame=options.odom_frame)
        self.camera_frame = self.topics.color.frame
        self.color_stamps: list[float] = []
        self.depth_stamps: list[float] = []
        self.detections: list[tuple[float, StoredDetection]] = []
        self.intake = Intake()
        self._infos: dict[str, Any] = {}
        self._extrinsics: dict[str, Pose3D] = {}
        """Poses of streams in the reference stream, in RealSense's own bags."""
        self.raw_per_metre: float | None = None
        """Values of integer depth per metre, where the recording says so."""
        self._pose_link: Link | None = None
        self._read()
        self._settle_links()
        self._check_frames()

    def poses(self, options: SourceOptions) -> CameraPoses:
        """The camera's poses, read with these options."""
        return CameraPoses(self.tree, self.camera_frame, options)

    def cameras(self, options: SourceOptions, intake: Intake) -> CameraPair:
        """The two cameras as one; what cannot be put right about them is noted in ``intake``."""
        T_color_depth = None
        topics, color, depth = self.topics, self.camera_frame, self.topics.depth.frame
        own = [self._extrinsics.get(_stream(topic.name)) for topic in (topics.color, topics.depth)]
        if own[0] is not None and own[1] is not None:
            T_color_depth = own[0].inverse() @ own[1]
        elif depth and depth != color and self.color_stamps:
            color = color_frame_in(self.tree, color, options)
            # tf may begin later than the images, so stamps spread over the recording are tried
            stamps = sorted(self.color_stamps)
            found = (
                self.tree.between_frames(color, depth, stamp + options.pose_delay, max_gap=options.max_pose_gap)
                for stamp in stamps[:: -(-len(stamps) // PLACE_TRIES)]
            )
            T_color_depth = next((one for one in found if one is not None), None)
            if T_color_depth is None:
                intake.note(UNPLACED_DEPTH.format(depth=depth, color=color))
        return CameraPair(
            self._infos.get(topics.color_info),
            self._infos.get(topics.depth_info),
            names=(topics.color.name, topics.depth.name),
            options=options,
            intake=intake,
            T_color_depth=T_color_depth,
        )

    def _read(self) -> None:
        for name in self._bag.left_out:
            self.intake.note(f"{name} cannot be read, and is left out")
        topics = self.topics
        named = {topics.color.name, topics.depth.name, topics.color_info, topics.depth_info, topics.pose}
        tf = {name for name, (kind, _) in self._bag.topics().items() if kind in {TF, TRANSFORM}}
        units = {
            name
            for name, (kind, _) in self._bag.topics().items()
            if name == f"{_sensor(topics.depth.name)}{DEPTH_UNITS}" and kind in messages.VALUES
        }
        try:
            for raw in self._bag.messages({*named, *tf, *units, topics.detections_text or topics.detections} - {""}):
                self._add(raw)
        except SourceError as error:
            if not self.color_stamps:
                raise
            self.intake.skip(BREAKS_OFF, str(error))
        if self._bag.cut_off or self.intake.skipped[BREAKS_OFF]:
            self.intake.cut_off = _cut_off_line(self.color_stamps)
        for stamps in (self.color_stamps, self.depth_stamps):
            self.intake.out_of_order += sum(later < earlier for earlier, later in pairwise(stamps))

    def _add(self, raw: Raw) -> None:
        """Keep what a message says; one that cannot be read is counted."""
        topics = self.topics
        if raw.topic in {topics.color.name, topics.depth.name}:
            stamp = self._bag.header_stamp(raw)
            if stamp == 0 and raw.log_time != 0:
                self.intake.note(f"{raw.topic} has no stamps: the time of recording stands in for them")
            stamps = self.color_stamps if raw.topic == topics.color.name else self.depth_stamps
            if len(stamps) >= MAX_IMAGES:
                raise SourceError(raw.topic, f"{len(stamps)} images", "are too many", remedy="split the recording")
            stamps.append((stamp or raw.log_time) / 1e9)
            return
        if raw.topic in self._infos:
            return
        try:
            message = self._bag.decode(raw)
            if raw.type == CAMERA_INFO:
                self._infos[raw.topic] = message
            elif raw.type == TRANSFORM:
                self._extrinsics[_stream(raw.topic)] = messages.pose(message.translation, message.rotation)
            elif raw.type == TF:
                self.tree.add_message(message, topic=raw.topic, skip=self.intake.skip)
            elif raw.topic.endswith(DEPTH_UNITS):
                self.raw_per_metre = messages.per_metre(message.data, raw.topic)
            elif raw.topic == topics.detections_text:
                self.detections += rows_of_line(message.data, raw.topic)
            else:
                seconds = (messages.nanoseconds(message.header) or raw.log_time) / 1e9
                if raw.topic == topics.pose:
                    self._add_pose(message, raw.topic, seconds)
                else:
                    self.detections += [(seconds, StoredDetection(one)) for one in messages.detections(message)]
        except InvalidValue as error:
            self.intake.skip(f"unreadable message on {raw.topic}", str(error))
        if len(self.detections) > MAX_DETECTIONS:
            raise SourceError(
                raw.topic, len(self.detections), "detections are too many", remedy="split the recording"
            )

    def _add_pose(self, message: Any, topic: str, stamp: float) -> None:
        parent, child = pose_frames(message, self._options, camera=self.camera_frame)
        try:
            pose = messages.pose_of(message)
        except InvalidValue as error:
            self.intake.skip(f"NaN or no pose on {topic}", f"stamp {stamp:.6f}: {error}")
            return
        if self._pose_link is None or (self._pose_link.parent, self._pose_link.child) != (parent, child):
            self._pose_link = Link(parent, child)
        self._pose_link.add(stamp, pose)

    def _settle_links(self) -> None:
        """Decide what needs the whole recording: links that never move, and whether the pose topic is used."""
        for link in self.tree.links.values():
            # one that has a single sample holds for the whole recording
            if len(link.stamps) == 1 and not self.tree.is_step(link):
                link.static = True
        if self._pose_link is not None and (self._options.pose_topic or not self.poses(self._options).moves()):
            self.tree.override(self._pose_link)

    def _check_frames(self) -> None:
        """Refuse a frame that was named and is not there, before every image is left out for want of a pose."""
        options, tree = self._options, self.tree
        camera = options.camera_frame or self.camera_frame
        remedy = f"tf has: {tree.frame_list()}"
        if options.camera_frame and camera not in tree.frames():
            raise SourceError("camera_frame", camera, "is no frame of tf", remedy=remedy)
        if options.world_frame and tree.chain(options.world_frame, camera) is None:
            raise SourceError("world_frame", options.world_frame, f"is not above {camera} in tf", remedy=remedy)


def _topics(bag: Container) -> Iterator[Topic]:
    """Every topic; of images and camera infos the first message says what they hold."""
    found = bag.topics()
    peek = {name for name, (kind, count) in found.items() if kind in {*IMAGES, CAMERA_INFO} and count > 0}
    first: dict[str, Any] = {}
    for raw in bag.messages(peek):
        if raw.topic not in first:
            try:
                first[raw.topic] = bag.decode(raw)
            except SourceError:
                # whatever the first one is, the others may be whole: a named topic is tried all the same
                first[raw.topic] = None
        if len(first) == len(peek):
            break
    for name, (kind, count) in found.items():
        message = first.get(name)
        frame = "" if message is None else frame_name(message.header.frame_id)
        depth = messages.holds_depth(message) if message is not None and kind in IMAGES else None
        yield Topic(name, kind, count, depth, frame)


def _stream(topic: str) -> str:
    """The stream of a topic of RealSense's own bags: ``/device_0/sensor_1/Color_0`` of ``.../image/data``."""
    return "/".join(topic.split("/")[:4])


def _sensor(topic: str) -> str:
    """The sensor of a topic of RealSense's own bags: ``/device_0/sensor_0`` of ``.../Depth_0/image/data``."""
    return "/".join(topic.split("/")[:3])


def _cut_off_line(stamps: list[float]) -> str:
    """The line about a recording that breaks off."""
    until = f" (t = {max(stamps):.3f} s, {max(stamps) - min(stamps):.1f} s after the first)" if stamps else ""
    return f"the recording was cut off after {len(stamps)} frames{until}"
