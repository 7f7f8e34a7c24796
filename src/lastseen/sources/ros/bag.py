"""A recording in ROS messages: ROS 1 bag, ROS 2 folder with sqlite3 or MCAP, or a bare .mcap.

It is read twice: once for everything small (tf, poses, camera infos, detections, the stamps of images), then for the
images. So every image finds its pose, however late tf was recorded, and memory holds a few images at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, SourceError
from lastseen.protocols import Detector
from lastseen.sources.base import RecordSource
from lastseen.sources.conversion import Box
from lastseen.sources.detections import RecordedDetections
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import BEYOND_LENS, NO_POSE, RawRecord, Trajectory
from lastseen.sources.ros import decode
from lastseen.sources.ros.container import Container, Raw
from lastseen.sources.ros.index import BagIndex, cut_off_line, read_index
from lastseen.sources.ros.pairs import Pair, Pairs
from lastseen.sources.ros.poses import CameraPoses, Corrections

MAX_WAITING_BYTES = 256 * 2**20
"""Bytes of images that wait for their partner at most."""


class BagSource(RecordSource):
    """Frames of a bag, by the stamps of the colour images."""

    def __init__(self, path: str | Path, options: SourceOptions | None = None) -> None:
        super().__init__(str(path), options)
        self._bag = Container(Path(path))
        try:
            self._index = read_index(self._bag, self.options)
        except SourceError:
            self._bag.close()
            raise
        self.intake = copy.deepcopy(self._index.intake)
        self._cameras = self._index.cameras(self.options, self.intake)

    @property
    def index(self) -> BagIndex:
        """What the first reading found: topics, frames, cameras."""
        return self._index

    def length(self) -> int:
        """How many colour images there are."""
        return len(self._index.color_stamps)

    def stamps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The stamps of colour and depth, sorted."""
        return np.sort(self._index.color_stamps), np.sort(self._index.depth_stamps)

    def trajectory(self) -> Trajectory | None:
        """The camera's pose at every sample of tf or of the pose topic."""
        return self._poses().trajectory()

    def detector(self) -> Detector | None:
        """The recorded detections, where there are any."""
        topics = self._index.topics
        if not (topics.detections or topics.detections_text):
            return None
        return RecordedDetections(self._index.detections, self.options, straight=self._straight_box)

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Yield raw records in the order of the colour stamps; ``wanted`` counts colour images as recorded."""
        self.intake = copy.deepcopy(self._index.intake)
        self._cameras = self._index.cameras(self.options, self.intake)
        poses = self._poses()
        corrections = Corrections(poses)
        stamps: list[float] = []
        for pair in self._pairs(wanted):
            record = self._record(pair, poses, corrections)
            if record is not None:
                stamps.append(record.stamp)
                yield record
        if self.intake.cut_off and wanted is None:
            # the last images may have lost their depth or pose behind the cut
            self.intake.cut_off = cut_off_line(stamps)

    def close(self) -> None:
        """Release the files."""
        self._bag.close()

    def _straight_box(self, box: Box, size: tuple[int, int]) -> Box | None:
        # detections written by us are of images that were straight already, and their CameraInfo says so
        found = self._cameras.straight_box(box, size)
        if found is None:
            self.intake.skip(BEYOND_LENS, f"box {box}")
        return found

    def _poses(self) -> CameraPoses:
        return CameraPoses(self._index.tree, self._index.camera_frame, self.options)

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
            self.intake.skip("bag breaks off", str(error))
        yield from pairs.end()

    def _record(self, pair: Pair[Raw], poses: CameraPoses, corrections: Corrections) -> RawRecord | None:
        stamp, limit = pair.color.stamp, self.options.max_pixels
        pose = poses.at(stamp)
        if pose is None:
            self.intake.skip(NO_POSE, f"stamp {stamp:.6f}")
            return None
        try:
            color = self._bag.decode(pair.color.item)
            rgb = decode.color_image(color, name="color", max_pixels=limit)
            depth, raw_per_metre = decode.depth_image(
                self._bag.decode(pair.depth.item), name="depth", max_pixels=limit
            )
            view = self._cameras.view(rgb, depth, raw_per_metre)
        except InvalidValue as error:
            self.intake.skip(f"unreadable {error.field.split()[0]}", str(error))
            return None
        return RawRecord(
            stamp=stamp,
            rgb=view.rgb,
            depth=view.depth,
            raw_per_metre=raw_per_metre,
            translation=pose.translation,
            quaternion=pose.quaternion,
            intrinsics=view.camera,
            depth_intrinsics=view.depth_camera,
            depth_stamp=pair.depth.stamp + self.options.depth_delay,
            pose_stamp=stamp,
            revised=corrections.advance(stamp),
        )
