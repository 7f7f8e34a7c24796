"""SUN3D: ``image/0000001-000000033369.jpg`` and ``depth/`` by microseconds, ``intrinsics.txt``, ``extrinsics/``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.images import read_depth
from lastseen.sources.layouts.cameras import read_table
from lastseen.sources.layouts.files import DEPTHS, first_size, nearest, numbered, read_numbers
from lastseen.sources.layouts.sequence import Sequence, Shot, converted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

MICROSECONDS = 1e-6
"""Seconds of the second number in the names of files."""


def matches(path: Path) -> bool:
    """Whether a folder is a sequence."""
    return (path / "extrinsics").is_dir() and (path / "image").is_dir() and (path / "depth").is_dir()


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a sequence. Its world is that of the first camera: y points down. The newest extrinsics count."""
    colors = {MICROSECONDS * number: file for number, file in numbered(path / "image").items()}
    depths = {MICROSECONDS * number: file for number, file in numbered(path / "depth", DEPTHS).items()}
    files = sorted((path / "extrinsics").glob("*.txt"))
    if not files:
        raise SourceError("extrinsics", str(path), "holds no .txt file", remedy="copy the recording whole")
    rows = read_numbers(files[-1], columns=4)
    poses = [np.vstack([rows[start : start + 3], [0.0, 0.0, 0.0, 1.0]]) for start in range(0, len(rows) // 3 * 3, 3)]
    intake = Intake()
    if len(rows) != 3 * len(colors):
        intake.note(f"{files[-1].name} has {len(rows)} lines, three for each of {len(colors)} images would be right")
    shots = []
    for place, (stamp, color) in enumerate(sorted(colors.items())):
        at = nearest(depths, stamp, within=options.max_stamp_difference)
        pose = converted(poses[place], CameraAxes.OPENCV, WorldUp.MINUS_Y) if place < len(poses) else None
        depth, seconds = (None, None) if at is None else (depths[at], at)
        shots.append(Shot(stamp, color, depth, pose, depth_stamp=seconds))
    camera = read_table(path / "intrinsics.txt", first_size(dict(enumerate(colors.values()))))
    limit = options.max_pixels
    return Sequence(shots, camera, 1000.0, intake=intake, decode_depth=lambda data, name: _turned(data, name, limit))


def _turned(data: bytes, name: str, max_pixels: int) -> NDArray[np.uint16]:
    """Millimetres of an image whose bits are turned by three places."""
    raw = read_depth(data, name=name, max_pixels=max_pixels).astype(np.uint16)
    return np.bitwise_or(raw >> 3, raw << 13).astype(np.uint16)
