"""A memory in rerun: a ``.rrd`` file, or a viewer that runs on this machine (``rerun``)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.bridges.bridge import (
    COLORS,
    JPEG_QUALITY,
    PATH_COLOR,
    PER_METRE,
    ROOM_COLOR,
    SEEN_COLOR,
    Bridge,
    millimetres,
    words,
)
from lastseen.detection import Box
from lastseen.errors import needs_extra
from lastseen.frame import Frame
from lastseen.memory.object import Object
from lastseen.memory.rooms import Room

VIEWER = "rerun+http://127.0.0.1:9876/proxy"
"""Where a viewer that was started with ``rerun`` listens."""
UNIX = 1e8
"""Seconds: a stamp beyond it is a date, one before it the time since some start."""


class RerunBridge(Bridge):
    """Logs to rerun: ``world/camera``, ``world/objects/ID``, ``world/path``, ``world/rooms`` and ``belief``."""

    def __init__(self, file: Path | None) -> None:
        super().__init__()
        with needs_extra("--rerun", extra="rerun"):
            import rerun
        self._rerun = rerun
        self._recording = rerun.RecordingStream("lastseen")
        if file is None:
            self._recording.connect_grpc(VIEWER)
        else:
            self._recording.save(file)
        self._log("world", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)

    def _begin(self, stamp: float) -> None:
        if stamp > UNIX:
            self._recording.set_time("time", timestamp=stamp)
        else:
            self._recording.set_time("time", duration=stamp)

    def _show_camera(self, frame: Frame, boxes: Sequence[tuple[Box, str]]) -> None:
        rerun, pose = self._rerun, frame.T_world_camera
        self._log(
            "world/camera",
            rerun.Transform3D(translation=pose.translation, quaternion=rerun.Quaternion(xyzw=pose.quaternion)),
        )
        for name, one in (("color", frame.intrinsics), ("depth", frame.camera_of_depth)):
            pinhole = rerun.Pinhole(
                focal_length=[one.fx, one.fy],
                principal_point=[one.cx, one.cy],
                width=one.width,
                height=one.height,
                image_plane_distance=0.4,
            )
            self._log(f"world/camera/{name}", pinhole)
        self._log("world/camera/color/image", rerun.Image(frame.rgb).compress(jpeg_quality=JPEG_QUALITY))
        self._log("world/camera/depth/image", rerun.DepthImage(millimetres(frame), meter=PER_METRE))
        found = rerun.Boxes2D(
            array=np.array([box for box, _ in boxes]).reshape(-1, 4),
            array_format=rerun.Box2DFormat.XYXY,
            labels=[label for _, label in boxes],
            colors=[SEEN_COLOR] * len(boxes),
        )
        self._log("world/camera/color/detections", found)

    def _show_objects(self, changed: Sequence[Object], gone: Sequence[str]) -> None:
        for one in changed:
            box = self._rerun.Boxes3D(
                centers=[one.position],
                sizes=[one.extent or (0.05, 0.05, 0.05)],
                quaternions=[(0.0, 0.0, math.sin(one.yaw / 2), math.cos(one.yaw / 2))],
                colors=[COLORS.get(one.state, COLORS["stale"])],
                labels=[words(one)],
            )
            self._log(f"world/objects/{one.id}", box)
        for object_id in gone:
            # without it the thing would stand there to the end of the timeline
            self._log(f"world/objects/{object_id}", self._rerun.Clear(recursive=True))

    def _show_rooms(self, rooms: Sequence[Room]) -> None:
        outlines = [
            np.column_stack([(*room.outline, room.outline[0]), np.zeros(len(room.outline) + 1)]) for room in rooms
        ]
        names = [room.name for room in rooms]
        self._log("world/rooms", self._rerun.LineStrips3D(outlines, colors=[ROOM_COLOR], labels=names))

    def _show_path(self, points: NDArray[np.float32]) -> None:
        self._log("world/path", self._rerun.LineStrips3D([points], colors=[PATH_COLOR]))

    def _show_belief(self, belief: Mapping[str, Any]) -> None:
        text = f"```json\n{json.dumps(belief, indent=2, default=str)}\n```"
        self._log("belief", self._rerun.TextDocument(text, media_type="text/markdown"))

    def _finish(self) -> None:
        self._recording.flush()
        self._recording.disconnect()

    def _log(self, path: str, what: Any, *, static: bool = False) -> None:
        self._recording.log(path, what, static=static)
