"""ICL-NUIM as downloaded (TUM compatible): ``rgb/N.png``, ``depth/N.png`` and ``livingRoom2.gt.freiburg``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, numbered, read_numbers
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, converted, fitted, pose_matrix
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

CAMERA = (481.2, 480.0, 319.5, 239.5)
"""The dataset's camera for 640x480; it gives fy as -480, because its y axes point up."""

RAW_PER_METRE = 5000.0
MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])
"""Its camera and its world are left-handed, with y up in both: mirrored they are OpenCV's camera and y down."""


def matches(path: Path) -> bool:
    """Whether a folder holds its poses, or is named like its archives."""
    return (path / "rgb").is_dir() and _poses(path) is not None


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a sequence; poses are numbered like the images, and the first image has none."""
    intake = Intake(notes=[NO_STAMPS])
    colors, depths = numbered(path / "rgb"), numbered(path / "depth", DEPTHS)
    poses = {}
    for row in read_numbers(_poses(path) or path, columns=8):
        pose = pose_matrix(row[1:4], row[4:8])
        mirrored = None if pose is None else MIRROR @ pose @ MIRROR
        poses[int(row[0])] = converted(mirrored, CameraAxes.OPENCV, WorldUp.MINUS_Y)
    shots = [
        Shot(number / FRAME_RATE, color, depth, poses.get(number))
        for number, color, depth in by_number(colors, depths, intake)
    ]
    return Sequence(shots, fitted(*CAMERA, first_size(colors)), RAW_PER_METRE, intake=intake)


def _poses(path: Path) -> Path | None:
    found = sorted(path.glob("*.gt.freiburg")) if path.is_dir() else []
    renamed = path / "groundtruth.txt"
    named = path.resolve().name.endswith("frei_png") and renamed.is_file()
    return found[0] if found else (renamed if named else None)
