"""Depth of one camera as another one beside it would have measured it: points are moved and projected anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Intrinsics, Pose3D

SAME_PLACE = 1e-4
"""Metres and radians below which two cameras count as one: less than a hundredth of a pixel."""


def stand_apart(T_color_depth: Pose3D) -> bool:
    """Whether two cameras are so far apart that depth must be registered."""
    moved = float(np.linalg.norm(T_color_depth.translation))
    return max(moved, T_color_depth.angle_to(Pose3D.identity())) > SAME_PLACE


def register_depth(
    depth: NDArray[np.generic],
    *,
    camera: Intrinsics,
    color_camera: Intrinsics,
    T_color_depth: Pose3D,
    raw_per_metre: float,
) -> tuple[NDArray[np.generic], Intrinsics]:
    """Depth as seen from the colour camera, in the same raw values, and its intrinsics there.

    It shows the view of the colour image in as many pixels as depth has to give. Each point covers the four pixels
    around it, so that no wall shows through cracks between points; of several points the nearest counts.
    """
    scale = min(1.0, camera.fx / color_camera.fx, camera.fy / color_camera.fy)
    target = color_camera.resized(
        max(1, round(color_camera.width * scale)), max(1, round(color_camera.height * scale))
    )
    # float32 keeps a hundredth of a millimetre at room distances, at half the time
    z = depth.astype(np.float32) / np.float32(raw_per_metre)
    z[~(z > 0.0)] = np.nan
    points = camera.unproject_image(z).reshape(-1, 3)
    points = points[np.isfinite(points[:, 2])]
    moved = points @ T_color_depth.rotation.T.astype(np.float32) + T_color_depth.translation.astype(np.float32)
    moved = moved[moved[:, 2] > 0.0]
    z = moved[:, 2]
    u = target.fx * moved[:, 0] / z + target.cx
    v = target.fy * moved[:, 1] / z + target.cy
    inside = (u > -1.0) & (u < target.width) & (v > -1.0) & (v < target.height)
    column, row, z = np.floor(u[inside]).astype(np.int64), np.floor(v[inside]).astype(np.int64), z[inside]
    # a rim of one pixel takes what falls beside the image
    wide = target.width + 2
    nearest = np.full((target.height + 2) * wide, np.inf, dtype=np.float32)
    at = (row + 1) * wide + column + 1
    for step in (0, 1, wide, wide + 1):
        np.minimum.at(nearest, at + step, z)
    seen = nearest.reshape(target.height + 2, wide)[1:-1, 1:-1]
    raw = np.where(np.isfinite(seen), seen, 0.0) * np.float32(raw_per_metre)
    if depth.dtype.kind in "ui":
        raw = np.minimum(np.rint(raw), float(2 ** (8 * depth.dtype.itemsize) - 1))
    return raw.astype(depth.dtype), target
