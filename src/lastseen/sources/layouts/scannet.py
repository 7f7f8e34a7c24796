"""ScanNet as its reader exports it: ``color/N.jpg``, ``depth/N.png`` (mm), ``pose/N.txt``, ``intrinsic/``."""

from __future__ import annotations

import glob
from pathlib import Path

from lastseen.geometry import Intrinsics
from lastseen.sources.layouts import cameras
from lastseen.sources.layouts.cameras import read_table
from lastseen.sources.layouts.files import DEPTHS, by_number, first_size, matrix, numbered, read_text
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, fitted
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake


def matches(path: Path) -> bool:
    """Whether a folder is an exported scan."""
    return (path / "pose").is_dir() and (path / "color").is_dir() and (path / "depth").is_dir()


def read(path: Path, _options: SourceOptions) -> Sequence:
    """List a scan; its world has z up. Frames that lost track hold -inf and are left out."""
    intake = Intake(notes=[NO_STAMPS])
    colors, depths = numbered(path / "color"), numbered(path / "depth", DEPTHS)
    poses = numbered(path / "pose", (".txt",))
    shots = [
        Shot(number / FRAME_RATE, color, depth, matrix(poses[number]) if number in poses else None)
        for number, color, depth in by_number(colors, depths, intake)
    ]
    camera = read_camera(path, "color", first_size(colors))
    # depth has a size of its own, so that colour's numbers are not its
    own = None if camera is None else read_camera(path, "depth", first_size(depths))
    return Sequence(shots, camera, 1000.0, own, intake=intake)


def read_camera(path: Path, kind: str, size: tuple[int, int]) -> Intrinsics | None:
    """The intrinsics of colour or depth: in ``intrinsic``, beside the images, or in the scan's own text."""
    places = [
        path / "intrinsic" / f"intrinsic_{kind}.txt",
        path / f"intrinsic_{kind}.txt",
        path / f"intrinsics_{kind}.txt",
        path / "intrinsic.txt",
    ]
    found = next((place for place in places if place.is_file()), None)
    if found is not None:
        return read_table(found, size)
    # named like the scan, which the folder may not be
    for about in sorted({*path.glob("scene*.txt"), *path.glob(f"{glob.escape(path.resolve().name)}.txt")}):
        # lines such as: fx_color = 1170.187988
        words = [line.partition("=") for line in read_text(about).splitlines()]
        values = {name.strip(): value.strip() for name, _, value in words}
        try:
            fx, fy, cx, cy = (float(values[f"{name}_{kind}"]) for name in ("fx", "fy", "mx", "my"))
        except (KeyError, ValueError):
            continue
        return fitted(fx, fy, cx, cy, size)
    other = cameras.read_camera(path, size) if kind == "color" else None
    return None if other is None else other[0]
