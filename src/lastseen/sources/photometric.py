"""How two colour images lie to each other, by their brightness: it tells what depth cannot before a bare wall.

The pixels of a reference with the strongest gradients are put into space by its depth and must meet equal brightness
in the other image (direct alignment, Gauss-Newton from coarse to fine).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lastseen.geometry import Intrinsics

WIDTH = 160
"""Columns of the finest image, about: more costs time, and the registration of depth is as coarse."""

LEVELS = 3
"""Images of the pyramid, each half as wide as the one before; the coarsest follows 8 pixels of motion."""

PIXELS = 2000
"""Pixels of an image that are compared at most: those with the strongest gradients of each small block."""

MIN_GRADIENT = 1.0
"""Brightness (of 255) per pixel below which a pixel shows nothing but noise."""

STEPS = 12
"""Gauss-Newton steps at each level at most."""

MIN_SEEN = 0.4
"""Share of the reference's pixels that must lie in the other image."""

NOISE = 1.0
"""Brightness that equal pixels differ by at least: noise, rounding, changing light."""

SHARED = 30.0
"""Neighbouring pixels whose errors are alike count as one: so many are taken for one measurement."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class GrayImage:
    """Brightness and depth of one image in sizes that halve, with the camera of each (fx, fy, cx, cy)."""

    levels: tuple[tuple[NDArray[np.float32], NDArray[np.float32], tuple[float, float, float, float]], ...]

    @staticmethod
    def of(rgb: NDArray[np.uint8], depth: NDArray[np.float32], camera: Intrinsics) -> GrayImage:
        """From a colour image (rows, columns, 3) and depth in metres of the same view; sizes may differ."""
        step = max(1, round(rgb.shape[1] / WIDTH))
        rows, columns = (rgb.shape[0] // step) * step, (rgb.shape[1] // step) * step
        gray = rgb[:rows, :columns].astype(np.float32) @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
        gray = gray.reshape(rows // step, step, columns // step, step).mean(axis=(1, 3))
        down = ((np.arange(gray.shape[0]) + 0.5) * step * depth.shape[0] / rgb.shape[0]).astype(np.int64)
        right = ((np.arange(gray.shape[1]) + 0.5) * step * depth.shape[1] / rgb.shape[1]).astype(np.int64)
        small = np.asarray(depth[np.ix_(down, right)], dtype=np.float32)
        shrink = step * camera.width / rgb.shape[1]
        center = ((camera.cx + 0.5) / shrink - 0.5, (camera.cy + 0.5) / shrink - 0.5)
        view = (camera.fx / shrink, camera.fy / shrink, *center)
        levels = [(gray, small, view)]
        for _ in range(LEVELS - 1):
            gray, small, view = levels[-1]
            height, width = gray.shape[0] // 2 * 2, gray.shape[1] // 2 * 2
            gray = gray[:height, :width].reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3))
            small = small[:height:2, :width:2]
            fx, fy, cx, cy = view
            levels.append((gray, small, (fx / 2, fy / 2, (cx + 0.5) / 2 - 0.5, (cy + 0.5) / 2 - 0.5)))
        return GrayImage(tuple(levels))

    def likeness(self, other: GrayImage) -> float:
        """Correlation (-1 to 1) of the coarsest images: high where both were taken from nearly the same pose."""
        first, second = (one.levels[-1][0].ravel() for one in (self, other))
        if first.shape != second.shape:
            return -1.0
        first, second = first - first.mean(), second - second.mean()
        return float(first @ second / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-6))


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """T_reference_image (4, 4), and what is known (6, 6) about a small motion of the image: rotation, translation."""

    pose: FloatArray
    information: FloatArray
    error: float


class Reference:
    """An image that others are aligned with: its points with the strongest gradients at each level."""

    def __init__(self, image: GrayImage) -> None:
        self._points = [_strongest(*level) for level in image.levels]

    def align(self, image: GrayImage, start: FloatArray) -> Match | None:
        """Find T_reference_image from a first guess; None where too little of the reference is in the image."""
        pose = _inverse(start)
        match: Match | None = None
        for level in range(LEVELS - 1, -1, -1):
            points, values = self._points[level]
            if len(points) < 50:
                return None
            found = _fit(points, values, image.levels[level], pose)
            if found is None:
                return None
            pose, information, error = found
            match = Match(_inverse(pose), information, error)
        return match


def _strongest(
    gray: NDArray[np.float32], depth: NDArray[np.float32], view: tuple[float, float, float, float]
) -> tuple[FloatArray, FloatArray]:
    """Points (n, 3) and brightness (n,) of the pixels with the strongest gradient in each block of an image."""
    down, right = np.gradient(gray)
    strength = np.where(np.isfinite(depth) & (depth > 0.1), np.hypot(down, right), 0.0)
    strength[:2], strength[-2:], strength[:, :2], strength[:, -2:] = 0.0, 0.0, 0.0, 0.0
    size = max(1, int(np.sqrt(gray.size / PIXELS)))
    rows, columns = gray.shape[0] // size, gray.shape[1] // size
    blocks = strength[: rows * size, : columns * size].reshape(rows, size, columns, size).transpose(0, 2, 1, 3)
    flat = blocks.reshape(rows, columns, -1)
    best = flat.argmax(axis=2)
    row = (np.arange(rows)[:, None] * size + best // size).ravel()
    column = (np.arange(columns)[None, :] * size + best % size).ravel()
    strong = flat.max(axis=2).ravel() > MIN_GRADIENT
    row, column = row[strong], column[strong]
    fx, fy, cx, cy = view
    z = depth[row, column].astype(np.float64)
    points = np.column_stack([(column - cx) / fx * z, (row - cy) / fy * z, z])
    return points, gray[row, column].astype(np.float64)


def _fit(
    points: FloatArray,
    values: FloatArray,
    level: tuple[NDArray[np.float32], NDArray[np.float32], tuple[float, float, float, float]],
    pose: FloatArray,
) -> tuple[FloatArray, FloatArray, float] | None:
    """T_image_reference that gives the points their brightness, its information and the error left."""
    gray, _, (fx, fy, cx, cy) = level
    slopes: list[NDArray[np.float32]] = [np.gradient(gray, axis=0), np.gradient(gray, axis=1)]
    height, width = gray.shape
    best: tuple[FloatArray, FloatArray, float] | None = None
    for _ in range(STEPS):
        moved = points @ pose[:3, :3].T + pose[:3, 3]
        x, y, z = moved.T
        ahead = z > 0.05
        safe = np.where(ahead, z, 1.0)
        u, v = fx * x / safe + cx, fy * y / safe + cy
        inside = ahead & (u > 1) & (v > 1) & (u < width - 2) & (v < height - 2)
        if inside.sum() < max(50, MIN_SEEN * len(points)):
            return None
        x, y, z, u, v = x[inside], y[inside], z[inside], u[inside], v[inside]
        seen, down, right = (_between(image, u, v) for image in (gray, *slopes))
        # exposure differs between two images: the median difference is no motion
        residual = seen - values[inside]
        residual -= np.median(residual)
        spread = max(NOISE, 1.4826 * float(np.median(np.abs(residual))))
        error = float(np.minimum(np.abs(residual), 3 * spread).mean())
        weight = 1.0 / (1.0 + (residual / (1.5 * spread)) ** 2) ** 2
        a, b = right * fx / z, down * fy / z
        c = -(a * x + b * y) / z
        # of a motion exp(xi) in front of the pose: rotation first, then translation
        jacobian = np.column_stack([y * c - z * b, z * a - x * c, x * b - y * a, a, b, c])
        weighted = jacobian * weight[:, None]
        information = jacobian.T @ weighted
        if not np.trace(information) > 0.0:
            # an image of one colour, such as that of a covered lens, shows no motion
            break
        if best is not None and error > best[2] * 0.999:
            break
        best = (pose, information / (SHARED * spread**2), error)
        damped = information + 1e-6 * np.trace(information) * np.eye(6)
        step = -np.linalg.solve(damped, weighted.T @ residual)
        pose = exp(step) @ pose
        if float(np.abs(step).max()) < 1e-5:
            break
    return best


def _between(image: NDArray[np.float32], u: FloatArray, v: FloatArray) -> FloatArray:
    """Values of an image between its pixels."""
    column, row = u.astype(np.int64), v.astype(np.int64)
    right, down = u - column, v - row
    flat, width = image.ravel(), image.shape[1]
    at = row * width + column
    upper = flat[at] * (1 - right) + flat[at + 1] * right
    lower = flat[at + width] * (1 - right) + flat[at + width + 1] * right
    return upper * (1 - down) + lower * down


def _inverse(matrix: FloatArray) -> FloatArray:
    return np.linalg.inv(matrix).astype(np.float64)


def exp(motion: FloatArray) -> FloatArray:
    """The matrix of a small motion: rotation vector, then translation."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = Rotation.from_rotvec(motion[:3]).as_matrix(), motion[3:]
    return matrix


def log(matrix: FloatArray) -> FloatArray:
    """The motion of a matrix, as ``exp`` takes it."""
    return np.concatenate([Rotation.from_matrix(matrix[:3, :3]).as_rotvec(), matrix[:3, 3]])
