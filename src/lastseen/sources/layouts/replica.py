"""Replica: rooms rendered by NICE-SLAM or Semantic-NeRF.

The first has ``results/frame000000.jpg``, ``results/depth000000.png`` and ``traj.txt``, the other ``rgb/rgb_0.png``,
``depth/depth_0.png`` and ``traj_w_c.txt``.
"""

from __future__ import annotations

from pathlib import Path

from lastseen.errors import SourceError
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, numbered, read_json, read_numbers
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

CAMERA = {"fx": 600.0, "fy": 600.0, "cx": 599.5, "cy": 339.5, "scale": 6553.5}
"""What cam_params.json holds for every room: images of 1200x680."""

WIDE_CAMERA = {"fx": 320.0, "fy": 320.0, "cx": 319.5, "cy": 239.5, "scale": 1000.0}
"""Semantic-NeRF's camera: 90 degrees wide, images of 640x480, depth in millimetres."""

OTHER_SHAPE = 0.05
"""How far width over height of images may be from that of the dataset's camera."""


def matches(path: Path) -> bool:
    """Whether a folder is a rendered room."""
    return _is_sequence(path) or ((path / "traj.txt").is_file() and (path / "results").is_dir())


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a room: T_world_camera as 16 numbers a line, z up; cam_params.json lies in the folder or above it."""
    if _is_sequence(path):
        colors, depths = numbered(path / "rgb"), numbered(path / "depth", DEPTHS)
        trajectory, camera = path / "traj_w_c.txt", dict(WIDE_CAMERA)
    else:
        colors = numbered(path / "results", contains="frame")
        depths = numbered(path / "results", DEPTHS, contains="depth")
        trajectory, camera = path / "traj.txt", dict(CAMERA)
    poses = read_numbers(trajectory, columns=16).reshape(-1, 4, 4)
    size = first_size(colors)
    found = next((place for place in (path, path.parent) if (place / "cam_params.json").is_file()), None)
    if found is not None:
        tree = read_json(found / "cam_params.json").get("camera", {})
        camera.update({name: float(tree[name]) for name in CAMERA if isinstance(tree.get(name), int | float)})
    elif abs(size[0] / size[1] - camera["cx"] / camera["cy"]) > OTHER_SHAPE:
        raise SourceError(
            "cam_params.json",
            str(path),
            f"is missing, and images of {size[0]}x{size[1]} are not the dataset's",
            remedy="copy it too: it holds w, h, fx, fy, cx, cy and scale",
        )
    intake = Intake(notes=[NO_STAMPS])
    pairs = by_number(colors, depths, intake)
    # a room of chosen frames may keep all poses, or those of its frames only
    chosen = len(poses) == len(pairs)
    if not chosen:
        intake.note(f"{len(poses)} poses for {len(pairs)} images: each image has the one of its number")
    shots = []
    for place, (number, color, depth) in enumerate(pairs):
        line = place if chosen else number
        shots.append(Shot(number / FRAME_RATE, color, depth, poses[line] if line < len(poses) else None))
    intrinsics = fitted(camera["fx"], camera["fy"], camera["cx"], camera["cy"], size)
    return Sequence(shots, intrinsics, camera["scale"], intake=intake, scale_known=found is not None)


def _is_sequence(path: Path) -> bool:
    return (path / "traj_w_c.txt").is_file() and (path / "rgb").is_dir()
