"""Shapes of a few hundred triangles out of two primitives: boxes and revolved profiles.

Written in numpy rather than taken from a mesh library, so that a house depends on nothing but its seed.
Parts share no vertices; each stays a closed surface of its own, which collision tests rely on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from lastseen.sim.catalog.palette import Rgb
from lastseen.sim.mesh import Mesh, Pattern

Axis = Literal["x", "y", "z"]
Vector = tuple[float, float, float]
PLAIN, WOOD, TILES, FABRIC, PLASTER, CARPET, STRIPES, LEAVES = Pattern

SECTIONS = 12
"""Sides of a revolved part: round enough at a metre, and cheap."""

BOX_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, 1.0)])
_QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
BOX_FACES = np.array([t for a, b, c, d in _QUADS for t in ((a, b, c), (a, c, d))], dtype=np.int32)
_TURN_TO = {
    "x": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "z": np.eye(3),
}


class Revolving(TypedDict, total=False):
    """How a profile is revolved: about which axis, stretched across it, into how many sides, turned how (radians)."""

    axis: Axis
    stretch: tuple[float, float]
    sections: int
    pitch: float
    yaw: float
    mirror: str


@dataclass(frozen=True, slots=True)
class Surface:
    """A level rectangle that things can stand on, in the frame of the thing it belongs to, metres."""

    z: float
    x_min: float
    y_min: float
    x_max: float
    y_max: float
    clearance: float = 10.0
    """Free height above it: the gap to the next shelf board."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A built thing: its mesh, the boxes of its parts (n, 2, 3) and where things can stand on it."""

    mesh: Mesh
    parts: NDArray[np.float64]
    surfaces: tuple[Surface, ...]

    @property
    def size(self) -> NDArray[np.float64]:
        """Full extent along the shape's own axes."""
        return self.parts[:, 1].max(axis=0) - self.parts[:, 0].min(axis=0)


class ShapeBuilder:
    """Collects parts. The front of a thing looks along +x, its width runs along y, its bottom is z = 0.

    ``rng`` is for builders that vary details, such as the leaves of a plant.
    """

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.rng = rng if rng is not None else np.random.default_rng(0)
        self._parts: list[Mesh] = []
        self._surfaces: list[Surface] = []

    def box(
        self,
        size: Vector,
        at: Vector,
        color: Rgb,
        pattern: Pattern = PLAIN,
        *,
        pitch: float = 0.0,
        yaw: float = 0.0,
        roll: float = 0.0,
        mirror: str = "",
    ) -> None:
        """A box with the middle of its bottom at a point, turned about that point (radians).

        ``mirror`` repeats a part on the other side: "x" and "y" give two, "xy" four.
        """
        points = BOX_CORNERS * np.asarray(size) @ _rotation(pitch, yaw, roll).T
        self._add(points, BOX_FACES, at, color, pattern, mirror=mirror)

    def revolved(
        self,
        profile: Sequence[tuple[float, float]],
        at: Vector,
        color: Rgb,
        pattern: Pattern = PLAIN,
        *,
        axis: Axis = "z",
        stretch: tuple[float, float] = (1.0, 1.0),
        sections: int = SECTIONS,
        pitch: float = 0.0,
        yaw: float = 0.0,
        mirror: str = "",
    ) -> None:
        """A profile of (radius, height) turned about an axis through a point; ends with radius 0 close to a tip."""
        angle = 2.0 * math.pi * np.arange(sections) / sections
        ring = np.stack([np.cos(angle) * stretch[0], np.sin(angle) * stretch[1]], axis=-1)
        rows = [np.column_stack([ring * radius, np.full(sections, height)]) for radius, height in profile]
        bottom, top = len(rows) * sections, len(rows) * sections + 1
        points = np.concatenate([*rows, [[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]]])
        here = np.arange(sections)
        after = (here + 1) % sections
        faces = [np.column_stack([np.full(sections, bottom), after, here])]
        for row in range(len(rows) - 1):
            low, high = row * sections, (row + 1) * sections
            faces.append(np.column_stack([low + here, low + after, high + after]))
            faces.append(np.column_stack([low + here, high + after, high + here]))
        last = (len(rows) - 1) * sections
        faces.append(np.column_stack([np.full(sections, top), last + here, last + after]))
        turn = _rotation(pitch, yaw, 0.0) @ _TURN_TO[axis]
        self._add(points @ turn.T, np.concatenate(faces).astype(np.int32), at, color, pattern, mirror=mirror)

    def cylinder(
        self,
        radius: float,
        height: float,
        at: Vector,
        color: Rgb,
        pattern: Pattern = PLAIN,
        *,
        top_radius: float | None = None,
        **how: Unpack[Revolving],
    ) -> None:
        """A cylinder, or a cone frustum where the top radius differs, standing on a point along an axis."""
        profile = [(radius, 0.0), (radius if top_radius is None else top_radius, height)]
        self.revolved(profile, at, color, pattern, **how)

    def ball(self, radii: Vector, at: Vector, color: Rgb, pattern: Pattern = PLAIN, **how: Unpack[Revolving]) -> None:
        """An ellipsoid about a point, with few rings."""
        angles = [-math.pi / 2 + math.pi * step / 5 for step in range(6)]
        profile = [(max(math.cos(a), 1e-3), radii[2] * math.sin(a)) for a in angles]
        how.setdefault("sections", 10)
        how["stretch"] = radii[0], radii[1]
        self.revolved(profile, at, color, pattern, **how)

    def legs(
        self, footprint: tuple[float, float], height: float, color: Rgb, *, thick: float = 0.045, inset: float = 0.0
    ) -> None:
        """Four square legs at the corners of a footprint (depth, width)."""
        x, y = footprint[0] / 2 - thick / 2 - inset, footprint[1] / 2 - thick / 2 - inset
        self.box((thick, thick, height), (x, y, 0.0), color, WOOD, mirror="xy")

    def surface(
        self,
        z: float,
        footprint: tuple[float, float],
        *,
        middle: tuple[float, float] = (0.0, 0.0),
        clear: float = 10.0,
    ) -> None:
        """Say that things can stand here: a rectangle (depth, width) about a middle."""
        x, y = footprint[0] / 2, footprint[1] / 2
        self._surfaces.append(Surface(z, middle[0] - x, middle[1] - y, middle[0] + x, middle[1] + y, clear))

    def shape(self) -> Shape:
        """The finished thing, moved so that its footprint is centred and its bottom is at z = 0."""
        mesh = Mesh.joined(self._parts)
        low, high = mesh.bounds
        shift = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
        centred = Mesh((mesh.vertices - shift).astype(np.float32), mesh.faces, mesh.colors, mesh.patterns)
        parts = np.stack([part.bounds for part in self._parts]) - shift
        x, y, z = shift
        surfaces = tuple(
            Surface(s.z - z, s.x_min - x, s.y_min - y, s.x_max - x, s.y_max - y, s.clearance) for s in self._surfaces
        )
        return Shape(centred, parts, surfaces)

    def _add(
        self,
        points: NDArray[np.float64],
        faces: NDArray[np.int32],
        at: Vector,
        color: Rgb,
        pattern: Pattern,
        *,
        mirror: str,
    ) -> None:
        if pattern is WOOD and not _is_wood(color):
            pattern = PLAIN
        colors = np.tile(np.array(color, dtype=np.uint8), (len(faces), 1))
        patterns = np.full(len(faces), int(pattern), dtype=np.uint8)
        for x in (-1, 1) if "x" in mirror else (1,):
            for y in (-1, 1) if "y" in mirror else (1,):
                vertices = points + np.array([x * at[0], y * at[1], at[2]])
                self._parts.append(Mesh(vertices.astype(np.float32), faces, colors, patterns))


def _is_wood(color: Rgb) -> bool:
    """Whether a colour is a brown; painted wood shows no grain."""
    red, green, blue = color
    return red > green > blue and red - blue > 0.25 * red


def _rotation(pitch: float, yaw: float, roll: float) -> NDArray[np.float64]:
    """Yaw about z after pitch about y after roll about x."""
    if pitch == yaw == roll == 0.0:
        return np.eye(3)
    cp, sp, cy, sy, cr, sr = (f(a) for a in (pitch, yaw, roll) for f in (math.cos, math.sin))
    about_y = np.array([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
    about_z = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
    return about_z @ about_y @ about_x
