"""A home from one npz file of labelled, textured triangles, such as the AWS small house.

It is a scene that nobody of ours arranged: what works only in generated homes shows here.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.sim.catalog.palette import nearest_name
from lastseen.sim.home import Home, Room, Thing
from lastseen.sim.mesh import Mesh, Pattern

STRUCTURE_LABELS = frozenset({"wall", "floor", "ceiling", "door", "folding door", "window", "room", "stairs"})
"""What belongs to the building: it blocks and hides, and no memory should hold it."""
FIXED_LABELS = frozenset({"lamp", "handle", "security camera", "air conditioner", "board", "picture", "chandelier"})
"""Small things that are screwed to a wall or a ceiling: nobody carries them about."""
MAX_CARRIED_SIZE = 0.6
"""Metres: what is larger in any direction is furniture."""
_REQUIRED = ("vertices", "faces", "face_instance", "face_color", "instance_label", "instance_name")


def load_npz(path: str | Path) -> Home:
    """Read a home; instance ids are those of the file, coordinates metres with z up and the floor at z = 0."""
    arrays = _read(Path(path))
    vertices = arrays["vertices"].astype(np.float32)
    faces = arrays["faces"].astype(np.int32)
    instance = arrays["face_instance"].astype(np.int64)
    labels = [str(label) for label in arrays["instance_label"]]
    if instance.min() < 1 or instance.max() > len(labels):
        raise InvalidValue("face_instance", instance, f"must lie in 1 to {len(labels)}", remedy="see instance_label")
    whole = Mesh(
        vertices,
        faces,
        arrays["face_color"].astype(np.uint8),
        np.full(len(faces), Pattern.PLAIN, dtype=np.uint8),
        arrays["uv"].astype(np.float32) if "uv" in arrays else None,
        arrays["face_texture"].astype(np.int16) if "face_texture" in arrays else None,
    )
    built = np.array([label in STRUCTURE_LABELS for label in labels])
    structure = _part(whole, built[instance - 1])
    things = {}
    for key in sorted(set(instance.tolist())):
        if not built[key - 1]:
            things[key] = _thing(key, labels[key - 1], _part(whole, instance == key))
    x0, y0, _, x1, y1, _ = (float(value) for value in (structure if len(structure.faces) else whole).bounds.ravel())
    home = Home(
        Path(path).stem,
        (Room(1, "house", ((x0, y0, x1, y1),)),),
        structure,
        things,
        arrays["textures"].astype(np.uint8) if "textures" in arrays else None,
    )
    return _with_supports(home)


def _read(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InvalidValue("npz file", str(path), f"cannot be read ({error})", remedy="check the path") from error
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        raise InvalidValue("npz file", str(path), f"lacks {', '.join(missing)}", remedy="see docs/simulation.md")
    return arrays


def _part(mesh: Mesh, chosen: NDArray[np.bool_]) -> Mesh:
    """The chosen faces with only the vertices they use."""
    used, numbers = np.unique(mesh.faces[chosen], return_inverse=True)
    return Mesh(
        mesh.vertices[used],
        numbers.reshape(-1, 3).astype(np.int32),
        mesh.colors[chosen],
        mesh.patterns[chosen],
        None if mesh.uv is None else mesh.uv[used],
        None if mesh.texture is None else mesh.texture[chosen],
    )


def _thing(key: int, label: str, mesh: Mesh) -> Thing:
    low, high = mesh.bounds
    foot = np.array([(low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0, low[2]])
    own = Mesh(
        (mesh.vertices - foot).astype(np.float32), mesh.faces, mesh.colors, mesh.patterns, mesh.uv, mesh.texture
    )
    carried = bool((high - low).max() <= MAX_CARRIED_SIZE) and label not in FIXED_LABELS
    color = nearest_name(np.median(mesh.colors, axis=0).tolist())
    return Thing(key, label, color, own, Pose3D(foot, np.array([0.0, 0.0, 0.0, 1.0])), room_id=1, movable=carried)


def _with_supports(home: Home) -> Home:
    things = {key: replace(thing, support_id=home.support_below(thing)) for key, thing in home.things.items()}
    return replace(home, things=things)
