"""ARKitScenes: ``lowres_wide``, ``lowres_depth`` (mm), ``lowres_wide_intrinsics/*.pincam``, ``lowres_wide.traj``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.sequence import Sequence, Shot, read_numbers
from lastseen.sources.options import SourceOptions

MAX_GAP = 0.1
"""Seconds between an image and its pose or depth: poses come at 10 Hz, images at up to 60."""


def matches(path: Path) -> bool:
    """Whether a folder is a scan; the assets may lie in a folder named like the scan with ``_frames``."""
    return _frames(path) is not None


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a scan: OpenCV camera axes, z up. File names end in the stamp: ``41069021_305.377.png``."""
    del options
    folder = _frames(path) or path
    colors, depths = _stamped(folder / "lowres_wide", ".png"), _stamped(folder / "lowres_depth", ".png")
    confidences = _stamped(folder / "confidence", ".png") if (folder / "confidence").is_dir() else {}
    cameras = _stamped(folder / "lowres_wide_intrinsics", ".pincam")
    # seconds, axis times angle and translation of T_camera_world
    rows = read_numbers(folder / "lowres_wide.traj", columns=7)
    poses = {float(row[0]): row for row in rows}
    shots = []
    for stamp, color in colors.items():
        place, camera = _nearest(poses, stamp), _nearest(cameras, stamp)
        depth, confidence = _nearest(depths, stamp), _nearest(confidences, stamp)
        pose = None if place is None else _pose(poses[place])
        own = None if camera is None else _camera(cameras[camera])
        shots.append(
            Shot(
                stamp,
                color,
                None if depth is None else depths[depth],
                pose,
                None if confidence is None else confidences[confidence],
                own,
            )
        )
    return Sequence(shots, None, 1000.0)


def _frames(path: Path) -> Path | None:
    for folder in (path, path / f"{path.name}_frames"):
        if (folder / "lowres_wide").is_dir() and (folder / "lowres_wide.traj").is_file():
            return folder
    return None


def _stamped(folder: Path, suffix: str) -> dict[float, Path]:
    """Files by the stamp in their names."""
    if not folder.is_dir():
        raise SourceError(folder.name, str(folder), "is no folder", remedy="download this asset of the scan too")
    found: dict[float, Path] = {}
    for file in sorted(folder.glob(f"*{suffix}")):
        try:
            found[float(file.name.removesuffix(suffix).rpartition("_")[2])] = file
        except ValueError:
            raise SourceError(
                file.name, str(file), "has no stamp in its name", remedy="as 41069021_305.377"
            ) from None
    if not found:
        raise SourceError(folder.name, str(folder), f"holds no {suffix} files", remedy="download this asset again")
    return dict(sorted(found.items()))


def _nearest(stamps: dict[float, NDArray[np.float64]] | dict[float, Path], stamp: float) -> float | None:
    near = min(stamps, key=lambda one: abs(one - stamp), default=None)
    return near if near is not None and abs(near - stamp) <= MAX_GAP else None


def _pose(row: NDArray[np.float64]) -> NDArray[np.float64]:
    whole = np.eye(4)
    whole[:3, :3] = Rotation.from_rotvec(row[1:4]).as_matrix()
    whole[:3, 3] = row[4:7]
    return np.asarray(np.linalg.inv(whole), dtype=np.float64)


def _camera(path: Path) -> Intrinsics:
    width, height, fx, fy, cx, cy = read_numbers(path, columns=6)[0]
    return Intrinsics(fx, fy, cx, cy, int(width), int(height))
