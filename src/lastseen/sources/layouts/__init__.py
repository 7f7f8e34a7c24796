"""Recordings as datasets and apps store them, found by looking at the folder; one module per layout."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from lastseen.errors import SourceError
from lastseen.sources.layouts.sequence import SequenceSource
from lastseen.sources.options import SourceOptions

LAYOUTS = {
    "ICL-NUIM": "icl_nuim",
    "TUM": "tum",
    "Record3D": "record3d",
    "7-Scenes": "seven_scenes",
    "3D Scanner App": "scanner_app",
    "RTAB-Map": "rtabmap",
    "TartanAir": "tartan_air",
    "COLMAP": "colmap",
    "ScanNet": "scannet",
    "Replica": "replica",
    "nerfstudio": "nerfstudio",
    "Polycam": "polycam",
    "Stray Scanner": "stray",
    "ARKitScenes": "arkit_scenes",
    "ScanNet++": "scannetpp",
    "SUN3D": "sun3d",
    "RGB-D Scenes v2": "rgbd_scenes",
    "Open3D": "open3d",
    "colour beside depth": "plain",
}
"""Name and module, in the order in which they are tried: the more telling ones first."""

PARTS = {
    "TUM": ("rgb.txt", "depth.txt", "groundtruth.txt"),
    "Record3D": ("metadata", "rgbd"),
    "ScanNet": ("color", "depth", "pose"),
    "Replica": ("results", "traj.txt"),
    "nerfstudio": ("transforms.json", "images"),
    "Polycam": ("keyframes/images", "keyframes/depth", "keyframes/cameras"),
    "Stray Scanner": ("rgb.mp4", "depth", "odometry.csv", "camera_matrix.csv"),
    "ARKitScenes": ("lowres_wide", "lowres_depth", "lowres_wide.traj"),
    "colour beside depth": ("rgb", "depth"),
}
"""What a folder of each layout has at least, to say what one lacks that is of none."""


def layout_of(path: Path) -> str | None:
    """The layout of a folder or file; None where it is of none."""
    return next((name for name, module in LAYOUTS.items() if _module(module).matches(path)), None)


def lacking(path: Path) -> tuple[str, list[str]] | None:
    """The layout whose parts a folder has at least half of, and those it has not; None where it is like none."""
    found = []
    for name, parts in PARTS.items():
        missing = [part for part in parts if not (path / part).exists()]
        if 2 * len(missing) <= len(parts):
            found.append((len(missing) / len(parts), name, missing))
    return min(found)[1:] if found else None


def open_layout(path: str | Path, options: SourceOptions | None = None) -> SequenceSource:
    """Open a recording in one of the layouts."""
    name = layout_of(Path(path))
    if name is None:
        known = ", ".join(LAYOUTS)
        raise SourceError("source", str(path), "is of no known layout", remedy=f"there are {known}: docs/sources.md")
    return SequenceSource(path, options, layout=name, read=_module(LAYOUTS[name]).read)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"lastseen.sources.layouts.{name}")
