"""Open3D's reconstruction system: ``image/`` or ``color/``, ``depth/`` (millimetres) and ``trajectory.log``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, Intrinsics, WorldUp
from lastseen.sources.layouts.sequence import (
    FRAME_RATE,
    Sequence,
    Shot,
    converted,
    first_size,
    fitted,
    numbered,
    read_json,
    read_text,
)
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

PRIMESENSE = (525.0, 525.0, 319.5, 239.5)
"""The camera Open3D takes where none is named, for images of 640x480."""

MILLIMETRES = 1000.0
"""Raw values of depth per metre where the camera's file does not say them."""

_LOGS = ("trajectory.log", "scene/trajectory.log", "scene/refined_trajectory.log")
_CAMERAS = ("camera_intrinsic.json", "intrinsic.json", "camera.json")
_COLORS = ("image", "color", "rgb")


def matches(path: Path) -> bool:
    """Whether a folder is of Open3D's layout."""
    return (path / "depth").is_dir() and _log(path) is not None


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording; its world is that of the first camera: y points down."""
    del options
    folder = next((path / name for name in _COLORS if (path / name).is_dir()), path / "image")
    colors, depths = list(numbered(folder).values()), list(numbered(path / "depth", (".png",)).values())
    log = _log(path)
    poses = {} if log is None else read_log(log)
    notes = ["the layout has no stamps: frames are taken at 30 Hz"]
    if len(colors) != len(depths):
        notes.append(f"{len(colors)} colour and {len(depths)} depth images: they are paired in their order")
    shots = []
    for number, color in enumerate(colors):
        pose = converted(poses.get(number), CameraAxes.OPENCV, WorldUp.MINUS_Y)
        shots.append(Shot(number / FRAME_RATE, color, depths[number] if number < len(depths) else None, pose))
    camera, raw_per_metre = _camera(path, first_size(dict(enumerate(colors))))
    return Sequence(shots, camera, raw_per_metre, intake=Intake(notes=notes))


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


def _camera(path: Path, size: tuple[int, int]) -> tuple[Intrinsics, float]:
    """Intrinsics, and raw values of depth per metre where the file says them."""
    place = next((path / name for name in _CAMERAS if (path / name).is_file()), None)
    if place is None:
        return fitted(*PRIMESENSE, size), MILLIMETRES
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
        raise SourceError(place.name, str(place), "has no intrinsic_matrix", remedy="write Open3D's form") from None
    return fitted(fx, fy, cx, cy, size), scale
