"""Stray Scanner: ``rgb.mp4``, ``depth/`` (mm), ``confidence/``, ``odometry.csv``, ``camera_matrix.csv``."""

from __future__ import annotations

from pathlib import Path

from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.sequence import (
    Sequence,
    Shot,
    converted,
    matrix,
    numbered,
    pose_matrix,
    read_numbers,
    read_text,
)
from lastseen.sources.layouts.video import Video
from lastseen.sources.options import SourceOptions


def matches(path: Path) -> bool:
    """Whether a folder is a scan."""
    return (path / "odometry.csv").is_file() and (path / "rgb.mp4").is_file()


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a scan: OpenCV camera axes, ARKit's world with y up."""
    video = Video(path / "rgb.mp4", max_pixels=options.max_pixels)
    depths = numbered(path / "depth", (".png",))
    confidences = numbered(path / "confidence", (".png",)) if (path / "confidence").is_dir() else {}
    # the first line names the columns: timestamp, frame, x, y, z, qx, qy, qz, qw and in newer versions intrinsics
    text = read_text(path / "odometry.csv")
    rows = read_numbers(path / "odometry.csv", text=text.partition("\n")[2] if text[:1].isalpha() else text)
    shots = []
    for row in rows:
        number = int(row[1])
        pose = converted(pose_matrix(row[2:5], row[5:9]), CameraAxes.OPENCV, WorldUp.Y)
        shots.append(Shot(float(row[0]), number, depths.get(number), pose, confidences.get(number)))
    k = matrix(path / "camera_matrix.csv")
    camera = video.camera(float(k[0, 0]), float(k[1, 1]), float(k[0, 2]), float(k[1, 2]))
    return Sequence(shots, camera, 1000.0, colors=video.pictures)
