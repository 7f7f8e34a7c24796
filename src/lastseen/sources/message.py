"""A frame as a message of three parts, for any language and any socket: a JSON header, then colour, then depth.

    {"format": "lastseen-frame", "version": 1, "sequence": 0, "stamp": 12.5,
     "color": {"encoding": "rgb8", "width": 640, "height": 480},
     "depth": {"encoding": "16UC1", "width": 640, "height": 480, "per_metre": 1000},
     "camera": {"fx": 525, "fy": 525, "cx": 319.5, "cy": 239.5, "width": 640, "height": 480},
     "pose": {"translation": [x, y, z], "quaternion": [x, y, z, w]},
     "detections": [{"box": [left, top, right, bottom], "score": 0.9, "labels": {"mug": 0.9}}]}

Colour may be ``rgb8``, ``bgr8``, ``jpeg`` or ``png``, depth ``16UC1``, ``32FC1`` or ``png``; ``depth_camera``,
``detections`` and ``sequence`` may be left out. ``{"format": "lastseen-frame", "version": 1, "end": true}`` ends it.
Messages from outside are data: sizes are limited, nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection, check_runs
from lastseen.errors import SourceError
from lastseen.finite import is_finite
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.images import read_color, read_depth
from lastseen.sources.detections import StoredDetection, rows_of_tree, tree_of_detection
from lastseen.sources.record import RawRecord

FORMAT, VERSION = "lastseen-frame", 1
MAX_HEADER = 2**20
"""Bytes of a header at most: boxes and masks of a crowded image have a tenth of that."""
END = json.dumps({"format": FORMAT, "version": VERSION, "end": True}).encode()
PARTS = 3


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
            "header", part[:40], f"is not JSON ({error})", remedy="see lastseen.sources.message"
        ) from error
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise SourceError("header format", tree, f"is not {FORMAT}", remedy="see lastseen.sources.message")
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
    rgb = _color(_mapping(tree, "color"), parts[1], max_pixels)
    record = RawRecord(
        stamp=stamp,
        rgb=rgb,
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
    height, width = rgb.shape[:2]
    for _, row in rows:
        if row.runs is not None:
            check_runs(row.runs, height=height, width=width)
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
        raise SourceError(f"header {key}", value, "must be an object", remedy="see lastseen.sources.message")
    return value


def _number(tree: Mapping[str, Any], key: str, name: str = "header") -> float:
    value = tree.get(key)
    if not is_finite(value):
        raise SourceError(f"{name} {key}", value, "must be a finite number", remedy="see lastseen.sources.message")
    return float(value)


def _vector(tree: Mapping[str, Any], key: str, length: int) -> NDArray[np.float64]:
    value = tree.get(key)
    if not isinstance(value, list) or len(value) != length:
        raise SourceError(f"pose {key}", value, f"must hold {length} numbers", remedy="translation 3, quaternion 4")
    return np.array([_number({key: one}, key, "pose") for one in value])
