"""Compiling before the first frame comes: what perception and object memory need of a frame."""

from __future__ import annotations

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.objects import warm_up as warm_up_memory
from lastseen.perception.pipeline import Perception

_CAMERA = Intrinsics(fx=80.0, fy=80.0, cx=79.5, cy=59.5, width=160, height=120)
_AHEAD = Pose3D.from_quaternion([0.0, 0.0, 1.0], [-0.5, 0.5, -0.5, 0.5])
"""A metre above the floor, looking along x."""
_WALL, _BLOCK = 3.0, 1.5
"""Metres to the wall, and to a block on the floor."""


def warm_up() -> None:
    """Compile what a frame of ``run`` needs, or read it from disk.

    A made-up room is looked at twice, since known surfaces are used from the second frame on; nothing of it is kept.
    """
    warm_up_memory()
    x = (np.arange(_CAMERA.width) - _CAMERA.cx) / _CAMERA.fx
    y = ((np.arange(_CAMERA.height) - _CAMERA.cy) / _CAMERA.fy)[:, np.newaxis]
    depth = np.minimum(_WALL, 1.0 / np.maximum(y, 1e-3)) * np.ones_like(x)
    block = (np.abs(x) < 0.2) & (np.abs(y - 0.35) < 0.25)
    depth[block] = _BLOCK
    rgb = np.full((_CAMERA.height, _CAMERA.width, 3), 200, dtype=np.uint8)
    # stripes, so that the image is neither flat nor blurred, and a spot on the block, for what colour tells
    rgb[:, ::8] = 90
    rgb[block] = (200, 30, 30)
    rgb[(np.abs(x) < 0.08) & (np.abs(y - 0.35) < 0.08)] = (30, 30, 200)
    perception = Perception()
    for number in range(2):
        frame = Frame(number, 10.0 * number, rgb, depth.astype(np.float32), _AHEAD, _CAMERA)
        perceived = perception.perceive(frame)
        for seen in perceived.observations:
            seen.picture()
