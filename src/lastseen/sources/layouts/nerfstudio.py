"""nerfstudio and Polycam: ``transforms.json`` with ``file_path``, ``depth_file_path`` and ``transform_matrix``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, Intrinsics, WorldUp
from lastseen.sources.layouts.files import IMAGES, Stored, first_size, in_order, read_json, values_of
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, converted, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

MILLIMETRES = 0.001
"""Metres of a raw depth value where depth_unit_scale_factor is not given."""


def matches(path: Path) -> bool:
    """Whether a folder has a transforms.json, or one of its parts."""
    return _transforms(path) is not None


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a capture: OpenGL camera axes, z up; distortion is not undone and noted."""
    tree = read_json(_transforms(path) or path / "transforms.json")
    frames = tree.get("frames")
    if not isinstance(frames, list) or not all(isinstance(frame, dict) for frame in frames):
        raise SourceError("transforms.json frames", frames, "must be a list of objects", remedy="export it again")
    if frames and not any(_depth_name(frame) for frame in frames):
        raise SourceError(
            "transforms.json", str(path), "has no depth_file_path", remedy="export with depth: lastseen needs RGB-D"
        )
    frames = sorted(frames, key=lambda frame: in_order(str(frame.get("file_path"))))
    shots, as_stored = [], Stored()
    for number, frame in enumerate(frames):
        color = as_stored(_with_suffix(_inside(path, frame.get("file_path"))))
        depth = as_stored(_inside(path, _depth_name(frame))) if _depth_name(frame) else None
        with values_of(f"transforms.json frame {number}", frame.get("file_path"), remedy="export it again"):
            matrix = np.array(frame["transform_matrix"], dtype=np.float64)
            camera = _camera({**tree, **frame}, color)
            stamp = float(frame.get("timestamp", number / FRAME_RATE))
            shots.append(Shot(stamp, color, depth, converted(matrix, CameraAxes.OPENGL, WorldUp.Z), None, camera))
    unit = tree.get("depth_unit_scale_factor", tree.get("integer_depth_scale", MILLIMETRES))
    if isinstance(unit, bool) or not isinstance(unit, int | float) or unit <= 0:
        raise SourceError("depth_unit_scale_factor", unit, "must be positive", remedy="0.001 for millimetres")
    bent = [name for name in ("k1", "k2", "k3", "p1", "p2") if tree.get(name)]
    notes = [f"distortion ({', '.join(bent)}) is not undone: undistort the images first"] if bent else []
    if frames and not any("timestamp" in frame for frame in frames):
        notes.append(NO_STAMPS)
    # the factor, also where it is left out, is of arrays of floats too
    return Sequence(shots, None, 1.0 / float(unit), intake=Intake(notes=notes), scale_known=True)


def _transforms(path: Path) -> Path | None:
    return next(
        (path / name for name in ("transforms.json", "transforms_train.json") if (path / name).is_file()), None
    )


def _depth_name(frame: dict[str, Any]) -> object:
    """The depth image of a frame, by nerfstudio's name for it or by Instant NGP's."""
    return frame.get("depth_file_path", frame.get("depth_path"))


def _with_suffix(path: Path) -> Path:
    """The image itself, where the file leaves out how its name ends."""
    others = (path.with_name(path.name + suffix) for suffix in IMAGES)
    return path if path.suffix else next((other for other in others if other.is_file()), path)


def _inside(folder: Path, name: object) -> Path:
    """A file named in the JSON, which must lie in the folder."""
    path = (folder / str(name)).resolve()
    if not isinstance(name, str) or not path.is_relative_to(folder.resolve()):
        raise SourceError(
            "transforms.json file_path", name, "does not lie in the folder", remedy="use relative paths"
        )
    return path


def _camera(tree: dict[str, Any], color: Path) -> Intrinsics | None:
    size = (int(tree["w"]), int(tree["h"])) if "w" in tree and "h" in tree else first_size({0: color})
    focal = tree.get("fl_x")
    if focal is None and "camera_angle_x" in tree:
        focal = size[0] / 2 / math.tan(float(tree["camera_angle_x"]) / 2)
    if focal is None:
        raise KeyError("fl_x")
    focal = float(focal)
    center = (float(tree.get("cx", size[0] / 2)), float(tree.get("cy", size[1] / 2)))
    return fitted(focal, float(tree.get("fl_y", focal)), *center, size)
