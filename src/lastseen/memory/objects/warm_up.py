"""Compiling before the first frame comes: a robot must not wait for a compiler."""

from __future__ import annotations

import threading

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.objects.memory import ObjectMemory
from lastseen.observation import Observation

_CAMERA = Intrinsics(fx=40.0, fy=40.0, cx=15.5, cy=11.5, width=32, height=24)
_AHEAD = Pose3D.from_quaternion([0.0, 0.0, 1.0], [-0.5, 0.5, -0.5, 0.5])
"""At the height of a robot's head, looking along x."""
_FRAMES = 4
"""Until a thing is confirmed, seen again from another side, and missed: then all that a frame needs is compiled."""


_LOCK = threading.Lock()
_in_background: list[threading.Thread] = []


def warm_up(*, background: bool = False) -> None:
    """Compile what the path of a frame needs, or read it from disk: 10 seconds of processor time once, then one.

    With ``background`` it happens in a thread of its own, once per process: a server answers queries meanwhile, for
    they need nothing compiled, and a frame that comes before it is done waits for it.
    """
    if not background:
        _observe_some_frames()
        return
    with _LOCK:
        if not _in_background:
            # not a daemon: ending the process while the compiler runs would crash it
            _in_background.append(threading.Thread(target=_observe_some_frames, name="lastseen-compile"))
            _in_background[0].start()


def _observe_some_frames() -> None:
    memory = ObjectMemory()
    for number in range(_FRAMES):
        rgb = np.zeros((_CAMERA.height, _CAMERA.width, 3), dtype=np.uint8)
        depth = np.full((_CAMERA.height, _CAMERA.width), 5.0, dtype=np.float32)
        frame = Frame(number, float(number), rgb, depth, _AHEAD, _CAMERA)
        memory.observe(frame, [_thing(0.0, number), _thing(0.2, number)] if number < _FRAMES - 1 else [])
    # what only large things, what was confirmed late, and a merge call
    store, both = memory.store, memory.store.live()
    store.grid.near(store.xyz[both].copy(), np.zeros(len(both)))
    store.grid.inside(store.xyz[both[0]].copy(), store.xyz[both[1]].copy())
    memory.merge(*(store.id(row) for row in both.tolist()))


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
