"""Colour beside depth, and poses in a file or folder: what people write who follow no dataset's layout.

Colour is a video (``*.mp4``, mkv, mov, avi) or a folder (``rgb``, ``color``, ``image``), depth the folder ``depth``;
or both lie in one folder, depth with that word in its names. Names hold numbers or stamps. Poses are TUM's form
(8 columns), the same without stamps (7), KITTI's (12) or whole matrices (16) in one file, or ``pose/N.txt``.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics, Pose3D, WorldUp, world_to_z_up
from lastseen.sources.layouts.cameras import read_camera
from lastseen.sources.layouts.files import (
    DEPTHS,
    IMAGES,
    by_number,
    by_stamp,
    first_size,
    matrix,
    nearest,
    numbered,
    part,
    read_numbers,
    seconds,
)
from lastseen.sources.layouts.open3d import COLORS, MILLIMETRES
from lastseen.sources.layouts.scannet import read_camera as read_text_camera
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, pose_matrix
from lastseen.sources.layouts.video import Video
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, Trajectory

VIDEOS = (".mp4", ".mkv", ".mov", ".avi")
DEPTH_FOLDERS = ("depth", "depths", "depth_images", "aligned_depth")
POSE_FILES = (
    "groundtruth",
    "poses",
    "trajectory",
    "traj",
    "pose",
    "odometry",
    "cameratrajectory",
    "keyframetrajectory",
)
OF_FIRST_CAMERA = ("cameratrajectory", "keyframetrajectory")
"""ORB-SLAM's files, whose world is that of the first camera where there was no IMU."""
UNTURNED = 0.9999
"""Quaternion's w from which the first pose is that world: less than two degrees."""

_STAMP = re.compile(r"(\d+\.\d+|\d{12,})$")
"""A stamp at the end of a name: with decimals, or so long that it counts milliseconds or less since 1970."""

Frames = list[tuple[int, Path | int, Path | None]]
"""Number, colour (or the number of a picture) and depth of every frame."""

Stamped = list[tuple[float, NDArray[np.float64] | None]]
"""Stamp and T_world_camera of every frame."""


def matches(path: Path) -> bool:
    """Whether a folder has depth images, and a video or a folder of colour images, or both kinds mixed."""
    if not path.is_dir():
        return False
    if part(path, *DEPTH_FOLDERS) is not None:
        return part(path, *COLORS) is not None or bool(_videos(path))
    names = [file.name.lower() for file in path.iterdir() if file.suffix.lower() in {*IMAGES, *DEPTHS}]
    others = [name for name in names if "depth" not in name]
    return len(others) < len(names) and any(re.search("rgb|colou?r|image|frame", name) for name in others)


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording; camera.json holds fx, fy, cx, cy, and depth_scale where depth is not in millimetres."""
    intake = Intake()
    color_folder, depth_folder = part(path, *COLORS), part(path, *DEPTH_FOLDERS)
    frames: Frames
    stamps: list[float] | None
    if depth_folder is not None and color_folder is None:
        video = _video(path, options)
        frames = [(number, number, depth) for number, depth in enumerate(numbered(depth_folder, DEPTHS).values())]
        stamps, size, colors = video.stamps(), video.size, video.pictures
    else:
        word = "" if depth_folder is not None else "depth"
        frames, stamps = _of_images(color_folder or path, depth_folder or path, word, options, intake)
        stamps = stamps or _times(path, len(frames), intake)
        size, colors = first_size({number: color for number, color, _ in frames if isinstance(color, Path)}), None
    camera, depth_camera, scale = _cameras(
        path, size, first_size({number: depth for number, _, depth in frames if depth is not None})
    )
    if stamps is not None and len(stamps) != len(frames):
        raise SourceError(
            "depth",
            f"{len(frames)} images",
            f"does not match {len(stamps)} pictures of the video",
            remedy="one for each",
        )
    poses = _poses(path, options, stamps, frames, intake)
    own = poses if isinstance(poses, list) else [(stamp, None) for stamp in stamps or ()]
    shots = [Shot(stamp, color, depth, pose) for (_, color, depth), (stamp, pose) in zip(frames, own, strict=True)]
    trajectory = poses if isinstance(poses, Trajectory) else None
    sequence = Sequence(shots, camera, scale or MILLIMETRES, depth_camera, colors=colors, trajectory=trajectory)
    sequence.intake, sequence.scale_known = intake, scale is not None
    return sequence


def _of_images(
    color_folder: Path, depth_folder: Path, word: str, options: SourceOptions, intake: Intake
) -> tuple[Frames, list[float] | None]:
    """Frames, and their stamps where the names hold them; ``word`` tells depth from colour in one folder."""
    colors = _by_stamp(color_folder, IMAGES, intake, without=word)
    depths = _by_stamp(depth_folder, DEPTHS, intake, contains=word)
    if colors and depths:
        near = [nearest(depths, stamp, within=options.max_stamp_difference) for stamp in colors]
        pairs = enumerate(zip(colors.values(), near, strict=True))
        return [(place, color, None if at is None else depths[at]) for place, (color, at) in pairs], list(colors)
    found = by_number(numbered(color_folder, without=word), numbered(depth_folder, DEPTHS, contains=word), intake)
    return [*found], None


def _by_stamp(
    folder: Path, suffixes: tuple[str, ...], intake: Intake, *, contains: str = "", without: str = ""
) -> dict[float, Path]:
    """The images of a folder by the stamps in their names; none where not all of them have one."""
    files = [file for file in sorted(folder.iterdir()) if file.suffix.lower() in suffixes and file.name[0] != "."]
    files = [file for file in files if contains in file.name and not (without and without in file.name)]
    found = [_STAMP.search(file.stem) for file in files]
    numbers = [float(one[1]) for one in found if one is not None]
    if not numbers or len(numbers) < len(files) or len(set(numbers)) < len(files):
        return {}
    stamps = seconds(np.array(numbers), "images", intake).tolist()
    return dict(sorted(zip(stamps, files, strict=True)))


def _times(path: Path, count: int, intake: Intake) -> list[float] | None:
    """Stamps of the images in a file of their own, as KITTI has one; None where there is none."""
    found = part(path, "times.txt", "timestamps.txt", "stamps.txt")
    if found is None:
        return None
    rows = read_numbers(found)
    if rows.shape[1] != 1:
        # a table of something else
        return None
    if len(rows) != count:
        raise SourceError(found.name, f"{len(rows)} stamps", f"does not match {count} images", remedy="one for each")
    if (np.diff(rows[:, 0]) < 0).any():
        line = int(np.argmax(np.diff(rows[:, 0]) < 0)) + 2
        raise SourceError(
            found.name, float(rows[line - 1, 0]), f"goes back at stamp {line}", remedy="write them in order"
        )
    return [float(stamp) for stamp in seconds(rows[:, 0], found.name, intake)]


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
) -> tuple[Intrinsics | None, Intrinsics | None, float | None]:
    """Intrinsics of colour, of depth where it has its own, and raw values of depth per metre where they are said."""
    color = read_text_camera(path, "color", size)
    scale = (read_camera(path, size) or (None, None))[1]
    return color, None if color is None else read_text_camera(path, "depth", depth_size), scale


def find_poses(path: Path) -> Path | None:
    """The file of poses in a folder, by the names that are usual."""
    named = part(path, *(f"{name}{end}" for name in POSE_FILES for end in (".txt", ".csv")))
    others = [*sorted(path.glob("*.tum")), *sorted(path.glob("*.kitti"))]
    return named or (others[0] if others else None)


def with_z_up(rows: NDArray[np.float64], file: Path) -> NDArray[np.float64]:
    """Rows ``stamp tx ty tz qx qy qz qw`` in a world with z up, where the file is one whose world has y down."""
    known = np.isfinite(rows).all(axis=1) & (np.linalg.norm(rows[:, 4:8], axis=1) > 0)
    first = rows[known][:1, 4:8]
    if file.stem.lower() not in OF_FIRST_CAMERA or not (np.abs(first[:, 3]) > UNTURNED).any():
        return rows
    level = world_to_z_up(Pose3D.identity(), WorldUp.MINUS_Y)
    turn, rows = Rotation.from_quat(level.quaternion), rows.copy()
    rows[known, 1:4] = turn.apply(rows[known, 1:4])
    rows[known, 4:8] = (turn * Rotation.from_quat(rows[known, 4:8])).as_quat()
    return rows


def _poses(
    path: Path, options: SourceOptions, stamps: list[float] | None, frames: Frames, intake: Intake
) -> Stamped | Trajectory:
    """Stamp and T_world_camera of every frame; poses by stamp where the images have stamps."""
    numbers = [number for number, _, _ in frames]
    assumed = [(number - numbers[0]) / FRAME_RATE for number in numbers] if stamps is None else stamps
    folder = part(path, "pose", "poses", "extrinsics")
    if options.poses == "odometry" or (folder is not None and folder.is_dir()):
        if stamps is None:
            intake.note(NO_STAMPS)
        poses = {} if folder is None or options.poses == "odometry" else _by_frame(folder, frames)
        return [(stamp, poses.get(number)) for stamp, number in zip(assumed, numbers, strict=True)]
    found = find_poses(path)
    if found is None:
        raise SourceError(
            "poses",
            str(path),
            f"has no poses ({POSE_FILES[0]}.txt, {POSE_FILES[1]}.txt or .csv, trajectory.log or pose/)",
            remedy="add one, or use --poses odometry",
        )
    rows = read_numbers(found)
    if rows.shape[1] not in {7, 8, 12, 16}:
        raise SourceError(
            found.name,
            f"{rows.shape[1]} columns",
            "is neither TUM's form (8, or 7 without stamps) nor KITTI's (12) nor whole matrices (16)",
            remedy="convert it",
        )
    if rows.shape[1] == 8:
        rows = with_z_up(rows, found)
        return _of_rows(rows, found.name, stamps, numbers, intake)
    if len(rows) != len(frames) and max(numbers) < len(rows):
        # chosen frames of a longer walk
        intake.note(f"{len(rows)} poses for {len(frames)} images: each image has the one of its number")
        rows = rows[numbers]
    if len(rows) != len(frames):
        raise other_count(found.name, len(rows), len(frames))
    if stamps is None:
        intake.note(NO_STAMPS)
    if rows.shape[1] == 7:
        return [(stamp, pose_matrix(row[:3], row[3:])) for stamp, row in zip(assumed, rows, strict=True)]
    whole = [np.vstack([row.reshape(-1, 4)[:3], [0, 0, 0, 1]]) for row in rows]
    return list(zip(assumed, whole, strict=True))


def _of_rows(
    rows: NDArray[np.float64], name: str, stamps: list[float] | None, numbers: list[int], intake: Intake
) -> Stamped | Trajectory:
    """Poses with a stamp each: one for each frame, by the frame's number, or by the stamps of the images."""
    counted = bool((rows[:, 0] == np.round(rows[:, 0])).all() and (np.diff(rows[:, 0]) == 1).all())
    if stamps is None and (counted or len(rows) == len(numbers)):
        poses = [pose_matrix(row[1:4], row[4:8]) for row in rows]
        if not counted:
            return list(zip(seconds(rows[:, 0], name, intake).tolist(), poses, strict=True))
        intake.note(NO_STAMPS)
        by_number = dict(zip(rows[:, 0].astype(int).tolist(), poses, strict=True))
        if len(rows) == len(numbers) and not set(numbers) <= set(by_number):
            # one begins at 0, the other at 1
            by_number = dict(zip(numbers, poses, strict=True))
        return [((number - numbers[0]) / FRAME_RATE, by_number.get(number)) for number in numbers]
    rows = by_stamp(rows, name, intake)
    times = seconds(rows[:, 0], name, intake)
    if stamps is None or times[0] > stamps[-1] or times[-1] < stamps[0]:
        if stamps is not None and len(rows) == len(stamps):
            # a clock of its own: the poses are in the order of the images
            poses = [pose_matrix(row[1:4], row[4:8]) for row in rows]
            return list(zip(times.tolist(), poses, strict=True))
        raise other_count(name, len(rows), len(numbers))
    return Trajectory(times, rows[:, 1:4], rows[:, 4:8])


def _by_frame(folder: Path, frames: Frames) -> dict[int, NDArray[np.float64]]:
    """T_world_camera of the files in a folder, by the name of the colour image or by its number."""
    by_name = {file.stem: file for file in sorted(folder.glob("*.txt"))}
    if all(isinstance(color, Path) and color.stem in by_name for _, color, _ in frames):
        return {number: matrix(by_name[color.stem]) for number, color, _ in frames if isinstance(color, Path)}
    files = numbered(folder, (".txt",))
    return {number: matrix(files[number]) for number, _, _ in frames if number in files}


def other_count(name: str, poses: int, images: int) -> SourceError:
    """The error of a file that has another number of poses than there are images."""
    return SourceError(
        name,
        f"{poses} poses",
        f"does not match {images} colour images",
        remedy="one for each; or name the images by their stamps, on the clock of the poses",
    )
