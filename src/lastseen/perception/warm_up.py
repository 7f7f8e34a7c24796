"""Compiling before the first frame comes, and on two processors at once: the first frame ever must not wait long.

numba compiles one function at a time in a process. So a second process compiles from the other end of what a frame
needs (see ``lastseen.compiled`` for how the two share their code), and goes on with what later frames need.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import is_complete, note_complete
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D

_CAMERA = Intrinsics(fx=80.0, fy=80.0, cx=79.5, cy=59.5, width=160, height=120)
_AHEAD = Pose3D.from_quaternion([0.0, 0.0, 1.0], [-0.5, 0.5, -0.5, 0.5])
"""A metre above the floor, looking along x."""
_WALL, _BLOCK = 3.0, 1.5
"""Metres to the wall of a made-up room, and to a block on its floor."""
_beside: list[subprocess.Popen[bytes]] = []


def compile_beside() -> None:
    """Start a process that compiles what this one will need, where there is something left to compile.

    Once per process, and not where there is only one processor. It ends with this process at the latest.
    """
    if _beside or not sys.executable or _processors() < 2 or is_complete():
        return
    # the same modules as here; nothing is imported from the working folder that this process would not import
    code = f"import sys; sys.path[:] = {sys.path!r}; from lastseen.perception import warm_up; warm_up.from_behind()"
    nothing = subprocess.DEVNULL
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)  # noqa: S603
    _beside.append(process)
    atexit.register(_end, process)


def _processors() -> int:
    """How many processors this process may use; macOS tells only how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def warm_up() -> None:
    """Compile what a frame of ``run`` needs, or read it from disk."""
    from lastseen.memory.objects import warm_up as warm_up_memory

    compile_beside()
    _look_at_a_room()
    warm_up_memory()
    note_complete()


def from_behind() -> None:
    """The same in the order of the process beside: what a first frame needs last comes first."""
    from lastseen.memory.objects.warm_up import first_frame, later_frames

    memory = first_frame()
    _look_at_a_block()
    later_frames(memory)
    _look_at_a_room()
    note_complete()


def _look_at_a_block() -> None:
    """Embed and lift a detection; nothing of it is kept."""
    from lastseen.appearance import with_embeddings
    from lastseen.detection import Detection
    from lastseen.encoders.color_shape import ColorShapeEncoder
    from lastseen.lift import lift_all

    frame, block = _room(0)
    rows, columns = np.flatnonzero(block.any(axis=1)), np.flatnonzero(block.any(axis=0))
    box = float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
    lift_all(frame, with_embeddings(frame, [Detection(box, 1.0, mask=block)], ColorShapeEncoder()))


def _look_at_a_room() -> None:
    """Perceive a made-up room twice, for known surfaces are used from the second frame on; nothing of it is kept."""
    from lastseen.perception.pipeline import Perception

    perception = Perception()
    for number in range(2):
        perceived = perception.perceive(_room(number)[0])
        for seen in perceived.observations:
            seen.picture()


def _room(number: int) -> tuple[Frame, NDArray[np.bool_]]:
    """A frame of a made-up room with a block on its floor, and the block's pixels."""
    x = (np.arange(_CAMERA.width) - _CAMERA.cx) / _CAMERA.fx
    y = ((np.arange(_CAMERA.height) - _CAMERA.cy) / _CAMERA.fy)[:, np.newaxis]
    depth = np.minimum(_WALL, 1.0 / np.maximum(y, 1e-3)) * np.ones_like(x)
    block = (np.abs(x) < 0.2) & (np.abs(y - 0.35) < 0.25)
    depth[block] = _BLOCK
    rgb = np.full((_CAMERA.height, _CAMERA.width, 3), 200, dtype=np.uint8)
    # stripes, so that the image is neither flat nor blurred, and a spot on the block, for what colour tells
    rgb[:, ::8] = 90
    rgb[block] = (200, 30, 30)
    rgb[(np.abs(x) < 0.08) & (np.abs(y - 0.35) < 0.08)] = (30, 30, 200)
    return Frame(number, 10.0 * number, rgb, depth.astype(np.float32), _AHEAD, _CAMERA), block
