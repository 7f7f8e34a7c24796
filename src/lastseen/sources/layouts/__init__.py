"""Recordings as datasets and apps store them, found by looking at the folder; one module per layout."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from lastseen.errors import SourceError
from lastseen.sources.layouts.sequence import SequenceSource
from lastseen.sources.options import SourceOptions

LAYOUTS = {
    "TUM": "tum",
    "Record3D": "record3d",
    "7-Scenes": "seven_scenes",
    "ScanNet": "scannet",
    "Replica": "replica",
    "nerfstudio": "nerfstudio",
    "Polycam": "polycam",
    "Stray Scanner": "stray",
    "ARKitScenes": "arkit_scenes",
    "Open3D": "open3d",
    "video with depth": "video",
}
"""Name and module, in the order in which they are tried: the more telling ones first."""


def layout_of(path: Path) -> str | None:
    """The layout of a folder or file; None where it is of none."""
    return next((name for name, module in LAYOUTS.items() if _module(module).matches(path)), None)


def open_layout(path: str | Path, options: SourceOptions | None = None) -> SequenceSource:
    """Open a recording in one of the layouts."""
    name = layout_of(Path(path))
    if name is None:
        known = ", ".join(LAYOUTS)
        raise SourceError("source", str(path), "is of no known layout", remedy=f"there are {known}: docs/sources.md")
    return SequenceSource(path, options, layout=name, read=_module(LAYOUTS[name]).read)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"lastseen.sources.layouts.{name}")
