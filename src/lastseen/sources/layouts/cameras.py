"""The camera of a folder, in a JSON or text file beside the images, by any of the usual names and forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.files import matrix, part, read_json, read_numbers, values_of
from lastseen.sources.layouts.sequence import fitted

JSON_FILES = (
    "camera_intrinsic",
    "intrinsic",
    "intrinsics",
    "camera",
    "camera_info",
    "camera_intrinsics",
    "calibration",
)
TEXT_FILES = (
    "intrinsic",
    "intrinsics",
    "camera_intrinsics",
    "camera-intrinsics",
    "camera_matrix",
    "calibration",
    "k",
)
_MATRICES = ("intrinsic_matrix", "camera_matrix", "K", "k", "matrix")
_WITHIN = ("camera", "color", "rgb", "intrinsics", "intrinsic")

METRES_A_UNIT = 0.5
"""A depth_scale below it is the length of a unit, as RealSense gives it (0.001), not values per metre."""


def read_camera(folder: Path, size: tuple[int, int]) -> tuple[Intrinsics, float | None] | None:
    """Intrinsics for images of a size, and raw values of depth per metre where they are said; None without a file."""
    described = part(folder, *(f"{name}.json" for name in JSON_FILES))
    if described is not None:
        return _of_json(described, size)
    table = part(folder, *(f"{name}{end}" for name in TEXT_FILES for end in (".txt", ".csv")))
    return None if table is None else (read_table(table, size), None)


def read_table(path: Path, size: tuple[int, int]) -> Intrinsics:
    """Intrinsics of a text file: a matrix, or one line ``fx fy cx cy``."""
    rows = read_numbers(path)
    if rows.shape == (1, 4):
        fx, fy, cx, cy = rows[0].tolist()
        return fitted(fx, fy, cx, cy, size)
    k = rows.reshape(3, 3) if rows.shape == (1, 9) else matrix(path)
    return fitted(float(k[0, 0]), float(k[1, 1]), float(k[0, 2]), float(k[1, 2]), size)


def values_per_metre(scale: float, name: str) -> float:
    """Raw values of depth per metre, of a number that may also be the metres of one value."""
    if not scale > 0:
        raise SourceError(f"{name} depth_scale", scale, "must be positive", remedy="1000 for millimetres")
    return 1.0 / scale if scale < METRES_A_UNIT else scale


def _of_json(path: Path, size: tuple[int, int]) -> tuple[Intrinsics, float | None]:
    tree = read_json(path)
    inner: dict[str, Any] = next((tree[name] for name in _WITHIN if isinstance(tree.get(name), dict)), {})
    tree = {**inner, **tree}
    with values_of(path.name, str(path), remedy="give fx, fy, cx, cy as numbers, or a matrix K"):
        found = next((tree[name] for name in _MATRICES if name in tree), None)
        if found is not None:
            tree |= dict(zip(("fx", "fy", "cx", "cy"), _of_matrix(found), strict=True))
        fx, fy, cx, cy = (float(tree[name]) for name in ("fx", "fy", "cx", "cy"))
        scale = None if "depth_scale" not in tree else float(tree["depth_scale"])
    return fitted(fx, fy, cx, cy, size), None if scale is None else values_per_metre(scale, path.name)


def _of_matrix(found: Any) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy of three rows, or of nine numbers row by row or, as Open3D writes them, column by column."""
    found = found.get("data", found) if isinstance(found, dict) else found
    k = [float(value) for row in found for value in (row if isinstance(row, list) else [row])]
    if len(k) != 9:
        raise ValueError(f"a matrix of {len(k)} numbers")
    return (k[0], k[4], k[2], k[5]) if k[2] else (k[0], k[4], k[6], k[7])
