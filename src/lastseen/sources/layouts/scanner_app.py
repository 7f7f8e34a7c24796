"""3D Scanner App's "All Data": ``depth_00000.png`` (mm), ``conf_00000.png`` and ``frame_00000.json`` for each frame.

``frame_00000.jpg`` is there for some frames only, and those are the ones that are read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.files import first_size, numbered, read_json, values_of
from lastseen.sources.layouts.sequence import Sequence, Shot, converted, fitted
from lastseen.sources.options import SourceOptions


def matches(path: Path) -> bool:
    """Whether a folder is an export with all data."""
    return path.is_dir() and any(path.glob("frame_*.json")) and any(path.glob("depth_*.png"))


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a scan: ARKit's camera axes (OpenGL) and world (y up)."""
    colors, depths = numbered(path, (".jpg",), contains="frame_"), numbered(path, (".png",), contains="depth_")
    about = numbered(path, (".json",), contains="frame_")
    grades = numbered(path, (".png",), contains="conf_") if any(path.glob("conf_*.png")) else {}
    size, shots = first_size(colors), []
    for number, color in colors.items():
        if number not in about:
            continue
        tree = read_json(about[number])
        with values_of(about[number].name, str(about[number]), remedy="export all data again"):
            k = [float(value) for value in tree["intrinsics"]]
            pose = np.array(tree["cameraPoseARFrame"], dtype=np.float64).reshape(4, 4)
            camera = fitted(k[0], k[4], k[2], k[5], size)
            stamp = float(tree["time"])
        pose_up = converted(pose, CameraAxes.OPENGL, WorldUp.Y)
        shots.append(Shot(stamp, color, depths.get(number), pose_up, grades.get(number), camera))
    sequence = Sequence(shots, None, 1000.0)
    without = len(colors) - len(shots)
    if without:
        sequence.intake.note(f"{without} images have no frame_*.json")
    return sequence
