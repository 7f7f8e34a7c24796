"""ARKitScenes: ``lowres_wide``, ``lowres_depth`` (mm), ``lowres_wide_intrinsics/*.pincam``, ``lowres_wide.traj``."""

from __future__ import annotations

from pathlib import Path

from scipy.spatial.transform import Rotation

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.files import by_stamp, nearest, read_numbers
from lastseen.sources.layouts.sequence import Sequence, Shot
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, Trajectory

MAX_GAP = 0.1
"""Seconds between an image and its depth or camera: depth comes at 60 Hz or less."""


def matches(path: Path) -> bool:
    """Whether a folder is a scan; the assets may lie in a folder named like the scan with ``_frames``."""
    return _frames(path) is not None


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a scan: OpenCV camera axes, z up. File names end in the stamp: ``41069021_305.377.png``."""
    folder = _frames(path) or path
    colors, depths = _stamped(folder / "lowres_wide", ".png"), _stamped(folder / "lowres_depth", ".png")
    confidences = _stamped(folder / "confidence", ".png") if (folder / "confidence").is_dir() else {}
    cameras = _stamped(folder / "lowres_wide_intrinsics", ".pincam")
    shots = []
    for stamp, color in colors.items():
        camera, depth, confidence = (
            None if (at := nearest(found, stamp, within=MAX_GAP)) is None else found[at]
            for found in (cameras, depths, confidences)
        )
        own = None if camera is None else _camera(camera)
        shots.append(Shot(stamp, color, depth, None, confidence, own))
    intake = Intake()
    return Sequence(shots, None, 1000.0, trajectory=_trajectory(folder / "lowres_wide.traj", intake), intake=intake)


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
    for file in sorted(file for file in folder.iterdir() if file.suffix.lower() == suffix and file.name[0] != "."):
        try:
            found[float(file.stem.rpartition("_")[2])] = file
        except ValueError:
            raise SourceError(
                file.name, str(file), "has no stamp in its name", remedy="as 41069021_305.377"
            ) from None
    if not found:
        raise SourceError(folder.name, str(folder), f"holds no {suffix} files", remedy="download this asset again")
    return dict(sorted(found.items()))


def _trajectory(path: Path, intake: Intake) -> Trajectory:
    """T_world_camera by stamp, of lines with seconds, axis times angle and translation of T_camera_world."""
    rows = by_stamp(read_numbers(path, columns=7), path.name, intake)
    turns = Rotation.from_rotvec(rows[:, 1:4]).inv()
    return Trajectory(rows[:, 0], -turns.apply(rows[:, 4:7]), turns.as_quat())


def _camera(path: Path) -> Intrinsics:
    width, height, fx, fy, cx, cy = read_numbers(path, columns=6)[0]
    return Intrinsics(fx, fy, cx, cy, int(width), int(height))
