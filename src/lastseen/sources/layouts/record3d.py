"""Record3D's ``.r3d``: ``metadata`` (JSON), ``rgbd/N.jpg``, ``rgbd/N.depth`` and ``rgbd/N.conf`` (LZFSE), zipped."""

from __future__ import annotations

import importlib
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, SourceError, needs_extra
from lastseen.geometry import CameraAxes, Intrinsics, WorldUp
from lastseen.images import refuse_pointer
from lastseen.sources.layouts.files import values_of
from lastseen.sources.layouts.sequence import FRAME_RATE, Sequence, Shot, converted, pose_matrix
from lastseen.sources.options import SourceOptions

_MEMBER = re.compile(r"rgbd/\d+\.(jpg|depth|conf)")
MAX_MEMBER = 32 * 2**20
"""Bytes of one image in the archive, packed: depth of 256x192 has 196 kB."""


SIZES = {256 * 192: (192, 256), 640 * 480: (480, 640), 960 * 720: (720, 960)}
"""Width and height of depth held upright, by its pixels: LiDAR, the front camera, and that one scaled up."""


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a recording, in its archive or unpacked."""

    names: frozenset[Path]
    read: Callable[[Path], bytes]
    close: Callable[[], None]


def matches(path: Path) -> bool:
    """Whether a file is named like one, or a folder is one unpacked."""
    packed = path.is_file() and path.suffix.lower() == ".r3d"
    return packed or ((path / "metadata").is_file() and (path / "rgbd").is_dir())


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording: ARKit's camera axes (OpenGL) and world (y up). Its files are unpacked one at a time."""
    files = _in_folder(path) if path.is_dir() else _in_archive(path)
    try:
        return _listed(files, path, options)
    except InvalidValue:
        files.close()
        raise


def _listed(files: _Files, path: Path, options: SourceOptions) -> Sequence:
    with values_of("metadata", str(path), remedy="share it from Record3D again"):
        tree = _metadata(files, path)
        camera, size = _camera(tree, options.max_pixels)
        poses, stamps = tree.get("poses") or [], tree.get("frameTimestamps") or []
        own = tree.get("perFrameIntrinsicCoeffs") or []
        rate = float(tree.get("fps") or FRAME_RATE)
        shots = []
        for number in sorted(int(name.stem) for name in files.names if name.suffix == ".jpg"):
            pose = None
            if number < len(poses) and len(poses[number]) == 7:
                pose = converted(pose_matrix(poses[number][4:], poses[number][:4]), CameraAxes.OPENGL, WorldUp.Y)
            stamp = float(stamps[number]) if number < len(stamps) else number / rate
            # the focal length follows the focus
            focused = camera
            if number < len(own) and len(own[number]) >= 4:
                fx, fy, cx, cy = (float(one) for one in own[number][:4])
                focused = Intrinsics(fx, fy, cx, cy, camera.width, camera.height)
            paths = [Path(f"rgbd/{number}{end}") for end in (".jpg", ".depth", ".conf")]
            color, depth, confidence = (one if one in files.names else None for one in paths)
            shots.append(Shot(stamp, color or paths[0], depth, pose, confidence, focused))
    return Sequence(
        shots,
        camera,
        1.0,
        read_bytes=files.read,
        decode_depth=lambda data, name: _lzfse(data, np.dtype("<f4"), size, name),
        decode_confidence=lambda data, name: _lzfse(data, np.dtype("u1"), size, name),
        close=files.close,
    )


def _in_folder(folder: Path) -> _Files:
    def read_file(name: Path) -> bytes:
        path = folder / name
        try:
            if path.stat().st_size > MAX_MEMBER:
                raise SourceError(name.name, path.stat().st_size, f"exceeds {MAX_MEMBER} bytes", remedy="check it")
            return path.read_bytes()
        except OSError as error:
            raise SourceError(
                name.as_posix(), str(path), f"cannot be read ({error.strerror})", remedy="share it again"
            ) from error

    names = (Path("rgbd") / path.name for path in (folder / "rgbd").iterdir())
    return _Files(frozenset(name for name in names if _MEMBER.fullmatch(name.as_posix())), read_file, lambda: None)


def _in_archive(path: Path) -> _Files:
    try:
        refuse_pointer(path)
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            path.name, str(path), f"is no archive ({error})", remedy="share it from Record3D again"
        ) from error
    names = frozenset(Path(name) for name in archive.namelist() if _MEMBER.fullmatch(name))
    return _Files(names, lambda name: _unpacked(archive, name), archive.close)


def _metadata(files: _Files, path: Path) -> dict[str, Any]:
    try:
        tree = json.loads(files.read(Path("metadata")))
        if not isinstance(tree, dict):
            raise TypeError("it is no object")
        return tree
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, SourceError):
            raise SourceError("metadata", str(path), "is not in it", remedy="share it from Record3D again") from error
        raise SourceError(
            "metadata", str(path), f"cannot be read ({error})", remedy="share it from Record3D again"
        ) from error


def _unpacked(archive: zipfile.ZipFile, name: Path) -> bytes:
    """One file of the archive, no more than it may have."""
    try:
        member = archive.getinfo(name.as_posix())
        if member.file_size > MAX_MEMBER:
            raise SourceError(name.name, member.file_size, f"exceeds {MAX_MEMBER} bytes", remedy="check the file")
        with archive.open(member) as file:
            data = file.read(MAX_MEMBER + 1)
    except (zipfile.BadZipFile, OSError, EOFError, LookupError, RuntimeError, zlib.error) as error:
        raise SourceError(
            name.as_posix(), "file", f"cannot be unpacked ({error})", remedy="the frame is left out; share it again"
        ) from error
    if len(data) > MAX_MEMBER:
        raise SourceError(name.name, len(data), f"exceeds {MAX_MEMBER} bytes", remedy="check the file")
    return data


def _camera(tree: dict[str, Any], max_pixels: int) -> tuple[Intrinsics, tuple[int, int] | None]:
    """Intrinsics of colour, and width and height of depth; None where old recordings do not give them."""
    k = [float(value) for value in tree["K"]]
    camera = Intrinsics(k[0], k[4], k[6], k[7], int(tree["w"]), int(tree["h"]))
    size = (int(tree["dw"]), int(tree["dh"])) if "dw" in tree and "dh" in tree else None
    if size is not None and (min(size) < 1 or size[0] * size[1] > max_pixels):
        raise SourceError("metadata dw, dh", size, f"must be 1 to {max_pixels} pixels", remedy="share it again")
    return camera, size


def _lzfse(packed: bytes, kind: np.dtype[Any], size: tuple[int, int] | None, name: str) -> NDArray[np.generic]:
    with needs_extra("depth of Record3D", extra="record3d"):
        lzfse = importlib.import_module("liblzfse")
    stated = _stated(packed)
    size = size or SIZES.get(stated // kind.itemsize, SIZES[256 * 192])
    wanted = size[0] * size[1] * kind.itemsize
    if stated != wanted:
        raise SourceError(name, f"{stated} bytes", f"must have {wanted}", remedy="the frame is left out")
    try:
        data: bytes = lzfse.decompress(packed)
    except Exception as error:  # the library's own class is not exported
        raise SourceError(name, "data", f"cannot be unpacked ({error})", remedy="the frame is left out") from error
    if len(data) != wanted:
        raise SourceError(name, f"{len(data)} bytes", f"must have {wanted}", remedy="the frame is left out")
    return np.frombuffer(data, dtype=kind).reshape(size[1], size[0])


def _stated(packed: bytes) -> int:
    """Bytes that the blocks of LZFSE data state, all together; -1 where they are no blocks."""
    at = total = 0
    while at + 12 <= len(packed) and packed[at : at + 4] != b"bvx$":
        kind, (raw, payload) = packed[at : at + 4], struct.unpack_from("<II", packed, at + 4)
        total += raw
        if kind == b"bvx-":
            at += 8 + raw
        elif kind == b"bvxn":
            at += 12 + payload
        elif kind == b"bvx2" and at + 32 <= len(packed):
            literals, matches, states = struct.unpack_from("<QQQ", packed, at + 8)
            at += (states & 0xFFFFFFFF) + (literals >> 20 & 0xFFFFF) + (matches >> 40 & 0xFFFFF)
        else:
            return -1
    return total
