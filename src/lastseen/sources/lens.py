"""Lens distortion, and the undistorted image a pinhole would have seen.

Everything after conversion projects by a pinhole. A raw image of a wide lens fits none, so it is undistorted once,
where it is read: colour between its pixels, depth from the nearest one, by maps that are computed once per camera.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.conversion import Box, Scalar

PLUMB_BOB, RATIONAL, EQUIDISTANT = "plumb_bob", "rational_polynomial", "equidistant"

MODELS = {PLUMB_BOB: (4, 5), RATIONAL: (8, 12), EQUIDISTANT: (4,), "radtan": (4, 5), "fisheye": (4,)}
"""Names of lens models as ROS and Kalibr write them, and how many coefficients each may have."""

_SAME = {"radtan": PLUMB_BOB, "fisheye": EQUIDISTANT}
_STEPS = 20
_NEGLIGIBLE = 1e-9
_FOUND = 0.01
"""How near the iteration must come to a point of the plane at distance 1: a few pixels, it is slow at the rim."""
_FIXED = 256
"""Steps between two pixels that colour is mixed in: the grey levels it has."""
_BAND = 1 << 16
"""Pixels worked on at a time, so that the largest image needs little more than its maps of 13 bytes per pixel."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lens:
    """A lens model with its coefficients in the order of OpenCV: k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4."""

    model: str
    coefficients: tuple[float, ...]

    @classmethod
    def of(cls, model: str, coefficients: tuple[float, ...]) -> Lens | None:
        """The lens of a calibration; None for one without distortion. An unknown model raises ``SourceError``."""
        if not np.isfinite(coefficients).all():
            raise SourceError("lens", list(coefficients), "must be finite", remedy="calibrate the camera")
        if not any(abs(value) > _NEGLIGIBLE for value in coefficients):
            return None
        counts = MODELS.get(model or PLUMB_BOB)
        if counts is None:
            raise SourceError("lens model", model, "is not undone here", remedy=f"known: {', '.join(sorted(MODELS))}")
        # tools pad the list with zeros to a length they like
        used = max(at for at, value in enumerate(coefficients, start=1) if abs(value) > _NEGLIGIBLE)
        if used > counts[-1]:
            raise SourceError(
                "lens", list(coefficients), f"has more than the {counts[-1]} numbers of {model}", remedy="rectify it"
            )
        return cls(_SAME.get(model, model or PLUMB_BOB), coefficients[:used])

    def distort(self, points: Floats) -> Floats:
        """Where the lens puts points (..., 2) of the plane at distance 1."""
        k = (*self.coefficients, *[0.0] * (12 - len(self.coefficients)))
        x, y = points[..., 0], points[..., 1]
        r2 = x * x + y * y
        if self.model == EQUIDISTANT:
            radius = np.sqrt(r2)
            angle = np.arctan(radius)
            a2 = angle * angle
            bent = angle * (1.0 + a2 * (k[0] + a2 * (k[1] + a2 * (k[2] + a2 * k[3]))))
            return points * np.where(radius > 1e-12, bent / np.maximum(radius, 1e-12), 1.0)[..., np.newaxis]
        radial = 1.0 + r2 * (k[0] + r2 * (k[1] + r2 * k[4]))
        radial = radial / (1.0 + r2 * (k[5] + r2 * (k[6] + r2 * k[7])))
        dx = 2.0 * k[2] * x * y + k[3] * (r2 + 2.0 * x * x) + r2 * (k[8] + r2 * k[9])
        dy = k[2] * (r2 + 2.0 * y * y) + 2.0 * k[3] * x * y + r2 * (k[10] + r2 * k[11])
        return np.stack([x * radial + dx, y * radial + dy], axis=-1)

    def undistort(self, points: Floats) -> Floats:
        """The points that ``distort`` maps here, found by iteration; NaN beyond the lens's rim."""
        if self.model == EQUIDISTANT:
            # far out the plane runs to infinity: what lies beyond 85 degrees stays at 85
            wanted = np.linalg.norm(points, axis=-1)
            angle = np.minimum(wanted, np.radians(85.0))
            for _ in range(_STEPS):
                reached = np.linalg.norm(self.distort(np.stack([np.tan(angle), 0.0 * angle], axis=-1)), axis=-1)
                angle = np.clip(angle + wanted - reached, 0.0, np.radians(85.0))
            scale = np.where(wanted > 1e-12, np.tan(angle) / np.maximum(wanted, 1e-12), 1.0)
            return points * scale[..., np.newaxis]
        found = points.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(_STEPS):
                found = found + (points - self.distort(found))
            missed = np.linalg.norm(points - self.distort(found), axis=-1)
        found[~(missed < _FOUND)] = np.nan
        return found


class Undistorter:
    """Undistorts the images of one camera; the maps are made for the first image's size and kept."""

    def __init__(self, camera: Intrinsics, lens: Lens) -> None:
        self.camera, self.lens = camera, lens
        self._size = (0, 0)
        self._nearest: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._outside: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self._first: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        """The pixel up and to the left of where a pixel comes from; ``_right`` and ``_down`` tell how far beyond."""
        self._right: NDArray[np.uint16] = np.empty(0, dtype=np.uint16)
        self._down: NDArray[np.uint16] = np.empty(0, dtype=np.uint16)

    def color(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The undistorted colour image; black where the lens saw nothing."""
        self._prepare(image.shape)
        flat = image.reshape(-1, image.shape[2])
        mixed = np.empty_like(flat)
        last = len(flat) - 1
        for band in _bands(len(flat)):
            first = self._first[band]
            right, down = (share[band, np.newaxis].astype(np.uint32) for share in (self._right, self._down))
            # beside the last column or row the other neighbour counts nothing, so it may be any pixel
            above, below = (
                flat[np.minimum(start, last)] * (_FIXED - right) + flat[np.minimum(start + 1, last)] * right
                for start in (first, first + image.shape[1])
            )
            total = above * (_FIXED - down) + below * down
            mixed[band] = (total + _FIXED * _FIXED // 2) // (_FIXED * _FIXED)
        mixed[self._outside] = 0
        return mixed.reshape(image.shape)

    def depth(self, image: NDArray[Scalar]) -> NDArray[Scalar]:
        """The undistorted depth image; 0 where the lens saw nothing. Values of two surfaces are never mixed."""
        self._prepare(image.shape)
        undistorted: NDArray[Scalar] = image.reshape(-1)[self._nearest]
        undistorted[self._outside] = 0
        return undistorted.reshape(image.shape)

    def box(self, box: Box, size: tuple[int, int]) -> Box | None:
        """The box around what a box of a raw image of this width and height shows, in the undistorted one.

        None where the undistorted image shows nothing of it.
        """
        left, top, right, bottom = box
        share = np.linspace(0.0, 1.0, 9)
        x, y = left + share * (right - left), top + share * (bottom - top)
        sides = ((x, np.full(9, top)), (x, np.full(9, bottom)), (np.full(9, left), y), (np.full(9, right), y))
        edge = np.concatenate([np.stack(side, axis=-1) for side in sides])
        camera = self.camera.resized(*size)
        focal, center = np.array([camera.fx, camera.fy]), np.array([camera.cx, camera.cy])
        # a box counts from the edge of a pixel, a camera from its middle
        found = self.lens.undistort((edge - 0.5 - center) / focal) * focal + center + 0.5
        found = found[np.isfinite(found).all(axis=1)]
        if not len(found):
            return None
        low, high = (np.clip(corner, 0.0, np.array(size)) for corner in (found.min(axis=0), found.max(axis=0)))
        if not (low < high).all():
            return None
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    def _prepare(self, shape: tuple[int, ...]) -> None:
        height, width = shape[:2]
        if self._size == (width, height):
            return
        pixels = width * height
        self._nearest, self._first = (np.empty(pixels, dtype=np.int32) for _ in range(2))
        self._right, self._down = (np.empty(pixels, dtype=np.uint16) for _ in range(2))
        self._outside = np.empty(pixels, dtype=np.bool_)
        for band in _bands(pixels):
            self._map(band, width, height)
        self._size = (width, height)

    def _map(self, band: slice, width: int, height: int) -> None:
        """Where the pixels of a band of the undistorted image come from."""
        # the coefficients are of the plane at distance 1: they hold for any size of the same image
        camera = self.camera.resized(width, height)
        v, u = np.divmod(np.arange(band.start, band.stop, dtype=np.float64), width)
        plane = np.stack([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy], axis=-1)
        distorted = self.lens.distort(plane)
        # a polynomial turns back beyond the lens's rim, and would show the image twice
        back = np.linalg.norm(self.lens.distort(plane * 1.001), axis=1) <= np.linalg.norm(distorted, axis=1)
        back &= np.linalg.norm(plane, axis=1) > 1e-6
        x, y = distorted[:, 0] * camera.fx + camera.cx, distorted[:, 1] * camera.fy + camera.cy
        inside = ~back & (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
        x, y = np.where(inside, x, 0.0).clip(0, width - 1), np.where(inside, y, 0.0).clip(0, height - 1)
        column, row = np.floor(x), np.floor(y)
        self._outside[band] = ~inside
        self._nearest[band] = np.rint(y) * width + np.rint(x)
        self._first[band] = row * width + column
        self._right[band] = np.rint((x - column) * _FIXED)
        self._down[band] = np.rint((y - row) * _FIXED)


def _bands(pixels: int) -> Iterator[slice]:
    return (slice(start, min(start + _BAND, pixels)) for start in range(0, pixels, _BAND))
