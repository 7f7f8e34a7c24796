"""Stray Scanner: ``rgb.mp4`` or ``rgb``, ``depth`` (mm), ``confidence``, ``odometry.csv``, ``camera_matrix.csv``."""

from __future__ import annotations

from pathlib import Path

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.cameras import read_table
from lastseen.sources.layouts.files import DEPTHS, first_size, numbered, read_numbers
from lastseen.sources.layouts.sequence import Sequence, Shot, converted, fitted, pose_matrix
from lastseen.sources.layouts.video import Video
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake


def matches(path: Path) -> bool:
    """Whether a folder is a scan."""
    return (path / "odometry.csv").is_file() and ((path / "rgb.mp4").is_file() or (path / "rgb").is_dir())


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a scan: OpenCV camera axes, ARKit's world with y up."""
    depths = numbered(path / "depth", DEPTHS)
    confidences = numbered(path / "confidence", DEPTHS) if (path / "confidence").is_dir() else {}
    video = Video(path / "rgb.mp4", max_pixels=options.max_pixels) if (path / "rgb.mp4").is_file() else None
    colors = {} if video is not None else numbered(path / "rgb")
    size = first_size(colors) if video is None else video.size
    # columns are timestamp, frame, x, y, z, qx, qy, qz, qw and in newer versions fx, fy, cx, cy
    rows = read_numbers(path / "odometry.csv")
    if rows.shape[1] < 9:
        raise SourceError("odometry.csv", rows.shape[1], "must have 9 columns or more", remedy="export it again")
    shots = []
    for row in rows:
        number = int(row[1])
        pose = converted(pose_matrix(row[2:5], row[5:9]), CameraAxes.OPENCV, WorldUp.Y)
        color = number if video is not None else colors.get(number)
        if color is None:
            continue
        own = None
        if len(row) >= 13:
            fx, fy, cx, cy = row[9:13].tolist()
            own = fitted(fx, fy, cx, cy, size)
        shots.append(Shot(float(row[0]), color, depths.get(number), pose, confidences.get(number), own))
    intake = Intake()
    without = len(depths.keys() - set(rows[:, 1].astype(int).tolist()))
    if without:
        intake.note(f"{without} depth images have no line in odometry.csv")
    camera = read_table(path / "camera_matrix.csv", size)
    return Sequence(shots, camera, 1000.0, colors=None if video is None else video.pictures, intake=intake)
