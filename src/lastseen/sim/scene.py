"""A home as something rays can hit: the geometry of all things in one acceleration structure.

What the renderer must know of a triangle is computed once per mesh; a frame then needs only lookups by its number.
Rendering, viewpoints and visibility checks all ask the same scene, so what is seen and what is known agree.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, needs_extra
from lastseen.sim.home import STRUCTURE_ID, Home, Thing
from lastseen.sim.mesh import Mesh, Pattern
from lastseen.sim.texture import SIZE, TILE_METRES

NO_HIT = -1


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Arrays with one row per face.

    ``planes`` are unit normal and -offset, so that a row times (x, y, z, 1) is the distance from the plane.
    ``texels`` are start and steps along two edges, across then down, in texels; then texels per metre.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    ids: NDArray[np.int32]
    planes: NDArray[np.float32]
    colors: NDArray[np.float32]
    textures: NDArray[np.int32]
    texels: NDArray[np.float32]

    @classmethod
    def of(cls, mesh: Mesh, world: Mesh, instance: int) -> Surface:
        """The surface of one mesh: patterns stick to ``mesh`` (own frame), the geometry is that of ``world``."""
        corners = world.vertices[world.faces].astype(np.float64)
        normals, area = _normals(corners)
        texels = _pattern_texels(mesh)
        textures = mesh.patterns.astype(np.int32)
        colors = mesh.colors.astype(np.float32) / 255.0
        if mesh.uv is not None and mesh.texture is not None:
            image = mesh.texture >= 0
            uv = mesh.uv[mesh.faces[image]].astype(np.float64) * SIZE
            uv[..., 1] *= -1.0  # image rows run down, v runs up
            texels[image] = uv
            textures[image] = mesh.texture[image].astype(np.int32) + len(Pattern)
            colors[image] = 1.0
        # whole repeats are added so that no coordinate is negative: truncation is then the floor
        texels -= np.floor(texels.min(axis=1, keepdims=True) / SIZE) * SIZE
        edges = texels[:, 1:] - texels[:, :1]
        spread = np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]) / 2.0
        density = np.sqrt(np.divide(spread, area, out=np.zeros_like(area), where=area > 0.0))
        steps = np.concatenate([texels[:, :1], edges], axis=1).transpose(0, 2, 1).reshape(-1, 6)
        offsets = np.einsum("ij,ij->i", normals, corners[:, 0])
        return cls(
            world.vertices,
            world.faces,
            np.full(len(world.faces), instance, dtype=np.int32),
            np.column_stack([normals, -offsets]).astype(np.float32),
            colors,
            textures,
            np.column_stack([steps, density]).astype(np.float32),
        )

    @classmethod
    def joined(cls, surfaces: list[Surface]) -> Surface:
        """All surfaces as one, in the order given."""
        columns = {
            field.name: np.concatenate([getattr(surface, field.name) for surface in surfaces])
            for field in fields(cls)
        }
        starts = np.cumsum([0, *(len(surface.vertices) for surface in surfaces)])[:-1]
        shifts = np.repeat(starts, [len(surface.faces) for surface in surfaces])
        columns["faces"] = (columns["faces"] + shifts[:, np.newaxis]).astype(np.int32)
        return cls(**columns)


def _normals(corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit normals and areas; a face without area looks up, it cannot be hit anyway."""
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(cross, axis=1)
    flat = length <= 0.0
    normals = cross / np.where(flat, 1.0, length)[:, np.newaxis]
    normals[flat] = (0.0, 0.0, 1.0)
    return normals, length / 2.0


def _pattern_texels(mesh: Mesh) -> NDArray[np.float64]:
    """Texture coordinates (faces, 3, 2): the corners seen along the axis that the face looks at most."""
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    normals, _ = _normals(corners)
    axis = np.abs(np.round(normals, 6)).argmax(axis=1)
    across = np.array([1, 0, 0])[axis]
    down = np.array([2, 2, 1])[axis]
    rows = np.arange(len(axis))[:, np.newaxis]
    texels = np.stack([corners[rows, [[0, 1, 2]], across[:, None]], corners[rows, [[0, 1, 2]], down[:, None]]], -1)
    metres = np.array(TILE_METRES)[mesh.patterns]
    return texels * (SIZE / metres)[:, np.newaxis, np.newaxis]


class Scene:
    """The triangles of a home, ready for ray casts; what ``previous`` has baked of the same things is shared."""

    home: Home
    surface: Surface
    _structure: Surface
    _baked: dict[int, tuple[Thing, Surface]]

    def __init__(self, home: Home, *, previous: Scene | None = None) -> None:
        with needs_extra("ray casting", extra="sim"):
            from embreex.mesh_construction import TriangleMesh
            from embreex.rtcore_scene import EmbreeScene
        self.home = home
        known = {} if previous is None else previous._baked
        shares_structure = previous is not None and previous.home.structure is home.structure
        self._structure = (
            previous._structure
            if previous is not None and shares_structure
            else Surface.of(home.structure, home.structure, STRUCTURE_ID)
        )
        self._baked = {}
        for key, thing in home.things.items():
            old = known.get(key)
            self._baked[key] = old if old is not None and old[0] is thing else (thing, _bake(thing))
        self.surface = Surface.joined([self._structure, *(surface for _, surface in self._baked.values())])
        if not len(self.surface.faces):
            raise InvalidValue("home", home.name, "has no surface to see", remedy="give it walls or things")
        # robust: without it rays slip through the seam of two triangles and depth gets pinholes
        self._embree: Any = EmbreeScene(robust=True)
        self._mesh: Any = TriangleMesh(self._embree, self.surface.vertices, self.surface.faces)

    def cast(self, origins: NDArray[np.float32], directions: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
        """First hits: primID (-1 for none), tfar in lengths of the direction, u and v on the triangle."""
        return self._embree.run(origins, directions, output=True)

    def first_faces(self, origins: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.int32]:
        """The bare ray cast: the number of the first face hit by each ray, -1 for none."""
        return self._embree.run(origins, directions)

    def first_ids(self, origins: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.int32]:
        """The instance id that each ray meets first; 0 for structure and for nothing."""
        faces = self.first_faces(origins, directions)
        return np.where(faces == NO_HIT, STRUCTURE_ID, self.surface.ids[faces]).astype(np.int32)


def _bake(thing: Thing) -> Surface:
    return Surface.of(thing.mesh, thing.mesh.moved(thing.pose), thing.id)
