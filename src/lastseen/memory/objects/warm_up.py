"""Compiling before the first frame comes: a robot must not wait for a compiler."""

from __future__ import annotations

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.objects.memory import MERGE_EVERY, ObjectMemory
from lastseen.observation import Observation

_CAMERA = Intrinsics(fx=40.0, fy=40.0, cx=15.5, cy=11.5, width=32, height=24)
_AHEAD = Pose3D.from_quaternion([0.0, 0.0, 1.0], [-0.5, 0.5, -0.5, 0.5])
"""At the height of a robot's head, looking along x."""


def warm_up() -> None:
    """Compile what the path of a frame needs, or read it from disk: some seconds of processor time once."""
    later_frames(first_frame())


def first_frame() -> ObjectMemory:
    """Compile what the first frame needs; gives the memory it made, for ``later_frames``."""
    memory = ObjectMemory()
    memory.observe(_frame(0), [_thing(0.0, 0), _thing(0.2, 0)])
    return memory


def later_frames(memory: ObjectMemory) -> None:
    """Compile what is needed once there are objects: to miss them, see them again, find duplicates and merge."""
    memory.observe(_frame(1), [])
    for number in range(2, 1 + MERGE_EVERY):
        memory.observe(_frame(number), [_thing(0.0, number), _thing(0.2, number)])
    # what only large things, what was confirmed late, and a merge call
    store, both = memory.store, memory.store.live()
    store.grid.near(store.xyz[both].copy(), np.zeros(len(both)))
    store.grid.inside(store.xyz[both[0]].copy(), store.xyz[both[1]].copy())
    memory.merge(*(store.id(row) for row in both.tolist()))


def _frame(number: int) -> Frame:
    rgb = np.zeros((_CAMERA.height, _CAMERA.width, 3), dtype=np.uint8)
    depth = np.full((_CAMERA.height, _CAMERA.width), 5.0, dtype=np.float32)
    return Frame(number, float(number), rgb, depth, _AHEAD, _CAMERA)


def _thing(y: float, number: int) -> Observation:
    corners = np.array([[x, y + side, z] for x in (1.9, 2.1) for side in (-0.1, 0.1) for z in (0.9, 1.1)])
    return Observation(
        position=np.array([2.0, y, 1.0]),
        extent=np.full(3, 0.2),
        view_direction=np.array([-1.0, 0.8 * number, 0.0]),
        stamp=float(number),
        labels={"thing": 1.0},
        embedding=np.array([1.0, y], dtype=np.float32),
        points=corners.astype(np.float32),
    )
