"""A memory in Foxglove: an MCAP with its own messages, or a server on this machine that the app connects to."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lastseen.bridges.bridge import (
    COLORS,
    PATH_COLOR,
    ROOM_COLOR,
    SEEN_COLOR,
    ChangeTracker,
    image_box,
    path_points,
    words,
)
from lastseen.errors import MissingExtra
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.observation import Observation

WORLD, CAMERA = "map", "camera_color_optical_frame"
HOST, PORT = "127.0.0.1", 8765
"""The server is for this machine alone; 8765 is where the app looks by itself."""
_QUALITY = 80
_LETTER = 0.12
_log = logging.getLogger(__name__)


class FoxgloveBridge:
    """Publishes /camera/color, /camera/depth, /camera/detections, /tf, /objects, /rooms, /path and /belief."""

    def __init__(self, file: Path | None, *, port: int = PORT) -> None:
        try:
            import foxglove
            from foxglove import channels, messages
        except ImportError as error:
            raise MissingExtra("--foxglove", extra="foxglove") from error
        self._messages = messages
        # kept: channels of a context that is gone are closed
        self._context = context = foxglove.Context()
        self._sink: Any = (
            foxglove.start_server(name="lastseen", host=HOST, port=port, context=context)
            if file is None
            else foxglove.open_mcap(file, context=context)
        )
        if file is None:
            _log.warning("Foxglove: open ws://%s:%d", HOST, self._sink.port)

        def channel(kind: str, topic: str) -> Any:
            return getattr(channels, f"{kind}Channel")(topic, context=context)

        self._color, self._depth = channel("CompressedImage", "/camera/color"), channel("RawImage", "/camera/depth")
        self._calibrations = [channel("CameraCalibration", f"/camera/{name}_info") for name in ("color", "depth")]
        self._detections = channel("ImageAnnotations", "/camera/detections")
        self._transform = channel("FrameTransform", "/tf")
        self._objects, self._rooms = channel("SceneUpdate", "/objects"), channel("SceneUpdate", "/rooms")
        self._path_channel = channel("SceneUpdate", "/path")
        self._belief = foxglove.Channel("/belief", schema={"type": "object"}, context=context)
        self._changes = ChangeTracker()
        self._path = 0
        self._closed = False

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self._sink.port)

    def show(
        self,
        frame: Frame,
        memory: Memory,
        *,
        seen: Sequence[Observation] = (),
        belief: Mapping[str, Any] | None = None,
    ) -> None:
        """Publish a frame and what became of the memory with it; the log time is the frame's."""
        m, at = self._messages, round(max(frame.stamp, 0.0) * 1e9)
        when = m.Timestamp(sec=at // 10**9, nsec=at % 10**9)
        if frame.has_camera:
            self._show_camera(frame, seen, when, at)
        changes = self._changes.update(memory)
        if changes.objects or changes.gone:
            by_id = m.SceneEntityDeletionType.MatchingId
            deletions = [m.SceneEntityDeletion(timestamp=when, type=by_id, id=one) for one in changes.gone]
            entities = [self._entity(one, when) for one in changes.objects]
            self._objects.log(m.SceneUpdate(deletions=deletions, entities=entities), log_time=at)
        if changes.rooms is not None:
            lines, texts = [], []
            for room in changes.rooms:
                lines.append(self._line([(x, y, 0.0) for x, y in (*room.outline, *room.outline[:1])], ROOM_COLOR))
                place = m.Pose(position=m.Vector3(x=room.center[0], y=room.center[1], z=0.1))
                texts.append(m.TextPrimitive(text=room.name, pose=place, font_size=0.3, billboard=True))
            entity = m.SceneEntity(timestamp=when, frame_id=WORLD, id="rooms", lines=lines, texts=texts)
            self._rooms.log(m.SceneUpdate(entities=[entity]), log_time=at)
        points = path_points(memory)
        if len(points) > max(1, self._path):
            self._path = len(points)
            line = self._line(points.tolist(), PATH_COLOR)
            entity = m.SceneEntity(timestamp=when, frame_id=WORLD, id="path", lines=[line])
            self._path_channel.log(m.SceneUpdate(entities=[entity]), log_time=at)
        if belief is not None:
            self._belief.log(json.loads(json.dumps(belief, default=str)), log_time=at)

    def close(self) -> None:
        """Finish the file, or end the server."""
        if not self._closed:
            self._closed = True
            self._sink.stop() if hasattr(self._sink, "stop") else self._sink.close()

    def _show_camera(self, frame: Frame, seen: Sequence[Observation], when: Any, at: int) -> None:
        m, pose = self._messages, frame.T_world_camera
        (x, y, z), (qx, qy, qz, qw) = pose.translation.tolist(), pose.quaternion.tolist()
        self._transform.log(
            m.FrameTransform(
                timestamp=when,
                parent_frame_id=WORLD,
                child_frame_id=CAMERA,
                translation=m.Vector3(x=x, y=y, z=z),
                rotation=m.Quaternion(x=qx, y=qy, z=qz, w=qw),
            ),
            log_time=at,
        )
        for calibration, camera in zip(self._calibrations, (frame.intrinsics, frame.camera_of_depth), strict=True):
            calibration.log(self._calibration(camera, when), log_time=at)
        packed = io.BytesIO()
        Image.fromarray(frame.rgb).save(packed, "jpeg", quality=_QUALITY)
        self._color.log(
            m.CompressedImage(timestamp=when, frame_id=CAMERA, data=packed.getvalue(), format="jpeg"), log_time=at
        )
        high, wide = frame.depth.shape
        millimetres = np.nan_to_num(frame.depth * np.float32(1000.0)).clip(0, 65535).astype("<u2")
        self._depth.log(
            m.RawImage(
                timestamp=when,
                frame_id=CAMERA,
                width=wide,
                height=high,
                encoding="16UC1",
                step=2 * wide,
                data=millimetres.tobytes(),
            ),
            log_time=at,
        )
        outlines, texts = [], []
        for one in seen:
            box = image_box(one, frame)
            if box is None:
                continue
            left, top, right, bottom = box
            corners = [m.Point2(x=u, y=v) for u, v in ((left, top), (right, top), (right, bottom), (left, bottom))]
            loop = m.PointsAnnotationType.LineLoop
            outlines.append(
                m.PointsAnnotation(
                    timestamp=when, type=loop, points=corners, outline_color=_color(m, SEEN_COLOR), thickness=2.0
                )
            )
            texts.append(
                m.TextAnnotation(timestamp=when, position=corners[0], text=one.label or "thing", font_size=12.0)
            )
        self._detections.log(m.ImageAnnotations(timestamp=when, points=outlines, texts=texts), log_time=at)

    def _calibration(self, camera: Intrinsics, when: Any) -> Any:
        fx, fy, cx, cy = camera.fx, camera.fy, camera.cx, camera.cy
        return self._messages.CameraCalibration(
            timestamp=when,
            frame_id=CAMERA,
            width=camera.width,
            height=camera.height,
            K=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
            P=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        )

    def _entity(self, one: Object, when: Any) -> Any:
        """An object: it stays until it is replaced or deleted, as in the memory."""
        m = self._messages
        x, y, z = one.position
        wide, deep, high = one.extent or (0.05, 0.05, 0.05)
        color = _color(m, COLORS.get(one.state, COLORS["stale"]), alpha=0.5)
        pose = m.Pose(position=m.Vector3(x=x, y=y, z=z), orientation=m.Quaternion(w=1.0))
        above = m.Pose(position=m.Vector3(x=x, y=y, z=z + high / 2 + _LETTER), orientation=m.Quaternion(w=1.0))
        text = m.TextPrimitive(
            text=words(one), pose=above, font_size=_LETTER, billboard=True, color=_color(m, (255,) * 3)
        )
        facts = {"label": one.label or "", "state": one.state, "place": one.place or ""}
        return m.SceneEntity(
            timestamp=when,
            frame_id=WORLD,
            id=one.id,
            metadata=[m.KeyValuePair(key=key, value=value) for key, value in facts.items()],
            cubes=[m.CubePrimitive(pose=pose, size=m.Vector3(x=wide, y=deep, z=high), color=color)],
            texts=[text],
        )

    def _line(self, points: Sequence[Sequence[float]], color: tuple[int, int, int]) -> Any:
        m = self._messages
        return m.LinePrimitive(
            type=m.LinePrimitiveLineType.LineStrip,
            pose=m.Pose(orientation=m.Quaternion(w=1.0)),
            thickness=0.03,
            points=[m.Point3(x=float(x), y=float(y), z=float(z)) for x, y, z in points],
            color=_color(m, color),
        )


def _color(messages: Any, rgb: tuple[int, ...], *, alpha: float = 1.0) -> Any:
    red, green, blue = (value / 255.0 for value in rgb)
    return messages.Color(r=red, g=green, b=blue, a=alpha)
