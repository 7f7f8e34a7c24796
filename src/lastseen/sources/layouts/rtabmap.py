"""RTAB-Map's export: ``rgb``, ``depth`` (mm), ``calib/N.yaml`` and a file of poses, each as it is or after a name.

``rtabmap-export --images --poses_camera map.db`` writes ``map_rgb``, ``map_depth``, ``map_calib`` and
``map_camera_poses.txt``; images are named by their stamps, or with ``--images_id`` by the numbers of their nodes.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.files import DEPTHS, IMAGES, read_numbers, read_text, values_of
from lastseen.sources.layouts.plain import other_count
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, pose_matrix
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

SAME_STAMP = 1e-3
"""Seconds between an image and its pose, both of which are written with six decimals."""

STAMPED = 1e6
"""Names of images from this number on are stamps: a map has fewer nodes."""

_EXPORT = "export with rtabmap-export --images_id --poses_camera map.db"


def matches(path: Path) -> bool:
    """Whether a folder has colour, depth and a calibration for each image."""
    return path.is_dir() and all(_folder(path, kind) is not None for kind in ("rgb", "depth", "calib"))


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a map's images, with poses in ROS' world (z up): of the camera, or of the robot that carries it."""
    colors, depths, about = (
        {file.stem: file for file in sorted((_folder(path, kind) or path).iterdir()) if file.suffix.lower() in ends}
        for kind, ends in (("rgb", IMAGES), ("depth", DEPTHS), ("calib", (".yaml",)))
    )
    try:
        names = {float(name): name for name in colors}
    except ValueError:
        raise SourceError("rgb", str(path), "holds images not named by stamps or nodes", remedy=_EXPORT) from None
    intake = Intake()
    numbers = sorted(names)
    poses: dict[float, NDArray[np.float64] | None] = {}
    stamps = [number if number > STAMPED else number / FRAME_RATE for number in numbers]
    file = _pose_file(path) if options.poses == "recorded" else None
    if file is not None:
        stamps, poses = _poses(file, numbers, intake)
    elif options.poses == "recorded":
        raise SourceError("poses.txt", str(path), "does not exist", remedy=_EXPORT)
    shots = []
    for number, stamp in zip(numbers, stamps, strict=True):
        name = names[number]
        if name not in about:
            problem = "is of several cameras" if f"{name}_0" in about else "does not exist"
            raise SourceError(f"{name}.yaml", str(path), problem, remedy=_EXPORT)
        camera, T_robot_camera = _calibration(about[name])
        pose = poses.get(number)
        if pose is not None and file is not None and _is_of_robot(file):
            pose = pose @ T_robot_camera
        shots.append(Shot(stamp, colors[name], depths.get(name), pose, intrinsics=camera))
    return Sequence(shots, None, 1000.0, intake=intake)


def _folder(path: Path, kind: str) -> Path | None:
    folders = (one for one in sorted(path.glob(f"*{kind}")) if one.is_dir())
    return next((one for one in folders if one.name == kind or one.name.endswith(f"_{kind}")), None)


def _pose_file(path: Path) -> Path | None:
    """The poses of the camera, or else the only other ones."""
    files = [*sorted(path.glob("*_camera_poses.txt")), *sorted(path.glob("*poses.txt"))]
    return files[0] if files else None


def _is_of_robot(file: Path) -> bool:
    """Whether ``--poses`` wrote it: poses of the frame that the camera is mounted on."""
    return file.name.endswith("_poses.txt") and not file.name.endswith("_camera_poses.txt")


def _poses(
    file: Path, numbers: list[float], intake: Intake
) -> tuple[list[float], dict[float, NDArray[np.float64] | None]]:
    """The stamp of every image, and the poses of those that have one, by the number in their names."""
    rows = read_numbers(file)
    stamped, by_node = numbers[-1] > STAMPED, rows.shape[1] == 9 and numbers[-1] <= STAMPED
    if rows.shape[1] in {8, 9} and (stamped or by_node):
        keys = rows[:, 8] if by_node else rows[:, 0]
        order = np.argsort(keys)
        nearest = {number: order[np.argmin(np.abs(keys[order] - number))] for number in numbers}
        found = {number: row for number, row in nearest.items() if abs(keys[row] - number) < SAME_STAMP}
        stamps = np.interp(numbers, keys[order], rows[order, 0]).tolist() if by_node else numbers
        return stamps, {number: pose_matrix(rows[row, 1:4], rows[row, 4:8]) for number, row in found.items()}
    if rows.shape[1] not in {8, 12}:
        raise SourceError(file.name, f"{rows.shape[1]} columns", "is of another form", remedy="--poses_format 11")
    if len(rows) != len(numbers):
        raise other_count(file.name, len(rows), len(numbers))
    if rows.shape[1] == 8:
        poses = [pose_matrix(row[1:4], row[4:8]) for row in rows]
        return rows[:, 0].tolist(), dict(zip(numbers, poses, strict=True))
    if not stamped:
        intake.note(NO_STAMPS)
    whole = [np.vstack([row.reshape(3, 4), [0, 0, 0, 1]]) for row in rows]
    return (
        numbers if stamped else [number / FRAME_RATE for number in numbers],
        dict(zip(numbers, whole, strict=True)),
    )


def _calibration(path: Path) -> tuple[Intrinsics, NDArray[np.float64]]:
    """Intrinsics and T_robot_camera of a file as OpenCV writes it, which is not quite YAML."""
    text = read_text(path)
    with values_of(path.name, str(path), remedy=_EXPORT):
        width, height = (int(_after(text, rf"image_{name}:\s*(\d+)")) for name in ("width", "height"))
        k, move = (
            [float(word) for word in _after(text, rf"{name}:.*?data:\s*\[(.*?)\]").split(",")]
            for name in ("camera_matrix", "local_transform")
        )
        T_robot_camera = np.vstack([np.reshape(move, (3, 4)), [0, 0, 0, 1]])
        return Intrinsics(k[0], k[4], k[2], k[5], width, height), T_robot_camera


def _after(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    if found is None:
        raise KeyError(pattern.partition(":")[0])
    return found[1]
