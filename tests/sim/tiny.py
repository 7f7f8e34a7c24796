"""The smallest home that has everything: two rooms, a doorway, furniture, and small things on top of it.

It is built from boxes by hand, so every distance in it is known.
"""

from __future__ import annotations

import math

import numpy as np

from lastseen.geometry import Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.home import Home, Room, Thing
from lastseen.sim.mesh import Mesh, Pattern

_WALL, _HEIGHT = 0.1, 2.5
_FACES = np.array(
    [
        [0, 2, 1],
        [0, 3, 2],
        [4, 5, 6],
        [4, 6, 7],
        [0, 1, 5],
        [0, 5, 4],
        [1, 2, 6],
        [1, 6, 5],
        [2, 3, 7],
        [2, 7, 6],
        [3, 0, 4],
        [3, 4, 7],
    ],
    dtype=np.int32,
)

Corner = tuple[float, float, float]


def box_mesh(low: Corner, high: Corner, color: Corner, pattern: Pattern = Pattern.PLAIN) -> Mesh:
    """A box between two corners, in one colour (0 to 255)."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    square = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    vertices = np.array([(x, y, z) for z in (z0, z1) for x, y in square], dtype=np.float32)
    colors = np.tile(np.array(color, dtype=np.uint8), (12, 1))
    return Mesh(vertices, _FACES, colors, np.full(12, pattern, dtype=np.uint8))


def tiny_home() -> Home:
    """A kitchen (x 0 to 4) and a bedroom (x 4 to 8), both 4 m deep, with a doorway 1 m wide at y = 1.5 to 2.5.

    Things: 1 table, 2 red mug on it, 3 chair, 4 bed, 5 blue pillow on it, 6 nightstand, 7 white mug on it, 8 plant.
    """
    plaster, tiles, wood = (226, 222, 212), (205, 208, 210), (176, 132, 88)
    walls = [
        ((-_WALL, -_WALL), (8.0 + _WALL, 0.0)),
        ((-_WALL, 4.0), (8.0 + _WALL, 4.0 + _WALL)),
        ((-_WALL, 0.0), (0.0, 4.0)),
        ((8.0, 0.0), (8.0 + _WALL, 4.0)),
        ((4.0 - _WALL / 2, 0.0), (4.0 + _WALL / 2, 1.5)),
        ((4.0 - _WALL / 2, 2.5), (4.0 + _WALL / 2, 4.0)),
    ]
    parts = [box_mesh((*low, 0.0), (*high, _HEIGHT), plaster, Pattern.PLASTER) for low, high in walls]
    parts.append(box_mesh((3.95, 1.5, 2.1), (4.05, 2.5, _HEIGHT), plaster, Pattern.PLASTER))
    parts.append(box_mesh((-_WALL, -_WALL, -0.1), (4.0, 4.1, 0.0), tiles, Pattern.TILES))
    parts.append(box_mesh((4.0, -_WALL, -0.1), (8.1, 4.1, 0.0), wood, Pattern.WOOD))
    parts.append(box_mesh((-_WALL, -_WALL, _HEIGHT), (8.1, 4.1, _HEIGHT + 0.1), (240, 240, 236)))
    things = [
        _thing(1, "table", "brown", _table(), (1.2, 1.0, 0.0)),
        _thing(2, "mug", "red", _cup((180, 40, 36)), (1.0, 1.0, 0.75), support=1),
        _thing(3, "chair", "brown", _chair(), (1.2, 2.0, 0.0), turn=90.0),
        _thing(4, "bed", "beige", _bed(), (7.0, 3.0, 0.0)),
        _thing(5, "pillow", "blue", _pillow(), (7.6, 3.0, 0.5), support=4),
        _thing(6, "nightstand", "brown", _nightstand(), (7.7, 1.6, 0.0)),
        _thing(7, "mug", "white", _cup((236, 236, 232)), (7.7, 1.6, 0.5), support=6),
        _thing(8, "plant", "green", _plant(), (5.0, 3.5, 0.0)),
    ]
    rooms = (Room(1, "kitchen", ((0.0, 0.0, 4.0, 4.0),)), Room(2, "bedroom", ((4.0, 0.0, 8.0, 4.0),)))
    return Home("tiny", rooms, Mesh.joined(parts), {thing.id: thing for thing in things})


def _thing(
    key: int, label: str, color: str, mesh: Mesh, at: Corner, *, support: int | None = None, turn: float = 0.0
) -> Thing:
    pose = Pose3D.from_pose2d(Pose2D(at[0], at[1], math.radians(turn)), height=at[2])
    room = 1 if at[0] < 4.0 else 2
    carried = label in {"mug", "pillow"}
    return Thing(key, label, color, mesh, pose, room_id=room, support_id=support, movable=carried)


def _table() -> Mesh:
    top = box_mesh((-0.6, -0.4, 0.71), (0.6, 0.4, 0.75), (150, 104, 62), Pattern.WOOD)
    legs = [
        box_mesh((x - 0.03, y - 0.03, 0.0), (x + 0.03, y + 0.03, 0.71), (120, 82, 48))
        for x in (-0.55, 0.55)
        for y in (-0.35, 0.35)
    ]
    return Mesh.joined([top, *legs])


def _cup(color: Corner) -> Mesh:
    body = box_mesh((-0.04, -0.04, 0.0), (0.04, 0.04, 0.1), color)
    return Mesh.joined([body, box_mesh((0.04, -0.01, 0.02), (0.065, 0.01, 0.08), color)])


def _chair() -> Mesh:
    seat = box_mesh((-0.22, -0.22, 0.42), (0.22, 0.22, 0.46), (140, 98, 60), Pattern.WOOD)
    back = box_mesh((-0.22, -0.22, 0.46), (-0.18, 0.22, 0.9), (140, 98, 60), Pattern.WOOD)
    legs = [
        box_mesh((x - 0.02, y - 0.02, 0.0), (x + 0.02, y + 0.02, 0.42), (110, 76, 46))
        for x in (-0.19, 0.19)
        for y in (-0.19, 0.19)
    ]
    return Mesh.joined([seat, back, *legs])


def _bed() -> Mesh:
    frame = box_mesh((-1.0, -0.8, 0.0), (1.0, 0.8, 0.3), (130, 92, 60), Pattern.WOOD)
    return Mesh.joined([frame, box_mesh((-0.98, -0.78, 0.3), (0.95, 0.78, 0.5), (222, 206, 178), Pattern.FABRIC)])


def _pillow() -> Mesh:
    return box_mesh((-0.2, -0.3, 0.0), (0.2, 0.3, 0.12), (58, 88, 160), Pattern.FABRIC)


def _nightstand() -> Mesh:
    return box_mesh((-0.22, -0.22, 0.0), (0.22, 0.22, 0.5), (128, 90, 58), Pattern.WOOD)


def _plant() -> Mesh:
    pot = box_mesh((-0.15, -0.15, 0.0), (0.15, 0.15, 0.3), (170, 96, 66))
    return Mesh.joined([pot, box_mesh((-0.22, -0.22, 0.35), (0.22, 0.22, 1.0), (62, 128, 58), Pattern.LEAVES)])
