"""A memory in rerun: a ``.rrd`` file, or a viewer that runs on this machine (``rerun``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.bridges.bridge import (
    COLORS,
    PATH_COLOR,
    ROOM_COLOR,
    SEEN_COLOR,
    UNIX,
    ChangeTracker,
    image_box,
    path_points,
    words,
)
from lastseen.errors import MissingExtra
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.observation import Observation

VIEWER = "rerun+http://127.0.0.1:9876/proxy"
"""Where a viewer that was started with ``rerun`` listens."""
_QUALITY = 80
_DEPTH_PER_METRE = 1000.0


class RerunBridge:
    """Logs to rerun: ``world/camera``, ``world/objects/ID``, ``world/path``, ``world/rooms`` and ``belief``."""

    def __init__(self, file: Path | None) -> None:
        try:
            import rerun
        except ImportError as error:
            raise MissingExtra("--rerun", extra="rerun") from error
        self._rerun = rerun
        self._recording = rerun.RecordingStream("lastseen")
        if file is None:
            self._recording.connect_grpc(VIEWER)
        else:
            self._recording.save(file)
        self._log("world", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        self._changes = ChangeTracker()
        self._path = 0
        self._closed = False

    def show(
        self,
        frame: Frame,
        memory: Memory,
        *,
        seen: Sequence[Observation] = (),
        belief: Mapping[str, Any] | None = None,
    ) -> None:
        """Log a frame and what became of the memory with it."""
        self._set_time(frame.stamp)
        if frame.has_camera:
            self._show_camera(frame, seen)
        rerun, changes = self._rerun, self._changes.update(memory)
        for one in changes.objects:
            box = rerun.Boxes3D(
                centers=[one.position],
                sizes=[one.extent or (0.05, 0.05, 0.05)],
                colors=[COLORS.get(one.state, COLORS["stale"])],
                labels=[words(one)],
            )
            self._log(f"world/objects/{one.id}", box)
        for object_id in changes.gone:
            # without it the thing would stand there to the end of the timeline
            self._log(f"world/objects/{object_id}", rerun.Clear(recursive=True))
        if changes.rooms is not None:
            outlines = [
                np.column_stack([(*room.outline, room.outline[0]), np.zeros(len(room.outline) + 1)])
                for room in changes.rooms
                if room.outline
            ]
            names = [room.name for room in changes.rooms if room.outline]
            self._log("world/rooms", rerun.LineStrips3D(outlines, colors=[ROOM_COLOR], labels=names))
        points = path_points(memory)
        if len(points) > max(1, self._path):
            self._path = len(points)
            self._log("world/path", rerun.LineStrips3D([points], colors=[PATH_COLOR]))
        if belief is not None:
            text = f"```json\n{json.dumps(belief, indent=2, default=str)}\n```"
            self._log("belief", rerun.TextDocument(text, media_type="text/markdown"))

    def close(self) -> None:
        """Write what is not yet written."""
        if not self._closed:
            self._closed = True
            self._recording.flush()
            self._recording.disconnect()

    def _show_camera(self, frame: Frame, seen: Sequence[Observation]) -> None:
        rerun, camera = self._rerun, frame.intrinsics
        pose = frame.T_world_camera
        self._log(
            "world/camera",
            rerun.Transform3D(translation=pose.translation, quaternion=rerun.Quaternion(xyzw=pose.quaternion)),
        )
        for name, one in (("color", camera), ("depth", frame.camera_of_depth)):
            pinhole = rerun.Pinhole(
                focal_length=[one.fx, one.fy],
                principal_point=[one.cx, one.cy],
                width=one.width,
                height=one.height,
                image_plane_distance=0.4,
            )
            self._log(f"world/camera/{name}", pinhole)
        self._log("world/camera/color/image", rerun.Image(frame.rgb).compress(jpeg_quality=_QUALITY))
        millimetres = np.nan_to_num(frame.depth * np.float32(_DEPTH_PER_METRE)).clip(0, 65535).astype(np.uint16)
        self._log("world/camera/depth/image", rerun.DepthImage(millimetres, meter=_DEPTH_PER_METRE))
        found = [(box, one.label or "thing") for one in seen if (box := image_box(one, frame)) is not None]
        boxes = rerun.Boxes2D(
            array=np.array([box for box, _ in found]).reshape(-1, 4),
            array_format=rerun.Box2DFormat.XYXY,
            labels=[label for _, label in found],
            colors=[SEEN_COLOR] * len(found),
        )
        self._log("world/camera/color/detections", boxes)

    def _set_time(self, stamp: float) -> None:
        if stamp > UNIX:
            self._recording.set_time("time", timestamp=stamp)
        else:
            self._recording.set_time("time", duration=stamp)

    def _log(self, path: str, what: Any, *, static: bool = False) -> None:
        self._recording.log(path, what, static=static)
