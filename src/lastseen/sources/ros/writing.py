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

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.images import encoded
from lastseen.sources.base import REMEMBERED, RecordSource
from lastseen.sources.detections import tree_of_detection
from lastseen.sources.ros.messages import (
    CAMERA_INFO,
    COMPRESSED,
    DEPTH_HEADER,
    DETECTIONS,
    IMAGE,
    TEXT,
    TF,
    made,
    require_rosbags,
    ros2_types,
)
from lastseen.sources.ros.topics import DETECTIONS_TEXT

COLOR_FORMATS = ("raw", "png", "jpeg")
DEPTH_FORMATS = ("32FC1", "16UC1", "png")
WORLD_FRAME, CAMERA_FRAME = "map", "camera_color_optical_frame"
MILLIMETRES = 1000.0


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
        color = color_message(frame.rgb, self._color, stamp=stamp)
        self._put(f"/camera/color/image_raw{'' if self._color == 'raw' else '/compressed'}", stamp, color)
        self._put("/camera/color/camera_info", stamp, camera_info(frame.intrinsics, stamp=stamp))
        depth = depth_message(frame.depth, self._depth, stamp=stamp)
        self._put(f"/camera/depth/image_raw{'/compressedDepth' if self._depth == 'png' else ''}", stamp, depth)
        self._put("/camera/depth/camera_info", stamp, camera_info(frame.camera_of_depth, stamp=stamp))
        self.write_pose(stamp, frame.T_world_camera, now=stamp)
        if detections is not None:
            self._put("/detections", stamp, boxes(detections, stamp=stamp))
            line = {"stamp": stamp, "detections": [tree_of_detection(one) for one in detections]}
            self._put(DETECTIONS_TEXT, stamp, made(TEXT, {"data": json.dumps(line)}))
        self.frames += 1

    def write_pose(self, stamp: float, pose: Pose3D, *, now: float) -> None:
        """Append the pose at ``stamp``, recorded at ``now``; it replaces an earlier pose of that stamp."""
        self._put("/tf", now, transform(pose, stamp=stamp))

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

    def _put(self, topic: str, stamp: float, message: Any) -> None:
        kind = message.__msgtype__
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=ros2_types())
        data = ros2_types().serialize_cdr(message, kind)
        self._writer.write(self._connections[topic], to_nanoseconds(stamp), data)

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

    ``progress`` is called with the count after each frame. Poses that the source revises replace earlier ones.
    """
    detector = source.detector()
    stamps: dict[int, float] = {}
    with McapRecorder(out, color=color, depth=depth) as recorder:
        for frame in source.frames():
            updates = source.updates()
            if updates.map_id is not None and stamps:
                source.intake.note(f"recorded up to stamp {max(stamps.values()):.3f}, in one map")
                break
            if updates.restarted and stamps:
                raise InvalidValue(
                    "stamp", frame.stamp, "starts anew in the middle", remedy="record each run into its own file"
                )
            for number, pose in sorted(updates.poses.items()):
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


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidValue(name, value, "is not a format", remedy=f"choose from {', '.join(choices)}")


def to_nanoseconds(stamp: float) -> int:
    """A stamp as ROS keeps it; raises where its 32 bits of seconds do not hold it."""
    whole = round(stamp * 1e9)
    if not 0 <= whole < 2**31 * 10**9:
        raise InvalidValue("stamp", stamp, "does not fit a ROS stamp", remedy="use seconds from 0 to 2^31")
    return whole


def _header(stamp: float, frame: str = CAMERA_FRAME) -> dict[str, Any]:
    seconds, rest = divmod(to_nanoseconds(stamp), 10**9)
    return {"stamp": {"sec": seconds, "nanosec": rest}, "frame_id": frame}


def image(pixels: NDArray[Any], encoding: str, *, stamp: float) -> Any:
    """An Image with these pixels as they are."""
    height, width = pixels.shape[:2]
    flat = np.ascontiguousarray(pixels).view(np.uint8).reshape(-1)
    lies = {"height": height, "width": width, "encoding": encoding, "step": flat.size // height}
    return made(IMAGE, {"header": _header(stamp), **lies, "data": flat})


def _compressed(data: bytes, how: str, *, stamp: float) -> Any:
    return made(COMPRESSED, {"header": _header(stamp), "format": how, "data": np.frombuffer(data, dtype=np.uint8)})


def color_message(rgb: NDArray[np.uint8], how: str, *, stamp: float) -> Any:
    """An Image or CompressedImage of colour: ``raw`` and ``png`` keep every pixel, ``jpeg`` is small."""
    if how == "raw":
        return image(rgb, "rgb8", stamp=stamp)
    return _compressed(_file(rgb, how), f"rgb8; {how} compressed bgr8", stamp=stamp)


def depth_message(metres: NDArray[np.float32], how: str, *, stamp: float) -> Any:
    """An Image or CompressedImage of depth: ``32FC1`` keeps every value, ``16UC1`` and ``png`` millimetres."""
    if how == "32FC1":
        return image(metres, "32FC1", stamp=stamp)
    scaled = np.nan_to_num(np.round(metres * np.float32(MILLIMETRES)), nan=0.0)
    # what 16 bits do not reach was not measured: 0
    raw = np.where(scaled <= np.iinfo(np.uint16).max, scaled, 0).astype(np.uint16)
    if how == "16UC1":
        return image(raw, "16UC1", stamp=stamp)
    data = DEPTH_HEADER.pack(0, 0.0, 0.0) + _file(raw, "png")
    return _compressed(data, "16UC1; compressedDepth png", stamp=stamp)


def camera_info(camera: Intrinsics, *, stamp: float) -> Any:
    """A CameraInfo of a pinhole without distortion."""
    k = [camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0]
    p = [camera.fx, 0.0, camera.cx, 0.0, 0.0, camera.fy, camera.cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    size = {"height": camera.height, "width": camera.width}
    lens = {"distortion_model": "plumb_bob", "k": k, "r": np.eye(3).ravel(), "p": p}
    return made(CAMERA_INFO, {"header": _header(stamp), **size, **lens})


def transform(pose: Pose3D, *, stamp: float, parent: str = WORLD_FRAME, child: str = CAMERA_FRAME) -> Any:
    """A TFMessage with one transform, T_parent_child."""
    motion = {"translation": _axes(pose.translation), "rotation": _axes(pose.quaternion)}
    one = {"header": _header(stamp, parent), "child_frame_id": child, "transform": motion}
    return made(TF, {"transforms": [one]})


def boxes(found: Sequence[Detection], *, stamp: float) -> Any:
    """A Detection2DArray with every label of every detection; masks have no place in it."""
    header = _header(stamp)
    nowhere = {"pose": {"orientation": _axes(Pose3D.identity().quaternion)}}
    trees = []
    for one in found:
        left, top, right, bottom = (float(value) for value in one.box)
        center = {"position": {"x": (left + right) / 2, "y": (top + bottom) / 2}}
        ranked = sorted(one.labels.items(), key=lambda item: (-item[1], item[0]))
        results = [{"hypothesis": {"class_id": label, "score": score}, "pose": nowhere} for label, score in ranked]
        box = {"center": center, "size_x": right - left, "size_y": bottom - top}
        trees.append({"header": header, "results": results, "bbox": box})
    return made(DETECTIONS, {"header": header, "detections": trees})


def _axes(values: NDArray[np.float64]) -> dict[str, float]:
    """x, y, z and, of a quaternion, w."""
    return dict(zip("xyzw", values.tolist(), strict=False))


def _file(pixels: NDArray[Any], how: str) -> bytes:
    return encoded(pixels, how, **({"compress_level": 1} if how == "png" else {"quality": 90}))
