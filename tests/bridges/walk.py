"""A short walk through the small room in which a thing is remembered and then forgotten."""

from __future__ import annotations

import numpy as np

from lastseen.bridges.bridge import Bridge
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from tests.sources.room import CAMERA, render, walk


def seen(stamp: float, xyz: tuple[float, float, float], camera: Pose3D, label: str) -> Observation:
    position = np.array(xyz)
    return Observation(position, np.full(3, 0.2), camera.translation - position, stamp, labels={label: 0.9})


def show_walk(bridge: Bridge) -> str:
    """Show it on a bridge; returns the id of the thing that is forgotten on the way."""
    with Memory.open(wall_clock=lambda: 2e9) as memory:
        gone = ""
        for number, pose in enumerate(walk(6)):
            rgb, depth = render(pose)
            frame = Frame(number, 100.0 + number, rgb, depth, pose, CAMERA)
            things = [seen(frame.stamp, (1.5, 0.0, 0.85), pose, "mug")]
            if number < 3:
                things.append(seen(frame.stamp, (0.1, 1.8, 0.4), pose, "box"))
            memory.observe(frame, things)
            if number == 3:
                gone = next(one.id for one in memory.objects(include_tentative=True) if one.label == "box")
                memory.forget(gone)
            bridge.show(frame, memory, seen=things, belief={"target_status": "unseen", "step": number})
        bridge.close()
        return gone
