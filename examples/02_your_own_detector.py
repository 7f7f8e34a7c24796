"""Use a detector of your own: anything with a method ``detect`` will do.

This one finds what is red. A detector that also finds people says so with ``knows_people = True``: then they are
blanked in the pictures that a memory file keeps (docs/viewer.md).

    python examples/02_your_own_detector.py
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import lastseen


class RedThings:
    """Finds the red part of an image; replace the body by your model."""

    knows_people = False

    def detect(self, frame: lastseen.Frame, targets: Sequence[str] = ()) -> list[lastseen.Detection]:  # noqa: ARG002
        """One box around what is red, best score first."""
        red = (frame.rgb[..., 0] > 150) & (frame.rgb[..., 1] < 80)
        rows, columns = np.nonzero(red)
        if len(rows) < 20:
            return []
        box = (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
        return [lastseen.Detection(box=box, score=0.8, labels={"red thing": 0.8}, mask=red)]


def image(step: int) -> lastseen.Frame:
    """A grey wall with a red ball before it, seen from three places side by side."""
    rgb = np.full((120, 160, 3), 120, np.uint8)
    depth = np.full((120, 160), 3.0, np.float32)
    middle = 80 + 40 * (1 - step)
    rgb[50:70, middle - 10 : middle + 10] = (200, 30, 30)
    depth[50:70, middle - 10 : middle + 10] = 2.0
    pose = lastseen.Pose3D.from_quaternion([0, 0.8 * (1 - step), 0.9], [-0.5, 0.5, -0.5, 0.5])
    camera = lastseen.Intrinsics.from_fov(160, 120, horizontal_deg=79)
    return lastseen.Frame(step, float(step), rgb, depth, pose, camera)


detector = RedThings()
with lastseen.open() as memory:
    for step in range(3):
        frame = image(step)
        memory.observe(frame, detections=detector.detect(frame))
    for thing in memory.objects(include_tentative=True):
        print(thing.id, thing.label, thing.state, thing.hits, [round(value, 2) for value in thing.position])
