"""Small worlds for the tests: a camera that looks at a point, and observations of things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.observation import Observation

CAMERA = Intrinsics.from_fov(80, 60, horizontal_deg=79.0)


def look(eye: Sequence[float], target: Sequence[float]) -> Pose3D:
    """The pose of a camera at ``eye`` that looks at ``target``, upright."""
    forward = np.subtract(target, eye).astype(np.float64)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    matrix = np.eye(4)
    matrix[:3, :3] = np.column_stack([right, np.cross(forward, right), forward])
    matrix[:3, 3] = eye
    return Pose3D.from_matrix(matrix)


def frame_at(
    number: int,
    *,
    stamp: float | None = None,
    eye: Sequence[float] = (0.0, 0.0, 1.2),
    target: Sequence[float] = (2.0, 0.0, 0.8),
    depth: float | NDArray[np.float32] = np.nan,
) -> Frame:
    """A grey image from ``eye`` toward ``target``; without a depth nothing was measured."""
    values = np.full((CAMERA.height, CAMERA.width), depth, dtype=np.float32) if np.isscalar(depth) else depth
    return Frame(
        number,
        float(number) if stamp is None else stamp,
        np.zeros((CAMERA.height, CAMERA.width, 3), dtype=np.uint8),
        np.array(values, dtype=np.float32),
        look(eye, target),
        CAMERA,
    )


def unit(seed: int, dim: int = 16) -> NDArray[np.float32]:
    """A random look."""
    vector = np.random.default_rng(seed).normal(size=dim)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def seen(
    xyz: ArrayLike,
    *,
    eye: Sequence[float] = (0.0, 0.0, 1.2),
    stamp: float = 0.0,
    labels: Mapping[str, float] | None = None,
    embedding: NDArray[np.float32] | None = None,
    size: float | Sequence[float] = 0.1,
    sigma: float = 0.02,
    quality: float = 1.0,
    points: NDArray[np.float32] | None = None,
    crop: bytes | None = None,
) -> Observation:
    """One thing at ``xyz`` seen from ``eye``."""
    extent = np.full(3, size) if np.isscalar(size) else np.array(size)
    return Observation(
        position=np.array(xyz, dtype=np.float64),
        extent=extent.astype(np.float64),
        view_direction=np.subtract(eye, xyz).astype(np.float64),
        stamp=stamp,
        labels=labels or {},
        embedding=embedding,
        points=points,
        sigma=sigma,
        quality=quality,
        crop=crop,
    )
