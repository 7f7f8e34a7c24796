"""TartanAir and TartanGround: ``image_left``, ``depth_left`` and ``pose_left.txt``, or ``lcam_front`` for ``left``.

Depth is ``.npy`` in metres, or in newer parts a PNG whose four channels are the bytes of a float.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import CameraAxes, WorldUp
from lastseen.images import read_packed_floats
from lastseen.sources.layouts.files import by_number, first_size, numbered, read_numbers
from lastseen.sources.layouts.plain import other_count
from lastseen.sources.layouts.sequence import FRAME_RATE, NO_STAMPS, Sequence, Shot, converted, fitted, pose_matrix
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

CAMERAS = ("left", "lcam_front", "right", "rcam_front", "lcam_left", "lcam_right", "lcam_back")
"""Cameras by the ends of their folders' names, in the order in which one is taken."""

FOCAL = 320.0
"""Pixels, for all of its cameras; the principal point is the middle of the image."""

_NED = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=np.float64)
"""From its axes (forward, right, down), of camera and world, to OpenCV's (right, down, forward)."""


def matches(path: Path) -> bool:
    """Whether a folder holds colour and depth of one of its cameras."""
    return _camera(path) is not None


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a trajectory: a line of ``pose_left.txt`` for each image; its world has y right and z down."""
    name = _camera(path) or CAMERAS[0]
    intake = Intake(notes=[NO_STAMPS])
    colors, depths = numbered(path / f"image_{name}"), numbered(path / f"depth_{name}", (".npy", ".png"))
    pairs = by_number(colors, depths, intake)
    poses: dict[int, NDArray[np.float64] | None] = {}
    if options.poses == "recorded":
        rows = read_numbers(path / f"pose_{name}.txt", columns=7)
        if len(rows) <= max(colors):
            raise other_count(f"pose_{name}.txt", len(rows), len(colors))
        for number, row in enumerate(rows):
            pose = pose_matrix(row[:3], row[3:])
            turned = None if pose is None else _NED @ pose @ _NED.T
            poses[number] = converted(turned, CameraAxes.OPENCV, WorldUp.MINUS_Y)
    width, height = first_size(colors)
    return Sequence(
        [Shot(number / FRAME_RATE, color, depth, poses.get(number)) for number, color, depth in pairs],
        fitted(FOCAL, FOCAL, width / 2, height / 2, (width, height)),
        1.0,
        decode_depth=read_packed_floats,
        intake=intake,
        scale_known=True,
    )


def _camera(path: Path) -> str | None:
    return next(
        (name for name in CAMERAS if (path / f"image_{name}").is_dir() and (path / f"depth_{name}").is_dir()), None
    )
