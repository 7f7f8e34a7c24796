"""Frames with something to see in them, for tests that look at colour only."""

from __future__ import annotations

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D

NO_TORCH = "torch is not installed: pip install 'lastseen[torch]'"


def view(seed: int = 0, *, width: int = 80, height: int = 60, depth_scale: int = 1) -> Frame:
    """A frame of coarse random patches, so that it still looks like itself when it is resized."""
    patches = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    camera = Intrinsics.from_fov(width, height, horizontal_deg=79)
    small = Intrinsics.from_fov(width // depth_scale, height // depth_scale, horizontal_deg=79)
    return Frame(
        id=seed,
        stamp=float(seed),
        rgb=np.ascontiguousarray(patches[np.arange(height) * 6 // height][:, np.arange(width) * 8 // width]),
        depth=np.full((small.height, small.width), 2.0, np.float32),
        T_world_camera=Pose3D.identity(),
        intrinsics=camera,
        depth_intrinsics=small,
    )
