"""Walks that were walked before: rendering and detecting take nine tenths of a run and do not depend on the memory.

A walk is kept under its name and a hash of the code that made it, so a change of the simulator or of perception
never meets old observations. Depth is kept as it is: a memory cannot tell a kept walk from a new one.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

import lastseen
from lastseen.frame import Frame
from support import scenes, walking
from support.walking import Changed, Seen, Walk

_ROOT = Path(lastseen.__file__).parent
MAKERS = (
    *("sim", "perception", "encoders", "geometry", "config"),
    *("action.py", "pose2d.py", "frame.py", "detection.py", "observation.py", "lift.py", "appearance.py"),
)
"""Parts of lastseen that a walk comes from."""
UNNEEDED = "memory.py"
"""Settings of the object memory, which is what runs on kept walks differ in."""


def recorded(folder: Path | None, name: str, walk: Callable[[], Walk]) -> Walk:
    """The walk of a name from a folder of kept ones, or walked now and kept there; without a folder only walked."""
    if folder is None:
        yield from walk()
        return
    stem = f"{name.replace(' ', '_')}.{makers_hash()}"
    notes, depths = folder / f"{stem}.pickle", folder / f"{stem}.depth"
    if not notes.exists():
        yield from _keep(walk, notes, depths)
        return
    # written by this benchmark into the user's own folder
    steps = pickle.loads(notes.read_bytes())
    depth = np.memmap(depths, dtype=np.float32, mode="r")
    at = 0
    blank: dict[tuple[int, int], np.ndarray] = {}
    for step in steps:
        if isinstance(step, Changed):
            yield step
            continue
        (number, stamp, pose, camera), sights = step
        shape = camera.height, camera.width
        image = np.array(depth[at : at + shape[0] * shape[1]]).reshape(shape)
        at += image.size
        rgb = blank.setdefault(shape, np.zeros((*shape, 3), dtype=np.uint8))
        yield Seen(Frame(number, stamp, rgb, image, pose, camera), sights)


def _keep(walk: Callable[[], Walk], notes: Path, depths: Path) -> Walk:
    notes.parent.mkdir(parents=True, exist_ok=True)
    unfinished = depths.with_suffix(f".{os.getpid()}")
    steps: list[object] = []
    with unfinished.open("wb") as file:
        for step in walk():
            if isinstance(step, Changed):
                steps.append(step)
            else:
                frame = step.frame
                steps.append(((frame.id, frame.stamp, frame.T_world_camera, frame.intrinsics), step.sights))
                file.write(np.ascontiguousarray(frame.depth).tobytes())
            yield step
    # the notes come last: where they are, the depth is whole
    unfinished.replace(depths)
    unfinished.write_bytes(pickle.dumps(steps))
    unfinished.replace(notes)


@cache
def makers_hash() -> str:
    """Twelve digits that change with any source file a walk comes from."""
    files = [Path(walking.__file__), Path(scenes.__file__)]
    for part in MAKERS:
        files += [_ROOT / part] if part.endswith(".py") else sorted((_ROOT / part).rglob("*.py"))
    return _hash([file for file in files if file.name != UNNEEDED])


@cache
def rules_hash() -> str:
    """Twelve digits that change with the object memory, its settings, or the judge."""
    folders = (_ROOT / "memory" / "objects", Path(walking.__file__).parent)
    return _hash([_ROOT / "config" / UNNEEDED] + [file for folder in folders for file in sorted(folder.glob("*.py"))])


def _hash(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
