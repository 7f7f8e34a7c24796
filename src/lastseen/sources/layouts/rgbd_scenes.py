"""RGB-D Scenes v2: ``imgs/scene_01/00000-color.png``, ``00000-depth.png``, and poses in ``pc/01.pose``.

A line of poses is a quaternion (w, x, y, z) and a translation, T_world_camera. Pictures and poses are downloaded
apart, so that the poses may lie in ``pc`` beside ``imgs``, beside the scene's folder, or in it.
"""

from __future__ import annotations

import re
from pathlib import Path

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, numbered, read_numbers
from lastseen.sources.layouts.plain import find_poses
from lastseen.sources.layouts.sequence import (
    FRAME_RATE,
    NO_STAMPS,
    Sequence,
    Shot,
    converted,
    fitted,
    pose_matrix,
)
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

CAMERA = (570.3, 570.3, 320.0, 240.0)
"""fx, fy, cx, cy as the dataset gives them, for images of 640x480."""

RAW_PER_METRE = 10_000.0
"""Raw values of depth per metre: tenths of a millimetre."""


def matches(path: Path) -> bool:
    """Whether a folder is named and filled like a scene; one with poses of its own is somebody else's."""
    if _number(path) is None or not path.is_dir() or find_poses(path) is not None:
        return False
    return any(path.glob("*-color.png")) and any(path.glob("*-depth.png"))


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a scene. Its world is that of the first camera: y points down."""
    intake = Intake(notes=[NO_STAMPS])
    colors, depths = numbered(path, contains="-color."), numbered(path, DEPTHS, contains="-depth.")
    rows = read_numbers(_poses(path), columns=7).tolist() if options.poses == "recorded" else []
    shots = []
    for number, color, depth in by_number(colors, depths, intake):
        row = rows[number] if number < len(rows) else None
        pose = None if row is None else pose_matrix(row[4:], [*row[1:4], row[0]])
        pose = converted(pose, CameraAxes.OPENCV, WorldUp.MINUS_Y)
        shots.append(Shot(number / FRAME_RATE, color, depth, pose))
    return Sequence(shots, fitted(*CAMERA, first_size(colors)), RAW_PER_METRE, intake=intake)


def _number(path: Path) -> str | None:
    found = re.fullmatch(r"scene_(\d+)", path.resolve().name)
    return found[1] if found else None


def _poses(path: Path) -> Path:
    name, folder = f"{_number(path)}.pose", path.resolve()
    places = [folder / name, folder.parent / name, folder.parent.parent / "pc" / name, folder.parent / "pc" / name]
    for place in places:
        if place.is_file():
            return place
    remedy = "unpack rgbd-scenes-v2_pc.zip where the images are, or use --poses odometry"
    raise SourceError(name, str(places[2]), "does not exist", remedy=remedy)
