"""The pinhole camera: from points to pixels and back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastseen.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """Focal lengths and principal point in pixels, and the image size they belong to.

    Pixel (0, 0) is the centre of the upper left pixel, as in OpenCV; the camera looks along +z, x right, y down.

    >>> Intrinsics(fx=500, fy=500, cx=320, cy=240, width=640, height=480).project([[0.0, 0.0, 2.0]])
    array([[320., 240.]])
    """

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int

    def __post_init__(self) -> None:
        for name in ("fx", "fy", "cx", "cy"):
            value = getattr(self, name)
            if not math.isfinite(value):
                raise InvalidValue(f"intrinsics.{name}", value, "must be finite", remedy="calibrate the camera")
            object.__setattr__(self, name, float(value))
        for name in ("fx", "fy"):
            value = getattr(self, name)
            if value <= 0:
                raise InvalidValue(
                    f"intrinsics.{name}", value, "must be positive", remedy="give the focal length in pixels"
                )
        for name in ("width", "height"):
            value = getattr(self, name)
            if int(value) != value or value <= 0:
                raise InvalidValue(
                    f"intrinsics.{name}", value, "must be a positive whole number", remedy="give the image size"
                )
            object.__setattr__(self, name, int(value))

    @classmethod
    def from_fov(cls, width: int, height: int, *, horizontal_deg: float) -> Intrinsics:
        """A camera with square pixels, centred, that sees this many degrees from left to right."""
        if not 0.0 < horizontal_deg < 180.0:
            raise InvalidValue(
                "intrinsics.horizontal_deg", horizontal_deg, "must lie between 0 and 180", remedy="79 is usual"
            )
        focal = width / 2.0 / math.tan(math.radians(horizontal_deg) / 2.0)
        return cls(focal, focal, (width - 1) / 2.0, (height - 1) / 2.0, width, height)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The 3 x 3 camera matrix K."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    def project(self, points: ArrayLike) -> NDArray[np.float64]:
        """Pixels (..., 2) of points (..., 3) in the camera frame; NaN for points at or behind the camera."""
        array = np.asarray(points, dtype=np.float64)
        depth = np.where(array[..., 2] > 0.0, array[..., 2], np.nan)
        return np.stack(
            [self.fx * array[..., 0] / depth + self.cx, self.fy * array[..., 1] / depth + self.cy], axis=-1
        )

    def unproject(self, pixels: ArrayLike, depth: ArrayLike) -> NDArray[np.float64]:
        """Points (..., 3) in the camera frame of pixels (..., 2) at depth (...) along z, in metres."""
        uv = np.asarray(pixels, dtype=np.float64)
        z = np.asarray(depth, dtype=np.float64)
        return np.stack([(uv[..., 0] - self.cx) / self.fx * z, (uv[..., 1] - self.cy) / self.fy * z, z], axis=-1)

    def unproject_image(self, depth: NDArray[np.float32]) -> NDArray[np.float32]:
        """Points (height, width, 3) of a whole depth image, in float32; NaN stays NaN."""
        if depth.shape != (self.height, self.width):
            raise InvalidValue(
                "depth",
                depth,
                f"must be {self.height} x {self.width}",
                remedy="use the intrinsics of this image",
            )
        x = ((np.arange(self.width) - self.cx) / self.fx).astype(np.float32)
        y = ((np.arange(self.height) - self.cy) / self.fy).astype(np.float32)
        points = np.empty((*depth.shape, 3), dtype=np.float32)
        np.multiply(depth, x[np.newaxis, :], out=points[..., 0])
        np.multiply(depth, y[:, np.newaxis], out=points[..., 1])
        points[..., 2] = depth
        return points

    def thinned(self, step: int) -> Intrinsics:
        """The camera of the image that keeps every ``step``-th pixel, from the middle of the first ``step`` on."""
        middle = step // 2
        return Intrinsics(
            self.fx / step,
            self.fy / step,
            (self.cx - middle) / step,
            (self.cy - middle) / step,
            len(range(middle, self.width, step)),
            len(range(middle, self.height, step)),
        )

    def resized(self, width: int, height: int) -> Intrinsics:
        """The same camera after its image was resized: pixel edges map to pixel edges."""
        sx, sy = width / self.width, height / self.height
        return Intrinsics(
            self.fx * sx, self.fy * sy, (self.cx + 0.5) * sx - 0.5, (self.cy + 0.5) * sy - 0.5, width, height
        )

    def contains(self, pixels: ArrayLike) -> NDArray[np.bool_]:
        """Which pixels (..., 2) fall on the image; NaN does not."""
        uv = np.asarray(pixels, dtype=np.float64)
        return (
            (uv[..., 0] >= -0.5)
            & (uv[..., 0] < self.width - 0.5)
            & (uv[..., 1] >= -0.5)
            & (uv[..., 1] < self.height - 0.5)
        )
