"""A home as something rays can hit: the geometry of all things in one acceleration structure.

Rendering, viewpoints and visibility checks all ask the same scene, so what is seen and what is known agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, MissingExtra
from lastseen.sim.home import STRUCTURE_ID, Home, Thing
from lastseen.sim.surface import Surface

NO_HIT = -1


class Scene:
    """The triangles of a home, ready for ray casts; what ``previous`` has baked of the same things is shared."""

    home: Home
    surface: Surface
    _structure: Surface
    _baked: dict[int, tuple[Thing, Surface]]

    def __init__(self, home: Home, *, previous: Scene | None = None) -> None:
        try:
            from embreex.mesh_construction import TriangleMesh
            from embreex.rtcore_scene import EmbreeScene
        except ImportError as error:
            raise MissingExtra("ray casting", extra="sim") from error
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
        hits: dict[str, NDArray[Any]] = self._embree.run(origins, directions, output=True)
        return hits

    def first_faces(self, origins: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.int32]:
        """The bare ray cast: the number of the first face hit by each ray, -1 for none."""
        faces: NDArray[np.int32] = self._embree.run(origins, directions)
        return faces

    def first_ids(self, origins: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.int32]:
        """The instance id that each ray meets first; 0 for structure and for nothing."""
        faces = self.first_faces(origins, directions)
        return np.where(faces == NO_HIT, STRUCTURE_ID, self.surface.ids[faces]).astype(np.int32)


def _bake(thing: Thing) -> Surface:
    return Surface.of(thing.mesh, thing.mesh.moved(thing.pose), thing.id)
