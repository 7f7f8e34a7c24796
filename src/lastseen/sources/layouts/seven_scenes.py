"""7-Scenes and its kin: ``frame-000000.color.png``, ``.depth.png`` (65535 for nothing) and ``.pose.txt`` (4 x 4).

BundleFusion, 12-Scenes, 3RScan and ScanNet's own exporter add ``info.txt`` or ``_info.txt`` with both cameras, and
3DMatch ``camera-intrinsics.txt``; it may lie beside the frames or one folder above them. Depth may be ``.pgm``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lastseen.errors import SourceError
from lastseen.geometry import CameraAxes, Intrinsics, WorldUp
from lastseen.sources.layouts.cameras import read_table
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, matrix, numbered, read_text, values_of
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, converted, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

FOCAL, CENTER = 585.0, (320.0, 240.0)
"""The Kinect's intrinsics as 7-Scenes gives them, for images of 640x480."""

UNREGISTERED = "colour and depth of 7-Scenes are not registered: outlines lie some pixels beside each other"
_INFOS, _LEVELLED = ("info.txt", "_info.txt"), "_info.txt"
"""Files about the cameras; where the second one is, as in 3RScan and ScanNet, the world has z up."""


def matches(path: Path) -> bool:
    """Whether a folder is one of the sequences."""
    return path.is_dir() and any(path.glob("frame-*.color.*"))


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a sequence. Its world is that of the first camera, where y points down, or has z up (``_info.txt``)."""
    intake = Intake(notes=[NO_STAMPS])
    colors = numbered(path, contains=".color.")
    depths = numbered(path, (*DEPTHS, ".pgm"), contains=".depth.", without=".rendered.")
    poses = numbered(path, (".txt",), contains=".pose.") if options.poses == "recorded" else {}
    info = _beside(path, _INFOS)
    up = WorldUp.Z if info is not None and info.name == _LEVELLED else WorldUp.MINUS_Y
    shots = [
        Shot(
            number / FRAME_RATE,
            color,
            depth,
            converted(matrix(poses[number]), CameraAxes.OPENCV, up) if number in poses else None,
        )
        for number, color, depth in by_number(colors, depths, intake)
    ]
    size, depth_size = first_size(colors), first_size(depths)
    if info is not None:
        camera, depth_camera, scale = _described(info, size, depth_size)
        return Sequence(shots, camera, scale, depth_camera, invalid_depth=65535, intake=intake, scale_known=True)
    table = _beside(path, ("camera-intrinsics.txt",))
    if table is not None:
        camera = read_table(table, size)
    elif options.fx and options.fy:
        return Sequence(shots, None, 1000.0, invalid_depth=65535, intake=intake)
    elif size == depth_size == (640, 480):
        intake.note(UNREGISTERED)
        camera = fitted(FOCAL, FOCAL, *CENTER, size)
    else:
        raise SourceError(
            "info.txt",
            str(path),
            f"is missing, and images of {size[0]}x{size[1]} are not of 7-Scenes' camera",
            remedy="copy _info.txt too, or --set fx=... --set fy=...",
        )
    return Sequence(shots, camera, 1000.0, invalid_depth=65535, intake=intake)


def _beside(path: Path, names: tuple[str, ...]) -> Path | None:
    places = (folder / name for folder in (path, path.resolve().parent) for name in names)
    return next((place for place in places if place.is_file()), None)


def _described(
    path: Path, size: tuple[int, int], depth_size: tuple[int, int]
) -> tuple[Intrinsics, Intrinsics | None, float]:
    """Both cameras and raw values per metre, of lines such as ``m_depthShift = 1000``."""
    lines = (line.partition("=") for line in read_text(path).splitlines())
    values = {name.strip(): text.split() for name, _, text in lines}
    cameras = []
    with values_of(path.name, str(path), remedy="copy it again"):
        for kind, own in (("Color", size), ("Depth", depth_size)):
            k = np.array([float(word) for word in values[f"m_calibration{kind}Intrinsic"]]).reshape(-1, 4)
            width, height = (int(values[f"m_{kind.lower()}{name}"][0]) for name in ("Width", "Height"))
            cameras.append(Intrinsics(k[0, 0], k[1, 1], k[0, 2], k[1, 2], width, height).resized(*own))
        scale = float(values["m_depthShift"][0])
    if not scale > 0:
        raise SourceError(f"{path.name} m_depthShift", scale, "must be positive", remedy="1000 for millimetres")
    return cameras[0], cameras[1], scale
