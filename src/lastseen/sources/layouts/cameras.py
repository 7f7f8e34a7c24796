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
_JSON = tuple(f"{name}.json" for name in JSON_FILES)
_TEXT = tuple(f"{name}{end}" for name in TEXT_FILES for end in (".txt", ".csv"))
_MATRICES = ("intrinsic_matrix", "camera_matrix", "K", "k", "matrix")
_WITHIN = ("camera", "color", "rgb", "intrinsics", "intrinsic")

_WIDTHS, _HEIGHTS = ("width", "image_width", "w"), ("height", "image_height", "h")
_SCALES = ("depth_scale", "depth_factor", "depth_map_factor", "png_depth_scale", "depth_unit_scale_factor")

OTHER_SHAPE = 0.02
"""Share by which width over height of images may differ from that of the camera: sizes are rounded."""

METRES_A_UNIT = 0.5
"""A depth_scale below it is the length of a unit, as RealSense gives it (0.001), not values per metre."""


def read_camera(folder: Path, size: tuple[int, int]) -> tuple[Intrinsics, float | None] | None:
    """Intrinsics for images of a size, and raw values of depth per metre where they are said; None without a file."""
    described, table = part(folder, *_JSON), part(folder, *_TEXT)
    if described is not None:
        return _of_json(described, size)
    return None if table is None else (read_table(table, size), None)


def has_camera(folder: Path) -> bool:
    """Whether a folder has a file that ``read_camera`` reads."""
    return part(folder, *_JSON, *_TEXT) is not None


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
        width, height = (next((int(tree[key]) for key in keys if key in tree), 0) for keys in (_WIDTHS, _HEIGHTS))
        scale = next((float(tree[name]) for name in _SCALES if name in tree), None)
    per_metre = None if scale is None else values_per_metre(scale, path.name)
    if width <= 0 or height <= 0:
        return fitted(fx, fy, cx, cy, size), per_metre
    if abs(width * size[1] / (height * size[0]) - 1) > OTHER_SHAPE:
        raise SourceError(
            path.name,
            f"{width}x{height}",
            f"is not the shape of the images, {size[0]}x{size[1]}",
            remedy="give the camera of the images as they are stored",
        )
    return Intrinsics(fx, fy, cx, cy, width, height).resized(*size), per_metre


def _of_matrix(found: Any) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy of three rows, or of nine numbers row by row or, as Open3D writes them, column by column."""
    found = found.get("data", found) if isinstance(found, dict) else found
    k = [float(value) for row in found for value in (row if isinstance(row, list) else [row])]
    if len(k) != 9:
        raise ValueError(f"a matrix of {len(k)} numbers")
    return (k[0], k[4], k[2], k[5]) if k[2] else (k[0], k[4], k[6], k[7])
