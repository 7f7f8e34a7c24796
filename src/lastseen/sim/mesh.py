"""Triangles with what is needed to draw them: a colour and a pattern each, or an image texture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D


class Pattern(IntEnum):
    """How a surface varies over space; drawn from the hit point, so no texture image is stored."""

    PLAIN = 0
    WOOD = 1
    TILES = 2
    FABRIC = 3
    PLASTER = 4
    CARPET = 5
    STRIPES = 6
    LEAVES = 7


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """A triangle soup in its own frame, metres; ``colors`` and ``patterns`` are per face.

    ``uv`` (per vertex, v up) and ``texture`` (per face, index into the home's textures, -1 for none) are there for
    scenes that bring images.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    colors: NDArray[np.uint8]
    patterns: NDArray[np.uint8]
    uv: NDArray[np.float32] | None = None
    texture: NDArray[np.int16] | None = None

    def __post_init__(self) -> None:
        count = len(self.faces)
        if len(self.colors) != count or len(self.patterns) != count:
            raise InvalidValue("mesh.colors", self.colors, f"must have {count} rows", remedy="one per face")
        if count and (self.faces.min() < 0 or self.faces.max() >= len(self.vertices)):
            raise InvalidValue("mesh.faces", self.faces, "points outside the vertices", remedy="check the indices")

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Minimum and maximum corner, (2, 3)."""
        return np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)]).astype(np.float64)

    def moved(self, pose: Pose3D) -> Mesh:
        """The same mesh with its vertices taken to the outer frame."""
        vertices = pose.transform(self.vertices).astype(np.float32)
        return Mesh(vertices, self.faces, self.colors, self.patterns, self.uv, self.texture)

    @classmethod
    def joined(cls, meshes: Sequence[Mesh]) -> Mesh:
        """One mesh of several that carry no image textures."""
        offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
        return cls(
            np.concatenate([mesh.vertices for mesh in meshes]),
            np.concatenate([mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=False)]).astype(
                np.int32
            ),
            np.concatenate([mesh.colors for mesh in meshes]),
            np.concatenate([mesh.patterns for mesh in meshes]),
        )


def cut(mesh: Mesh, height: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The segments (n, 2, 2) at which the faces of a mesh cross a height, and the face of each.

    A segment runs so that the solid lies to its left.
    """
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    above = corners[:, :, 2] > height
    # exactly one corner alone on its side, as a plane cuts a triangle in two edges
    crossing = np.flatnonzero((above.sum(axis=1) == 1) | (above.sum(axis=1) == 2))
    corners, above = corners[crossing], above[crossing]
    lonely_above = above.sum(axis=1) == 1
    lonely = np.where(lonely_above, above.argmax(axis=1), (~above).argmax(axis=1))
    rows = np.arange(len(corners))
    apex, after, before = (corners[rows, (lonely + step) % 3] for step in (0, 1, 2))

    def meet(other: NDArray[np.float64]) -> NDArray[np.float64]:
        share = (height - apex[:, 2]) / (other[:, 2] - apex[:, 2])
        return (apex + share[:, None] * (other - apex))[:, :2]

    first, second = meet(after), meet(before)
    flip = lonely_above[:, None]
    return np.stack([np.where(flip, second, first), np.where(flip, first, second)], axis=1), crossing


def is_closed(mesh: Mesh) -> bool:
    """Whether every edge is run along once in each direction, so that inside and outside are defined."""
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]).astype(np.int64)
    size = len(mesh.vertices)
    forward = np.sort(edges[:, 0] * size + edges[:, 1])
    backward = np.sort(edges[:, 1] * size + edges[:, 0])
    return bool((forward == backward).all())
