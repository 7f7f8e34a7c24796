"""A memory in Foxglove: an MCAP with its own messages, or a server on this machine that the app connects to."""

from __future__ import annotations

import json
import logging
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
    ROOM_COLOR,
    SEEN_COLOR,
    Bridge,
    millimetres,
    words,
)
from lastseen.detection import Box
from lastseen.errors import needs_extra
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.images import encoded
from lastseen.memory.object import Object
from lastseen.memory.rooms import Room

WORLD, CAMERA = "map", "camera_color_optical_frame"
HOST, PORT = "127.0.0.1", 8765
"""The server is for this machine alone; 8765 is where the app looks by itself."""
_LETTER = 0.12
"""Metres: the height of a label's letters."""
_log = logging.getLogger(__name__)


class FoxgloveBridge(Bridge):
    """Publishes /camera/color, /camera/depth, /camera/detections, /tf, /objects, /rooms, /path and /belief."""

    def __init__(self, file: Path | None, *, port: int = PORT) -> None:
        super().__init__()
        with needs_extra("--foxglove", extra="foxglove"):
            import foxglove
            from foxglove import channels, messages
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
        kinds = {
            "/camera/color": "CompressedImage",
            "/camera/color_info": "CameraCalibration",
            "/camera/depth": "RawImage",
            "/camera/depth_info": "CameraCalibration",
            "/camera/detections": "ImageAnnotations",
            "/tf": "FrameTransform",
            "/objects": "SceneUpdate",
            "/rooms": "SceneUpdate",
            "/path": "SceneUpdate",
        }
        self._channels: dict[str, Any] = {
            topic: getattr(channels, f"{kind}Channel")(topic, context=context) for topic, kind in kinds.items()
        }
        self._channels["/belief"] = foxglove.Channel("/belief", schema={"type": "object"}, context=context)
        self._at, self._when = 0, messages.Timestamp(sec=0, nsec=0)

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self._sink.port)

    def _begin(self, stamp: float) -> None:
        # the log time is the frame's
        self._at = round(max(stamp, 0.0) * 1e9)
        self._when = self._messages.Timestamp(sec=self._at // 10**9, nsec=self._at % 10**9)

    def _show_camera(self, frame: Frame, boxes: Sequence[tuple[Box, str]]) -> None:
        m, pose = self._messages, frame.T_world_camera
        (x, y, z), (qx, qy, qz, qw) = pose.translation.tolist(), pose.quaternion.tolist()
        transform = m.FrameTransform(
            timestamp=self._when,
            parent_frame_id=WORLD,
            child_frame_id=CAMERA,
            translation=m.Vector3(x=x, y=y, z=z),
            rotation=m.Quaternion(x=qx, y=qy, z=qz, w=qw),
        )
        self._send("/tf", transform)
        self._send("/camera/color_info", self._calibration(frame.intrinsics))
        self._send("/camera/depth_info", self._calibration(frame.camera_of_depth))
        jpeg = encoded(frame.rgb, "JPEG", quality=JPEG_QUALITY)
        color = m.CompressedImage(timestamp=self._when, frame_id=CAMERA, data=jpeg, format="jpeg")
        self._send("/camera/color", color)
        high, wide = frame.depth.shape
        depth = m.RawImage(
            timestamp=self._when,
            frame_id=CAMERA,
            width=wide,
            height=high,
            encoding="16UC1",
            step=2 * wide,
            data=millimetres(frame).tobytes(),
        )
        self._send("/camera/depth", depth)
        outlines, texts = [], []
        for (left, top, right, bottom), label in boxes:
            corners = [m.Point2(x=u, y=v) for u, v in ((left, top), (right, top), (right, bottom), (left, bottom))]
            outlines.append(
                m.PointsAnnotation(
                    timestamp=self._when,
                    type=m.PointsAnnotationType.LineLoop,
                    points=corners,
                    outline_color=self._color(SEEN_COLOR),
                    thickness=2.0,
                )
            )
            texts.append(m.TextAnnotation(timestamp=self._when, position=corners[0], text=label, font_size=12.0))
        self._send("/camera/detections", m.ImageAnnotations(timestamp=self._when, points=outlines, texts=texts))

    def _show_objects(self, changed: Sequence[Object], gone: Sequence[str]) -> None:
        m = self._messages
        by_id = m.SceneEntityDeletionType.MatchingId
        deletions = [m.SceneEntityDeletion(timestamp=self._when, type=by_id, id=one) for one in gone]
        self._send("/objects", m.SceneUpdate(deletions=deletions, entities=[self._entity(one) for one in changed]))

    def _show_rooms(self, rooms: Sequence[Room]) -> None:
        m = self._messages
        lines, texts = [], []
        for room in rooms:
            lines.append(self._line([(x, y, 0.0) for x, y in (*room.outline, room.outline[0])], ROOM_COLOR))
            place = m.Pose(position=m.Vector3(x=room.center[0], y=room.center[1], z=0.1))
            texts.append(m.TextPrimitive(text=room.name, pose=place, font_size=0.3, billboard=True))
        entity = m.SceneEntity(timestamp=self._when, frame_id=WORLD, id="rooms", lines=lines, texts=texts)
        self._send("/rooms", m.SceneUpdate(entities=[entity]))

    def _show_path(self, points: NDArray[np.float32]) -> None:
        m, line = self._messages, self._line(points.tolist(), PATH_COLOR)
        entity = m.SceneEntity(timestamp=self._when, frame_id=WORLD, id="path", lines=[line])
        self._send("/path", m.SceneUpdate(entities=[entity]))

    def _show_belief(self, belief: Mapping[str, Any]) -> None:
        self._send("/belief", json.loads(json.dumps(belief, default=str)))

    def _finish(self) -> None:
        self._sink.stop() if hasattr(self._sink, "stop") else self._sink.close()

    def _send(self, topic: str, message: Any) -> None:
        self._channels[topic].log(message, log_time=self._at)

    def _calibration(self, camera: Intrinsics) -> Any:
        fx, fy, cx, cy = camera.fx, camera.fy, camera.cx, camera.cy
        return self._messages.CameraCalibration(
            timestamp=self._when,
            frame_id=CAMERA,
            width=camera.width,
            height=camera.height,
            K=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
            P=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        )

    def _entity(self, one: Object) -> Any:
        """An object: it stays until it is replaced or deleted, as in the memory."""
        m = self._messages
        x, y, z = one.position
        wide, deep, high = one.extent or (0.05, 0.05, 0.05)
        color = self._color(COLORS.get(one.state, COLORS["stale"]), alpha=0.5)
        turn = m.Quaternion(z=math.sin(one.yaw / 2), w=math.cos(one.yaw / 2))
        pose = m.Pose(position=m.Vector3(x=x, y=y, z=z), orientation=turn)
        above = m.Pose(position=m.Vector3(x=x, y=y, z=z + high / 2 + _LETTER), orientation=m.Quaternion(w=1.0))
        text = m.TextPrimitive(
            text=words(one), pose=above, font_size=_LETTER, billboard=True, color=self._color((255,) * 3)
        )
        facts = {"label": one.label or "", "state": one.state, "place": one.place or ""}
        return m.SceneEntity(
            timestamp=self._when,
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
            color=self._color(color),
        )

    def _color(self, rgb: tuple[int, ...], *, alpha: float = 1.0) -> Any:
        red, green, blue = (value / 255.0 for value in rgb)
        return self._messages.Color(r=red, g=green, b=blue, a=alpha)
