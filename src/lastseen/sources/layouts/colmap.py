"""COLMAP's text model beside depth: ``images/``, ``depth/`` and ``sparse/0/cameras.txt`` and ``images.txt``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, Intrinsics, WorldUp
from lastseen.sources.layouts.files import DEPTHS, first_size, in_order, part, read_text, values_of
from lastseen.sources.layouts.open3d import COLORS, MILLIMETRES
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, converted, pose_matrix
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

MODELS = ("sparse/0", "sparse", "colmap/sparse/0", "")
"""Folders in which the model lies."""

DEPTH_FOLDERS = ("depth", "depths", "depth_images")
_FREE = "COLMAP knows neither metres nor the vertical: poses need the scale of the depth (the doctor measures both)"
_PINHOLES = {"SIMPLE_PINHOLE": 1, "SIMPLE_RADIAL": 1, "RADIAL": 1, "PINHOLE": 2, "OPENCV": 2, "FULL_OPENCV": 2}
"""Models with a focal length, or two, and then the principal point; what follows is distortion."""

HALF_PIXEL = 0.5
"""COLMAP counts from the corner of the first pixel, not from its middle."""


def matches(path: Path) -> bool:
    """Whether a folder has images and a model of them."""
    return part(path, *COLORS) is not None and _model(path) is not None


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a model's images: poses are T_camera_world, in a world whose y is taken for down."""
    model = _model(path) or path
    if not (model / "images.txt").is_file():
        raise SourceError(
            "images.bin", str(model), "is binary", remedy="colmap model_converter --output_type TXT writes it as text"
        )
    folder, depth_folder = part(path, *COLORS) or path / "images", part(path, *DEPTH_FOLDERS)
    if depth_folder is None:
        raise SourceError("depth", str(path), "is no folder", remedy="add depth images named like the colour images")
    deep = (file for file in sorted(depth_folder.rglob("*")) if file.suffix.lower() in DEPTHS)
    depths = {file.relative_to(depth_folder).with_suffix(""): file for file in deep}
    intake = Intake(notes=[NO_STAMPS, _FREE])
    cameras = _cameras(model / "cameras.txt", intake)
    lines = [line.strip() for line in read_text(model / "images.txt").splitlines() if not line.startswith("#")]
    found = {}
    # the other lines list points
    for words in (line.split(maxsplit=9) for line in lines[::2] if line):
        with values_of("images.txt", " ".join(words)[:60], remedy="export the model as text again"):
            _, w, x, y, z, *move = (float(word) for word in words[:8])
            pose, camera, name = pose_matrix(move, (x, y, z, w)), cameras[words[8]], Path(words[9])
            if name.is_absolute() or ".." in name.parts:
                raise ValueError("an image does not lie in the folder")
        found[name] = (None if pose is None else np.asarray(np.linalg.inv(pose), dtype=np.float64), camera)
    names = sorted(found, key=lambda name: in_order(name.as_posix()))
    size = first_size({place: folder / name for place, name in enumerate(names)}) if found else (1, 1)
    shots = []
    for place, name in enumerate(names):
        pose, camera = found[name]
        T_world_camera = converted(pose, CameraAxes.OPENCV, WorldUp.MINUS_Y)
        own = camera.resized(*size)
        shots.append(
            Shot(place / FRAME_RATE, folder / name, depths.get(name.with_suffix("")), T_world_camera, intrinsics=own)
        )
    return Sequence(shots, None, MILLIMETRES, intake=intake)


def _model(path: Path) -> Path | None:
    return next(
        (path / name for name in MODELS for end in ("txt", "bin") if (path / name / f"cameras.{end}").is_file()), None
    )


def _cameras(path: Path, intake: Intake) -> dict[str, Intrinsics]:
    found = {}
    for words in (line.split() for line in read_text(path).splitlines() if line.strip() and line[0] != "#"):
        with values_of(path.name, " ".join(words)[:60], remedy="export the model as text again"):
            number, model, width, height = words[0], words[1], int(words[2]), int(words[3])
            values = [float(word) for word in words[4:]]
            if model not in _PINHOLES:
                raise SourceError(path.name, model, "is no pinhole", remedy="run colmap image_undistorter first")
            focal = values[: _PINHOLES[model]]
            cx, cy, *bent = values[len(focal) :]
            found[number] = Intrinsics(focal[0], focal[-1], cx - HALF_PIXEL, cy - HALF_PIXEL, width, height)
        if any(bent):
            intake.note("distortion is not undone: run colmap image_undistorter first")
    return found
