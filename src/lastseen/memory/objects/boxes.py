"""Upright boxes that are turned about the vertical: one of them in the axes of another.

Two boxes are compared along the axes of the first: the offset is turned into them, and the second is measured along
them. Boxes of one memory nearly always have one yaw, and then nothing is lost.
"""

from __future__ import annotations

import math

import numpy as np

from lastseen.compiled import compiled
from lastseen.memory.objects.columns import Floats

SAME_AXES = math.sin(math.radians(10.0))
"""Sine of the turn between two boxes below which they are measured as if they had one yaw: the box around a box that
is turned so little errs by more than the turn itself does."""
ORIGIN = np.zeros(3)
_CORNERS = 0.5 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)


@compiled
def turned(x: float, y: float, yaw: float) -> tuple[float, float]:
    """A vector of the world in axes of this yaw."""
    # most maps lie along their walls: there nothing may change, not by rounding either
    if yaw == 0.0:
        return x, y
    cosine, sine = math.cos(yaw), math.sin(yaw)
    return cosine * x + sine * y, cosine * y - sine * x


@compiled
def sides(wide: float, deep: float, turn: float) -> tuple[float, float]:
    """The horizontal sides of a box along axes that it is turned by ``turn`` from; a quarter exchanges them."""
    if turn == 0.0:
        return wide, deep
    cosine, sine = abs(math.cos(turn)), abs(math.sin(turn))
    if sine < SAME_AXES:
        return wide, deep
    if cosine < SAME_AXES:
        return deep, wide
    return cosine * wide + sine * deep, sine * wide + cosine * deep


def vectors_in_axes(vectors: Floats, yaw: Floats | float) -> Floats:
    """Vectors (n, 3) of the world in axes of a yaw, or of one yaw each; with its negative, the way back."""
    cosine, sine = np.cos(yaw), np.sin(yaw)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([cosine * x + sine * y, cosine * y - sine * x, vectors[..., 2]], axis=-1)


def sides_in_axes(extent: Floats, turn: Floats | float) -> Floats:
    """Extents (n, 3) of boxes along axes that they are turned by ``turn`` from."""
    cosine, sine = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    straight, across = sine < SAME_AXES, cosine < SAME_AXES
    cosine = np.where(straight, 1.0, np.where(across, 0.0, cosine))
    sine = np.where(straight, 0.0, np.where(across, 1.0, sine))
    wide, deep = extent[..., 0], extent[..., 1]
    return np.stack([cosine * wide + sine * deep, sine * wide + cosine * deep, extent[..., 2]], axis=-1)


def in_axes_of(
    xyz: Floats, yaw: Floats | float, other_xyz: Floats, other_extent: Floats, other_yaw: Floats | float
) -> tuple[Floats, Floats]:
    """Where other boxes lie from a point, and their sides, both in axes of its yaw; row by row, or one to many."""
    return vectors_in_axes(other_xyz - xyz, yaw), sides_in_axes(other_extent, other_yaw - yaw)


def corners(xyz: Floats, extent: Floats, yaw: float) -> Floats:
    """The eight corners (8, 3) of a box."""
    return xyz + vectors_in_axes(_CORNERS * extent, -yaw)


def around(extent: Floats, yaw: float) -> Floats:
    """The sides of the box along the world's axes around one that is turned."""
    cosine, sine = abs(math.cos(yaw)), abs(math.sin(yaw))
    wide, deep, high = extent
    return np.array([cosine * wide + sine * deep, sine * wide + cosine * deep, high])
