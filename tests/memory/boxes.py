"""A memory that has seen boxes: for tests of questions, which are about where things stand, not about seeing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.encoders.colors import COLORS
from lastseen.evaluation.referring import Box
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.observation import Observation

_VIEWS = ((1.0, 0.0, 0.2), (0.0, 1.0, 0.2), (-1.0, 0.0, 0.2))
"""Directions from which each thing is seen once: enough to confirm it."""


def remembered(boxes: list[Box]) -> Memory:
    """A memory that has seen every box three times, each exactly where it is; it ends with the process."""
    memory = Memory.open(image_encoder=ColorShapeEncoder.name, wall_clock=None)
    camera = Intrinsics.from_fov(4, 4, horizontal_deg=60)
    for number, view in enumerate(_VIEWS):
        frame = Frame(
            id=number,
            stamp=float(number),
            rgb=np.zeros((4, 4, 3), np.uint8),
            depth=np.full((4, 4), np.nan, np.float32),
            T_world_camera=Pose3D.from_quaternion([0.0, 0.0, 1.5], [0.0, 0.0, 0.0, 1.0]),
            intrinsics=camera,
        )
        memory.observe(frame, [_observation(box, view, float(number)) for box in boxes])
    return memory


def _observation(box: Box, view: tuple[float, float, float], stamp: float) -> Observation:
    embedding: NDArray[np.float32] = np.zeros(ColorShapeEncoder.dim, dtype=np.float32)
    embedding[: len(COLORS)] = [math.sqrt(box.colors.get(color, 0.0)) for color in COLORS]
    length = float(np.linalg.norm(embedding))
    return Observation(
        position=np.array(box.center),
        extent=np.maximum(np.array(box.extent), 0.001),
        view_direction=np.array(view),
        stamp=stamp,
        labels={box.label: 1.0},
        embedding=embedding / np.float32(length) if length > 0.0 else None,
    )
