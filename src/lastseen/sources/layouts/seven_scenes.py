"""7-Scenes: ``frame-000000.color.png``, ``.depth.png`` (millimetres, 65535 for nothing) and ``.pose.txt`` (4 x 4)."""

from __future__ import annotations

from pathlib import Path

from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, matrix, numbered
from lastseen.sources.layouts.sequence import FRAME_RATE, Sequence, Shot, converted, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

FOCAL, CENTER = 585.0, (320.0, 240.0)
"""The Kinect's intrinsics as the dataset gives them, for images of 640x480."""


def matches(path: Path) -> bool:
    """Whether a folder is one of its sequences."""
    return path.is_dir() and any(path.glob("frame-*.color.*"))


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a sequence. Its world is that of the first camera: y points down."""
    note = "colour and depth of 7-Scenes are not registered: outlines lie some pixels beside each other"
    intake = Intake(notes=[note])
    colors, depths = numbered(path, contains=".color."), numbered(path, DEPTHS, contains=".depth.")
    poses = numbered(path, (".txt",), contains=".pose.") if options.poses == "recorded" else {}
    shots = [
        Shot(
            number / FRAME_RATE,
            color,
            depth,
            converted(matrix(poses[number]), CameraAxes.OPENCV, WorldUp.MINUS_Y) if number in poses else None,
        )
        for number, color, depth in by_number(colors, depths, intake)
    ]
    camera = fitted(FOCAL, FOCAL, *CENTER, first_size(colors))
    return Sequence(shots, camera, 1000.0, invalid_depth=65535, intake=intake)
