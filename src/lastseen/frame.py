"""One RGB-D image with its pose and its timestamp."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, StampError
from lastseen.finite import FARTHEST, LATEST, is_finite
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.pose2d import Pose2D

WIDEST = 20.0
"""Metres to the side that a camera may see for each metre ahead: 87 degrees off its axis, wider than any lens."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One RGB-D image with its pose; depth is metres along the camera's z, NaN where nothing was measured.

    Colour and depth share one optical centre and may differ in size; ``depth_intrinsics`` is then required.
    The arrays become read-only: a frame is shared between perception, memory and viewer without copies.
    ``has_camera`` is false for observations that came without an image (``Frame.without_camera``): what is not among
    them says nothing.
    """

    id: int
    stamp: float
    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    T_world_camera: Pose3D
    intrinsics: Intrinsics
    depth_intrinsics: Intrinsics | None = None
    has_camera: bool = True

    @classmethod
    def without_camera(cls, id: int, stamp: float, T_world_camera: Pose3D) -> Frame:  # noqa: A002
        """A frame for observations made elsewhere, of which no image is known; its own images are blank."""
        blank = Intrinsics.from_fov(8, 8, horizontal_deg=79.0)
        rgb = np.zeros((blank.height, blank.width, 3), dtype=np.uint8)
        depth = np.full((blank.height, blank.width), np.nan, dtype=np.float32)
        return cls(id, stamp, rgb, depth, T_world_camera, blank, has_camera=False)

    def __post_init__(self) -> None:
        if isinstance(self.id, bool) or not isinstance(self.id, int) or self.id < 0:
            raise InvalidValue("frame.id", self.id, "must be a whole number from 0", remedy="count the frames")
        if not is_finite(self.stamp) or abs(self.stamp) > LATEST:
            raise InvalidValue(
                "frame.stamp", self.stamp, f"must be finite, within {LATEST:g} s", remedy="give seconds on one clock"
            )
        object.__setattr__(self, "stamp", float(self.stamp))
        if not isinstance(self.T_world_camera, Pose3D):
            raise InvalidValue(
                "frame.T_world_camera", self.T_world_camera, "must be a Pose3D", remedy="use Pose3D.from_matrix"
            )
        if np.abs(self.T_world_camera.translation).max() > FARTHEST:
            raise InvalidValue(
                "frame.T_world_camera",
                self.T_world_camera.translation,
                f"is beyond {FARTHEST:g} m",
                remedy="give the position in metres",
            )
        _check_view("intrinsics", self.intrinsics)
        _check_view("depth_intrinsics", self.camera_of_depth)
        _check_image("rgb", self.rgb, np.dtype(np.uint8), self.intrinsics, channels=3)
        _check_image("depth", self.depth, np.dtype(np.float32), self.camera_of_depth, channels=0)
        # one comparison tells 0, negative and infinite values at once; NaN compares false and passes
        if bool(((self.depth <= 0.0) | (self.depth == np.inf)).any()):
            raise InvalidValue(
                "frame.depth",
                self.depth,
                "holds values that are not distances (0, negative or infinite)",
                remedy="mark missing depth with NaN; metric_depth() does it for sensor values",
            )
        self.rgb.flags.writeable = False
        self.depth.flags.writeable = False

    @property
    def camera_of_depth(self) -> Intrinsics:
        """The intrinsics that belong to the depth image."""
        return self.depth_intrinsics or self.intrinsics

    @property
    def floor_pose(self) -> Pose2D:
        """Where the camera is over the floor, facing along its optical axis."""
        return floor_pose(self.T_world_camera)

    def points(self) -> NDArray[np.float32]:
        """Points (height, width, 3) of the depth image in the camera frame; NaN where depth is missing."""
        return self.camera_of_depth.unproject_image(self.depth)


def floor_pose(pose: Pose3D, *, ahead: int = 2) -> Pose2D:
    """Where a camera is over the floor, facing along its optical axis; with ``ahead=0`` a base, along its x axis."""
    forward = pose.rotation[:, ahead]
    x, y, _ = pose.translation
    return Pose2D(float(x), float(y), math.atan2(forward[1], forward[0]))


class StampOrder:
    """Refuses a stamp older than the one before it: memory takes its time from frames and cannot run backwards."""

    last: float | None = None

    def accept(self, stamp: float) -> None:
        """Take the next stamp of the session; equal stamps pass, older ones raise and change nothing."""
        if self.last is not None and stamp < self.last:
            raise StampError(
                "frame.stamp",
                stamp,
                f"is {self.last - stamp:.3f} s before the last frame of this session ({self.last})",
                remedy="sort the frames by stamp, or start a new session",
            )
        self.last = stamp


def metric_depth(raw: NDArray[np.generic], *, scale: float) -> NDArray[np.float32]:
    """Turn sensor values into metres: value / scale, with 0, negative and non-finite values as NaN.

    >>> metric_depth(np.array([[0, 5000]], dtype=np.uint16), scale=5000.0)
    array([[nan,  1.]], dtype=float32)
    """
    if not math.isfinite(scale) or scale <= 0:
        raise InvalidValue("depth_scale", scale, "must be positive", remedy="1000 for millimetres, 5000 for TUM")
    depth = raw.astype(np.float32) / np.float32(scale)
    depth[~(depth > 0.0) | (depth == np.inf)] = np.nan
    return depth


def _check_view(name: str, camera: Intrinsics) -> None:
    """Refuse a camera that sees past its own sides: the space in its view would have no end."""
    sideways = max(abs(camera.cx), abs(camera.width - camera.cx)) / camera.fx
    updown = max(abs(camera.cy), abs(camera.height - camera.cy)) / camera.fy
    if max(sideways, updown) > WIDEST:
        raise InvalidValue(
            f"frame.{name}",
            camera,
            f"sees {max(sideways, updown):.3g} m aside per metre ahead, more than {WIDEST:g}",
            remedy="give fx, fy, cx and cy in pixels of this image",
        )


def _check_image(name: str, image: object, dtype: np.dtype[np.generic], camera: Intrinsics, *, channels: int) -> None:
    shape = (camera.height, camera.width, *([channels] if channels else []))
    if not isinstance(image, np.ndarray) or image.dtype != dtype:
        found = image.dtype if isinstance(image, np.ndarray) else type(image).__name__
        raise InvalidValue(
            f"frame.{name}", image, f"must be a {dtype} array, not {found}", remedy=f"use .astype('{dtype}')"
        )
    if image.shape != shape:
        remedy = "give depth_intrinsics when depth has another size" if name == "depth" else "match the intrinsics"
        raise InvalidValue(f"frame.{name}", image, f"must have shape {shape}", remedy=remedy)
