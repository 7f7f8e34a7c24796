"""Polycam's raw data: ``keyframes/images``, ``depth`` (mm), ``confidence`` and ``cameras/N.json`` by stamp.

After Polycam has optimised a scan there are ``corrected_images`` and ``corrected_cameras`` too, and those are taken.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.files import DEPTHS, by_number, numbered, read_json, values_of
from lastseen.sources.layouts.sequence import Sequence, Shot, converted, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

MICROSECONDS = 1e-6
"""Seconds of the numbers that files are named by."""


def matches(path: Path) -> bool:
    """Whether a folder is an export, or the keyframes in it."""
    return (_keyframes(path) / "cameras").is_dir() or (_keyframes(path) / "corrected_cameras").is_dir()


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a scan: ARKit's camera axes (OpenGL) and world (y up)."""
    folder = _keyframes(path)
    if not (folder / "depth").is_dir():
        raise SourceError("depth", str(folder), "is no folder", remedy="scan in LiDAR mode: lastseen needs depth")
    corrected = "corrected_" if (folder / "corrected_cameras").is_dir() else ""
    colors, cameras = numbered(folder / f"{corrected}images"), numbered(folder / f"{corrected}cameras", (".json",))
    depths = numbered(folder / "depth", DEPTHS)
    grades = numbered(folder / "confidence", (".png",)) if (folder / "confidence").is_dir() else {}
    shots, intake = [], Intake()
    for number, color, depth in by_number(colors, depths, intake):
        if number not in cameras:
            shots.append(Shot(number * MICROSECONDS, color, depth, None))
            continue
        tree = read_json(cameras[number])
        with values_of(cameras[number].name, str(cameras[number]), remedy="export the raw data again"):
            rows = [[float(tree[f"t_{row}{column}"]) for column in range(4)] for row in range(3)]
            size = int(tree["width"]), int(tree["height"])
            fx, fy, cx, cy = (float(tree[name]) for name in ("fx", "fy", "cx", "cy"))
            camera = fitted(fx, fy, cx, cy, size)
        pose = converted(np.vstack([rows, [0, 0, 0, 1]]), CameraAxes.OPENGL, WorldUp.Y)
        shots.append(Shot(number * MICROSECONDS, color, depth, pose, grades.get(number), camera))
    return Sequence(shots, None, 1000.0, intake=intake)


def _keyframes(path: Path) -> Path:
    return path / "keyframes" if (path / "keyframes").is_dir() else path
