"""Open3D's reconstruction system: ``image/`` or ``color/``, ``depth/`` (millimetres) and ``trajectory.log``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, Intrinsics, WorldUp
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, numbered, read_json, read_text
from lastseen.sources.layouts.sequence import FRAME_RATE, Sequence, Shot, converted, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

PRIMESENSE = (525.0, 525.0, 319.5, 239.5)
"""The camera Open3D takes where none is named, for images of 640x480."""

MILLIMETRES = 1000.0
"""Raw values of depth per metre where the camera's file does not say them."""

_LOGS = ("trajectory.log", "scene/trajectory.log", "scene/refined_trajectory.log")
_CAMERAS = ("camera_intrinsic.json", "intrinsic.json", "camera.json")
COLORS = ("image", "color", "rgb", "images", "colors")


def matches(path: Path) -> bool:
    """Whether a folder is of Open3D's layout."""
    return (path / "depth").is_dir() and _log(path) is not None


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording; its world is that of the first camera: y points down."""
    del options
    folder = next((path / name for name in COLORS if (path / name).is_dir()), path / "image")
    intake = Intake(notes=["the layout has no stamps: frames are taken at 30 Hz"])
    colors = numbered(folder)
    pairs = by_number(colors, numbered(path / "depth", DEPTHS), intake)
    log = _log(path)
    poses = {} if log is None else read_log(log)
    # a pose for each image goes by its place; chosen images of a longer walk go by their numbers
    by_place = len(poses) == len(pairs) or not colors.keys() <= poses.keys()
    shots = []
    for place, (number, color, depth) in enumerate(pairs):
        at = place if by_place else number
        pose = converted(poses.get(at), CameraAxes.OPENCV, WorldUp.MINUS_Y)
        shots.append(Shot(at / FRAME_RATE, color, depth, pose))
    camera, raw_per_metre = read_camera(path, first_size(colors)) or (
        fitted(*PRIMESENSE, first_size(colors)),
        MILLIMETRES,
    )
    return Sequence(shots, camera, raw_per_metre, intake=intake)


def _log(path: Path) -> Path | None:
    """The trajectory: in Open3D's own places, or the only .log that lies in the folder, as Redwood's do."""
    found = [path / name for name in _LOGS if (path / name).is_file()]
    others = sorted(path.glob("*.log")) if path.is_dir() else []
    return found[0] if found else (others[0] if len(others) == 1 else None)


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


def read_camera(path: Path, size: tuple[int, int]) -> tuple[Intrinsics, float] | None:
    """Intrinsics and raw values of depth per metre, which are millimetres where the file does not say it."""
    place = next((path / name for name in _CAMERAS if (path / name).is_file()), None)
    if place is None:
        return None
    tree = read_json(place)
    values = tree.get("intrinsic_matrix")
    try:
        if isinstance(values, list) and len(values) == 9:
            # column by column
            tree |= {"fx": values[0], "fy": values[4], "cx": values[6], "cy": values[7]}
        fx, fy, cx, cy, scale = (
            float(tree.get(name, MILLIMETRES) if name == "depth_scale" else tree[name])
            for name in ("fx", "fy", "cx", "cy", "depth_scale")
        )
    except (KeyError, TypeError, ValueError):
        remedy = "give fx, fy, cx, cy as numbers, or Open3D's intrinsic_matrix"
        raise SourceError(place.name, str(place), "holds no intrinsics", remedy=remedy) from None
    if not scale > 0:
        raise SourceError(f"{place.name} depth_scale", scale, "must be positive", remedy="1000 for millimetres")
    return fitted(fx, fy, cx, cy, size), scale
