"""Observe frames and find what was in them: the whole of lastseen in thirty lines.

python examples/01_observe_and_find.py
"""

from __future__ import annotations

import numpy as np

import lastseen

camera = lastseen.Intrinsics.from_fov(160, 120, horizontal_deg=79)
with lastseen.open() as memory:  # with a path it is durable; without one it ends with the process
    for step in range(3):
        frame = lastseen.Frame(
            id=step,
            stamp=float(step),
            rgb=np.full((120, 160, 3), 200, np.uint8),
            depth=np.full((120, 160), 2.0, np.float32),
            T_world_camera=lastseen.Pose3D.from_quaternion([1.0 * step, 0, 0.9], [-0.5, 0.5, -0.5, 0.5]),
            intrinsics=camera,
        )
        mug = lastseen.Detection(box=(70, 50, 90, 70), score=0.9, labels={"mug": 0.9})
        memory.observe(frame, detections=[mug])
    answer = memory.find("cup", include_tentative=True)
    print(answer.status, "-", answer.reason)
    for thing in answer.hits:
        print(thing.id, thing.label, [round(value, 2) for value in thing.position], f"{thing.age:.0f} s ago")
