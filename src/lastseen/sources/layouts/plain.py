"""Colour beside depth, and poses in a file or folder: what people write who follow no dataset's layout.

Colour is a video (``*.mp4``, mkv, mov, avi) or a folder (``rgb``, ``color``, ``image``), depth the folder ``depth``.
Poses are TUM's form (8 columns), KITTI's (12) or whole matrices (16) in one file, or ``pose/N.txt``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, matrix, numbered, read_numbers
from lastseen.sources.layouts.open3d import COLORS, MILLIMETRES
from lastseen.sources.layouts.open3d import read_camera as read_json_camera
from lastseen.sources.layouts.scannet import read_camera as read_text_camera
from lastseen.sources.layouts.sequence import FRAME_RATE, Sequence, Shot, pose_matrix
from lastseen.sources.layouts.video import Video
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, Trajectory

VIDEOS = (".mp4", ".mkv", ".mov", ".avi")
_POSES = ("groundtruth.txt", "poses.txt", "trajectory.txt", "traj.txt", "pose.txt", "CameraTrajectory.txt")

Stamped = list[tuple[float, NDArray[np.float64] | None]]
"""Stamp and T_world_camera of every frame."""


def matches(path: Path) -> bool:
    """Whether a folder has depth images, and a video or a folder of colour images."""
    return (path / "depth").is_dir() and (_color_folder(path) is not None or bool(_videos(path)))


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording; camera.json holds fx, fy, cx, cy, and depth_scale where depth is not in millimetres."""
    depths = numbered(path / "depth", DEPTHS)
    folder = _color_folder(path)
    intake = Intake()
    if folder is None:
        video = _video(path, options)
        stamps, size, colors = video.stamps(), video.size, video.pictures
        if len(depths) != len(stamps):
            raise SourceError(
                "depth",
                f"{len(depths)} images",
                f"does not match {len(stamps)} pictures of the video",
                remedy="one for each",
            )
        frames: list[tuple[int, Path | int, Path | None]] = [
            (number, number, depth) for number, depth in enumerate(depths.values())
        ]
    else:
        images, colors = numbered(folder), None
        frames, size = [*by_number(images, depths, intake)], first_size(images)
        first = frames[0][0]
        stamps = [(number - first) / FRAME_RATE for number, _, _ in frames]
        intake.note("the layout has no stamps: frames are taken at 30 Hz")
    camera, depth_camera, scale = _cameras(path, size, first_size(depths))
    poses = _poses(path, options, stamps, [number for number, _, _ in frames])
    own = poses if isinstance(poses, list) else [(stamp, None) for stamp in stamps]
    shots = [Shot(stamp, color, depth, pose) for (_, color, depth), (stamp, pose) in zip(frames, own, strict=True)]
    trajectory = poses if isinstance(poses, Trajectory) else None
    return Sequence(shots, camera, scale, depth_camera, colors=colors, trajectory=trajectory, intake=intake)


def _color_folder(path: Path) -> Path | None:
    return next((path / name for name in COLORS if (path / name).is_dir()), None)


def _videos(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.suffix.lower() in VIDEOS)


def _video(path: Path, options: SourceOptions) -> Video:
    found = _videos(path)
    if len(found) > 1:
        names = ", ".join(file.name for file in found[:3])
        raise SourceError("video", str(path), f"holds several ({names})", remedy="leave the one of colour")
    return Video(found[0], max_pixels=options.max_pixels)


def _cameras(
    path: Path, size: tuple[int, int], depth_size: tuple[int, int]
) -> tuple[Intrinsics | None, Intrinsics | None, float]:
    """Intrinsics of colour, of depth where it has its own, and raw values of depth per metre."""
    found = read_json_camera(path, size)
    if found is not None:
        return found[0], None, found[1]
    color = read_text_camera(path, "color", size)
    return color, None if color is None else read_text_camera(path, "depth", depth_size), MILLIMETRES


def _poses(path: Path, options: SourceOptions, stamps: list[float], numbers: list[int]) -> Stamped | Trajectory:
    """Stamp and T_world_camera of every frame; poses by stamp where there is not one for each frame."""
    if options.poses == "odometry":
        return [(stamp, None) for stamp in stamps]
    folder = next((path / name for name in ("pose", "poses") if (path / name).is_dir()), None)
    if folder is not None:
        files = numbered(folder, (".txt",))
        return [
            (stamp, matrix(files[number]) if number in files else None)
            for stamp, number in zip(stamps, numbers, strict=True)
        ]
    names = [name for name in _POSES if (path / name).is_file()]
    others = [*sorted(path.glob("*.tum")), *sorted(path.glob("*.kitti"))]
    found = path / names[0] if names else (others[0] if others else None)
    if found is None:
        raise SourceError(
            "poses",
            str(path),
            f"has no poses ({_POSES[0]}, {_POSES[1]}, trajectory.log or pose/)",
            remedy="add one, or use --poses odometry",
        )
    rows = read_numbers(found)
    if rows.shape[1] not in {8, 12, 16}:
        raise SourceError(
            found.name,
            f"{rows.shape[1]} columns",
            "is neither TUM's form (8) nor KITTI's (12) nor whole matrices (16)",
            remedy="convert it",
        )
    if len(rows) != len(stamps) and rows.shape[1] > 8 and max(numbers) < len(rows):
        # chosen frames of a longer walk
        rows = rows[numbers]
    if len(rows) == len(stamps):
        if rows.shape[1] == 8:
            return [(float(row[0]), pose_matrix(row[1:4], row[4:8])) for row in rows]
        whole = [np.vstack([row.reshape(-1, 4)[:3], [0, 0, 0, 1]]) for row in rows]
        return list(zip(stamps, whole, strict=True))
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    if rows.shape[1] == 8 and rows[0, 0] <= stamps[-1] and rows[-1, 0] >= stamps[0]:
        return Trajectory(rows[:, 0], rows[:, 1:4], rows[:, 4:8])
    raise SourceError(
        found.name,
        f"{len(rows)} poses",
        f"does not match {len(stamps)} colour images",
        remedy="one for each, or TUM's form with seconds from the start",
    )
