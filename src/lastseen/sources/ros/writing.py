"""Any source as an MCAP file that ROS 2 tools and ``open_source`` read: what ``lastseen record`` does.

Frames are written in our conventions, so that the file needs no options, and it is there whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.sources.base import REMEMBERED, RecordSource
from lastseen.sources.detections import tree_of_detection
from lastseen.sources.ros import encode
from lastseen.sources.ros.topics import DETECTIONS_TEXT
from lastseen.sources.ros.types import CAMERA_INFO, COMPRESSED, DETECTIONS, TEXT, TF, require_rosbags, ros2_types

COLOR_FORMATS = ("raw", "png", "jpeg")
DEPTH_FORMATS = ("32FC1", "16UC1", "png")
CAMERA = "/camera"
BOXES = "/detections"


class McapRecorder:
    """Writes frames to a new MCAP file; ``close`` puts it in its place."""

    def __init__(self, out: str | Path, *, color: str = "raw", depth: str = "32FC1") -> None:
        require_rosbags("writing MCAP")
        from rosbags.rosbag2 import StoragePlugin, Writer

        _check("color", color, COLOR_FORMATS)
        _check("depth", depth, DEPTH_FORMATS)
        self.out = Path(out)
        if self.out.suffix != ".mcap":
            raise InvalidValue("OUT", str(out), "is no .mcap name", remedy=f"for example {self.out.stem}.mcap")
        if self.out.exists():
            raise InvalidValue("OUT", str(out), "exists already", remedy="name a new file, or delete it first")
        if not self.out.parent.is_dir():
            raise InvalidValue("OUT", str(out), "is in no folder that exists", remedy="make the folder first")
        self._color, self._depth = color, depth
        # rosbags makes a folder with the file and its metadata; only the file is kept
        self._part = self.out.with_name(f".{self.out.stem}.part")
        shutil.rmtree(self._part, ignore_errors=True)
        self._writer = Writer(self._part, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        self._connections: dict[str, Any] = {}
        self._closed = False
        self.frames = 0

    def write(self, frame: Frame, detections: Sequence[Detection] | None = None) -> None:
        """Append a frame, and what was detected in it where something looked."""
        stamp = frame.stamp
        kind, color = encode.color_message(frame.rgb, self._color, stamp=stamp)
        self._put(f"{CAMERA}/color/image_raw{_suffix(kind)}", kind, stamp, color)
        self._put(
            f"{CAMERA}/color/camera_info", CAMERA_INFO, stamp, encode.camera_info(frame.intrinsics, stamp=stamp)
        )
        kind, depth = encode.depth_message(frame.depth, self._depth, stamp=stamp)
        self._put(f"{CAMERA}/depth/image_raw{_suffix(kind, depth=True)}", kind, stamp, depth)
        own = encode.camera_info(frame.camera_of_depth, stamp=stamp)
        self._put(f"{CAMERA}/depth/camera_info", CAMERA_INFO, stamp, own)
        self.write_pose(stamp, frame.T_world_camera, now=stamp)
        if detections is not None:
            self._put(BOXES, DETECTIONS, stamp, encode.boxes(detections, stamp=stamp))
            line = {"stamp": stamp, "detections": [tree_of_detection(one) for one in detections]}
            self._put(DETECTIONS_TEXT, TEXT, stamp, encode.text(json.dumps(line)))
        self.frames += 1

    def write_pose(self, stamp: float, pose: Pose3D, *, now: float) -> None:
        """Append the pose of a moment; one for an earlier moment replaces what was written for it."""
        self._put("/tf", TF, now, encode.transform(pose, stamp=stamp))

    def close(self) -> None:
        """Finish the file and put it in its place; may be called twice."""
        if self._closed:
            return
        self._closed = True
        try:
            self._writer.close()
            os.replace(self._part / f"{self._part.name}.mcap", self.out)
        finally:
            shutil.rmtree(self._part, ignore_errors=True)

    def abort(self) -> None:
        """Leave nothing behind."""
        if not self._closed:
            self._closed = True
            self._writer.abort()
            shutil.rmtree(self._part, ignore_errors=True)

    def _put(self, topic: str, kind: str, stamp: float, message: Any) -> None:
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=ros2_types())
        data = ros2_types().serialize_cdr(message, kind)
        self._writer.write(self._connections[topic], encode.to_nanoseconds(stamp), data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Ctrl-C is how a live recording ends: what was seen is kept
        if self.frames and (kind is None or issubclass(kind, KeyboardInterrupt)):
            self.close()
        else:
            self.abort()


def record(
    source: RecordSource,
    out: str | Path,
    *,
    color: str = "raw",
    depth: str = "32FC1",
    max_frames: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write a source to an MCAP file; returns the number of frames. A source without frames leaves no file.

    ``progress`` hears of each frame. Poses that the source revises on the way replace those written before.
    """
    detector = source.detector()
    stamps: dict[int, float] = {}
    with McapRecorder(out, color=color, depth=depth) as recorder:
        for frame in source.frames():
            news = source.news()
            if news.restarted:
                raise InvalidValue(
                    "stamp", frame.stamp, "starts anew in the middle", remedy="record each run into its own file"
                )
            for number, pose in sorted(news.poses.items()):
                recorder.write_pose(stamps[number], pose, now=frame.stamp)
            stamps[frame.id] = frame.stamp
            stamps.pop(frame.id - REMEMBERED, None)
            recorder.write(frame, None if detector is None else detector.detect(frame))
            if progress is not None:
                progress(recorder.frames)
            if max_frames is not None and recorder.frames >= max_frames:
                break
        written = recorder.frames
    if not written:
        reasons = "; ".join(source.intake.lines()) or "the source gave nothing"
        raise InvalidValue("source", source.address, f"has no readable frame ({reasons})", remedy="run the doctor")
    return written


def _suffix(kind: str, *, depth: bool = False) -> str:
    if kind != COMPRESSED:
        return ""
    return "/compressedDepth" if depth else "/compressed"


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidValue(name, value, "is not a format", remedy=f"choose from {', '.join(choices)}")
