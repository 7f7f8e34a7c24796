"""Open3D's reconstruction system: ``image/`` or ``color/``, ``depth/`` (millimetres) and ``trajectory.log``.

Redwood's rooms are the same with ``livingroom1-color``, ``livingroom1-depth-clean`` and ``livingroom1-traj.txt``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.layouts.cameras import read_camera
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, numbered, part, read_text
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, converted, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

PRIMESENSE = (525.0, 525.0, 319.5, 239.5)
"""The camera Open3D takes where none is named, for images of 640x480."""

ASSUMED = "no file says the intrinsics: those of Open3D's own camera are taken (fx, fy 525 at 640x480)"

MILLIMETRES = 1000.0
"""Raw values of depth per metre where the camera's file does not say them."""

_LOGS = ("trajectory.log", "scene/trajectory.log", "scene/refined_trajectory.log")
COLORS = ("image", "color", "rgb", "images", "colors", "colour", "rgb_images", "color_images", "imgs")
"""Names of folders with colour images, in whatever case."""


def matches(path: Path) -> bool:
    """Whether a folder is of Open3D's layout."""
    return _log(path) is not None and _folder(path, "depth", "depth") is not None


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a recording; its world is that of the first camera: y points down."""
    folder, depth_folder = _folder(path, "color", *COLORS), _folder(path, "depth", "depth")
    intake = Intake(notes=[NO_STAMPS])
    colors = numbered(folder or path / "image")
    pairs = by_number(colors, numbered(depth_folder or path / "depth", DEPTHS), intake)
    log = _log(path)
    poses = {} if log is None else read_log(log)
    # a pose for each image goes by its place; chosen images of a longer walk go by their numbers
    by_place = len(poses) == len(pairs) or not colors.keys() <= poses.keys()
    shots = []
    for place, (number, color, depth) in enumerate(pairs):
        at = place if by_place else number
        pose = converted(poses.get(at), CameraAxes.OPENCV, WorldUp.MINUS_Y)
        shots.append(Shot(at / FRAME_RATE, color, depth, pose))
    size = first_size(colors)
    camera, scale = read_camera(path, size) or (None, None)
    if camera is None and 3 * size[0] == 4 * size[1]:
        camera = fitted(*PRIMESENSE, size)
        intake.note(ASSUMED)
    return Sequence(shots, camera, scale or MILLIMETRES, intake=intake, scale_known=scale is not None)


def _folder(path: Path, word: str, *names: str) -> Path | None:
    """A folder of one of some names, or as Redwood names it, after the room."""
    named = sorted(one for one in path.glob(f"*-{word}*") if one.is_dir()) if path.is_dir() else []
    return part(path, *names) or (named[0] if named else None)


def _log(path: Path) -> Path | None:
    """The trajectory: in Open3D's own places, or the only one that lies in the folder, as Redwood's do."""
    found = [path / name for name in _LOGS if (path / name).is_file()]
    others = sorted([*path.glob("*.log"), *path.glob("*-traj.txt")]) if path.is_dir() else []
    # odometry.log and logs of other programs lie beside it
    named = [one for one in others if "traj" in one.name.lower()] or others
    return found[0] if found else (named[0] if len(named) == 1 else None)


def read_log(path: Path) -> dict[int, NDArray[np.float64]]:
    """T_world_camera by frame: three integers, then four lines of a matrix, for each."""
    rows = [line.split() for line in read_text(path).splitlines() if line.strip() and not line.startswith("#")]
    found: dict[int, NDArray[np.float64]] = {}
    for start in range(0, len(rows), 5):
        try:
            whole = np.array([[float(word) for word in row] for row in rows[start + 1 : start + 5]])
            if whole.shape != (4, 4):
                raise ValueError
            found[int(rows[start][0])] = whole
        except (ValueError, IndexError):
            raise SourceError(
                path.name,
                str(path),
                f"line {start + 1}: no frame number with a 4 x 4 matrix",
                remedy="write it again",
            ) from None
    return found
