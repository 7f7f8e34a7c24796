"""A live camera over ZeroMQ: ``zmq://host:port`` subscribes to whoever publishes frames there.

With ``backpressure = "lossless"`` it pulls instead, and a sender that pushes waits for us. Messages from outside are
data: sizes are limited, nothing is unpickled. A message has plain parts, a JSON header, then colour, then depth:

    {"format": "lastseen-frame", "version": 1, "sequence": 0, "stamp": 12.5,
     "color": {"encoding": "rgb8", "width": 640, "height": 480},
     "depth": {"encoding": "16UC1", "width": 640, "height": 480, "per_metre": 1000},
     "camera": {"fx": 525, "fy": 525, "cx": 319.5, "cy": 239.5, "width": 640, "height": 480},
     "pose": {"translation": [x, y, z], "quaternion": [x, y, z, w]},
     "detections": [{"box": [left, top, right, bottom], "score": 0.9, "labels": {"mug": 0.9}}]}

Colour may be ``rgb8``, ``bgr8``, ``jpeg`` or ``png``, depth ``16UC1``, ``32FC1`` or ``png``; ``depth_camera``,
``detections`` and ``sequence`` may be left out. ``{"format": "lastseen-frame", "version": 1, "end": true}`` ends it.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket as system_socket
import struct
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.errors import MissingExtra, SourceError
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.images import read_color, read_depth
from lastseen.protocols import Detector
from lastseen.sources.detections import RecentDetections, StoredDetection, rows_of_tree, tree_of_detection
from lastseen.sources.live import POLL, LiveSource
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RawRecord

FORMAT, VERSION = "lastseen-frame", 1
MAX_HEADER = 2**20
"""Bytes of a header at most: boxes and masks of a crowded image have a tenth of that."""
END = json.dumps({"format": FORMAT, "version": VERSION, "end": True}).encode()
PARTS = 3
_TCP_INFO, _TCP_INFO_SIZE, _BYTES_RECEIVED = 11, 136, 128
"""Linux: the option that tells of a connection, and where in its answer the bytes received stand."""
FIRST_MESSAGE = 10.0
"""Seconds until the first message must have come, where it matters what it holds."""


class ZmqSource(LiveSource[list[bytes]]):
    """Frames that a sender publishes or pushes."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(f"zmq://{address}", options)
        try:
            import zmq
        except ImportError as error:
            raise MissingExtra("a camera over ZeroMQ", extra="zmq") from error
        if not re.fullmatch(r"[\w.:\[\]-]+:\d+", address):
            raise SourceError("zmq address", address, "is no host:port", remedy="for example zmq://127.0.0.1:5599")
        if not 1 <= int(address.rpartition(":")[2]) <= 65535:
            raise SourceError(
                "zmq address", address, "has no port from 1 to 65535", remedy="for example zmq://127.0.0.1:5599"
            )
        self._endpoint = f"tcp://{address}"
        self._context = zmq.Context()
        self._detections = RecentDetections(self.options)
        self._next: int | None = None

    def detector(self) -> Detector | None:
        """The detections in the messages, where the first one has any; waits for it."""
        self.start()
        first = self.queue.peek(FIRST_MESSAGE)
        if first is None:
            raise SourceError(
                "zmq address",
                self.address,
                f"sent nothing for {FIRST_MESSAGE:g} s",
                remedy="start the publisher, check host and port; examples/zmq_publisher.py is one",
            )
        return self._detections if "detections" in read_header(first[0]) else None

    def receive(self, stop: threading.Event) -> None:
        """Take messages from the socket until it ends."""
        import zmq

        try:
            while not stop.is_set() and self._receive_until_too_much(stop):
                pass
        except zmq.ZMQError as error:
            raise SourceError("zmq address", self.address, str(error), remedy="check host and port") from error

    def _receive_until_too_much(self, stop: threading.Event) -> bool:
        """Take messages from one connection; True when it was given up because a message had no end.

        libzmq takes a message in whole, however many parts it has, and limits only the size of each: so the bytes
        that came since the last whole message are watched.
        """
        import zmq

        lossless, most = self.options.backpressure == "lossless", self.options.max_message_mb * 2**20
        socket = self._context.socket(zmq.PULL if lossless else zmq.SUB)
        traffic = Traffic(socket)
        try:
            socket.setsockopt(zmq.LINGER, 0)
            # libzmq closes a connection that announces more, before it takes it in
            socket.setsockopt(zmq.MAXMSGSIZE, most)
            socket.setsockopt(zmq.RCVHWM, self.options.queue_frames)
            if not lossless:
                socket.setsockopt(zmq.SUBSCRIBE, b"")
            socket.connect(self._endpoint)
            while not stop.is_set():
                if not socket.poll(int(1000 * POLL)):
                    if traffic.since_message() > PARTS * most:
                        size = f"more than {PARTS * self.options.max_message_mb} MiB"
                        self.queue.skip("unreadable message", f"{size} without an end; connected anew")
                        return True
                    continue
                parts = [socket.recv()]
                while socket.getsockopt(zmq.RCVMORE):
                    # surplus parts are read and dropped
                    parts = [*parts, socket.recv()][: PARTS + 1]
                traffic.note_message()
                if not self._take(parts):
                    return False
            return False
        finally:
            traffic.close()
            socket.close()

    def decode(self, item: list[bytes]) -> RawRecord:
        """The record of a message; its detections are kept for the detector."""
        record, rows = unpack(item, max_pixels=self.options.max_pixels)
        self._detections.add(record.stamp, rows)
        return record

    def close(self) -> None:
        """Stop and release the socket."""
        super().close()
        self._context.term()

    def _take(self, parts: list[bytes]) -> bool:
        """Pass a message on; False when it was the last."""
        if len(parts) > PARTS or len(parts[0]) > MAX_HEADER:
            self.queue.skip("unreadable message", f"{len(parts)} parts, the first of {len(parts[0])} bytes")
            return True
        try:
            header = read_header(parts[0])
        except SourceError as error:
            self.queue.skip(f"unreadable {error.field.split()[0]}", str(error))
            return True
        if header.get("end") is True:
            return False
        number = header.get("sequence")
        if isinstance(number, int) and not isinstance(number, bool):
            if self._next is not None and number > self._next:
                self.queue.count_lost(number - self._next)
            self._next = number + 1
        return self.queue.put(parts)


class Traffic:
    """Counts the bytes that came over a socket's connection, as the system counts them (Linux; 0 elsewhere)."""

    def __init__(self, socket: Any) -> None:
        import zmq

        self._socket = socket
        self._events = socket.get_monitor_socket(zmq.EVENT_CONNECTED)
        self._descriptor: int | None = None
        self._at_message = 0

    def note_message(self) -> None:
        """A whole message came: count from here on."""
        self._at_message = self._received()

    def since_message(self) -> int:
        """Bytes that came since the last whole message."""
        return self._received() - self._at_message

    def close(self) -> None:
        """Look no more; comes before the socket is closed."""
        self._socket.disable_monitor()
        self._events.close(0)

    def _received(self) -> int:
        from zmq.utils.monitor import recv_monitor_message

        while self._events.poll(0):
            self._descriptor, self._at_message = int(recv_monitor_message(self._events)["value"]), 0
        if self._descriptor is None:
            return 0
        try:
            with system_socket.socket(fileno=os.dup(self._descriptor)) as connection:
                facts = connection.getsockopt(system_socket.IPPROTO_TCP, _TCP_INFO, _TCP_INFO_SIZE)
            return int(struct.unpack_from("<Q", facts, _BYTES_RECEIVED)[0])
        except (OSError, struct.error):
            # the connection has ended, or the system does not tell
            return 0


def pack(frame: Frame, *, sequence: int = 0, detections: Sequence[Detection] | None = None) -> list[bytes]:
    """The parts of a message: header, colour as rgb8, depth as 32FC1."""
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "sequence": sequence,
        "stamp": frame.stamp,
        "color": {"encoding": "rgb8", "width": frame.rgb.shape[1], "height": frame.rgb.shape[0]},
        "depth": {
            "encoding": "32FC1",
            "width": frame.depth.shape[1],
            "height": frame.depth.shape[0],
            "per_metre": 1.0,
        },
        "camera": _camera_tree(frame.intrinsics),
        "pose": {
            "translation": frame.T_world_camera.translation.tolist(),
            "quaternion": frame.T_world_camera.quaternion.tolist(),
        },
    }
    if frame.depth_intrinsics is not None:
        header["depth_camera"] = _camera_tree(frame.depth_intrinsics)
    if detections is not None:
        header["detections"] = [tree_of_detection(one) for one in detections]
    return [json.dumps(header).encode(), frame.rgb.tobytes(), frame.depth.tobytes()]


def read_header(part: bytes) -> dict[str, Any]:
    """The header of a message, checked as far as every message needs it."""
    if len(part) > MAX_HEADER:
        raise SourceError("header", f"{len(part)} bytes", f"exceeds {MAX_HEADER}", remedy="send images as parts")
    try:
        tree = json.loads(part)
    except (ValueError, RecursionError) as error:
        raise SourceError(
            "header", part[:40], f"is not JSON ({error})", remedy="see lastseen.sources.zmq_stream"
        ) from error
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise SourceError("header format", tree, f"is not {FORMAT}", remedy="see lastseen.sources.zmq_stream")
    if tree.get("version") != VERSION:
        raise SourceError("header version", tree.get("version"), f"is not {VERSION}", remedy="update the sender")
    return tree


def unpack(parts: Sequence[bytes], *, max_pixels: int) -> tuple[RawRecord, list[tuple[float, StoredDetection]]]:
    """The record of a message and its detections; whatever does not fit raises ``SourceError``."""
    tree = read_header(parts[0])
    if len(parts) != PARTS:
        raise SourceError("message", f"{len(parts)} parts", f"must have {PARTS}", remedy="header, colour, depth")
    stamp = _number(tree, "stamp")
    pose = _mapping(tree, "pose")
    depth, per_metre = _depth(_mapping(tree, "depth"), parts[2], max_pixels)
    own = tree.get("depth_camera")
    record = RawRecord(
        stamp=stamp,
        rgb=_color(_mapping(tree, "color"), parts[1], max_pixels),
        depth=depth,
        raw_per_metre=per_metre,
        translation=_vector(pose, "translation", 3),
        quaternion=_vector(pose, "quaternion", 4),
        intrinsics=_camera(_mapping(tree, "camera"), "camera"),
        depth_intrinsics=None if own is None else _camera(_mapping(tree, "depth_camera"), "depth_camera"),
        depth_stamp=stamp,
        pose_stamp=stamp,
    )
    found = tree.get("detections")
    rows = [] if found is None else rows_of_tree({"stamp": stamp, "detections": found}, "header")
    return record, rows


def _color(tree: Mapping[str, Any], data: bytes, max_pixels: int) -> NDArray[np.uint8]:
    encoding = str(tree.get("encoding"))
    if encoding in {"jpeg", "png"}:
        return read_color(data, name="color", max_pixels=max_pixels)
    if encoding not in {"rgb8", "bgr8"}:
        raise SourceError("color encoding", encoding, "is not known", remedy="rgb8, bgr8, jpeg or png")
    pixels = _buffer("color", tree, data, np.dtype((np.uint8, 3)), max_pixels)
    return pixels if encoding == "rgb8" else np.ascontiguousarray(pixels[..., ::-1])


def _depth(tree: Mapping[str, Any], data: bytes, max_pixels: int) -> tuple[NDArray[np.generic], float]:
    encoding = str(tree.get("encoding"))
    usual = 1.0 if encoding == "32FC1" else 1000.0
    per_metre = _number({"per_metre": usual, **tree}, "per_metre", "depth")
    if encoding == "png":
        return read_depth(data, name="depth", max_pixels=max_pixels), per_metre
    kinds: dict[str, np.dtype[Any]] = {"16UC1": np.dtype("<u2"), "32FC1": np.dtype("<f4")}
    if encoding not in kinds:
        raise SourceError("depth encoding", encoding, "is not known", remedy="16UC1, 32FC1 or png")
    return _buffer("depth", tree, data, kinds[encoding], max_pixels), per_metre


def _buffer(name: str, tree: Mapping[str, Any], data: bytes, pixel: np.dtype[Any], max_pixels: int) -> NDArray[Any]:
    width, height = tree.get("width"), tree.get("height")
    if not isinstance(width, int) or not isinstance(height, int) or not 0 < width * height <= max_pixels or width < 1:
        raise SourceError(
            f"{name} size", f"{width}x{height}", f"must be 1 to {max_pixels} pixels", remedy="check the sender"
        )
    needed = width * height * pixel.itemsize
    if len(data) != needed:
        raise SourceError(
            f"{name} buffer", f"{len(data)} bytes", f"must have {needed} for {width}x{height}", remedy="send it whole"
        )
    return np.frombuffer(data, dtype=pixel.base).reshape(height, width, *pixel.shape)


def _camera(tree: Mapping[str, Any], name: str) -> Intrinsics:
    fx, fy, cx, cy = (_number(tree, key, name) for key in ("fx", "fy", "cx", "cy"))
    return Intrinsics(fx, fy, cx, cy, int(_number(tree, "width", name)), int(_number(tree, "height", name)))


def _camera_tree(camera: Intrinsics) -> dict[str, float]:
    return {key: getattr(camera, key) for key in ("fx", "fy", "cx", "cy", "width", "height")}


def _mapping(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = tree.get(key)
    if not isinstance(value, Mapping):
        raise SourceError(f"header {key}", value, "must be an object", remedy="see lastseen.sources.zmq_stream")
    return value


def _number(tree: Mapping[str, Any], key: str, name: str = "header") -> float:
    value = tree.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SourceError(f"{name} {key}", value, "must be a finite number", remedy="see lastseen.sources.zmq_stream")
    return float(value)


def _vector(tree: Mapping[str, Any], key: str, length: int) -> NDArray[np.float64]:
    value = tree.get(key)
    if not isinstance(value, list) or len(value) != length:
        raise SourceError(f"pose {key}", value, f"must hold {length} numbers", remedy="translation 3, quaternion 4")
    return np.array([_number({key: one}, key, "pose") for one in value])
