"""What could be known of a change: whether anybody looked where a thing is, or was.

A memory cannot tell that a thing has gone from a place nobody looked at again, nor that one has come to a place
nobody had looked at before. Frames say what was in plain sight; memory is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lastseen.config.memory import Absence
from lastseen.frame import Frame
from lastseen.sim.home import Thing

LOOKS = 2
"""Frames in which a place has to be in plain sight before anyone can know what was or was not there."""
CLEAR = 0.15
"""Metres by which depth may fall short of a place that is not hidden: the thing on it, and noise."""


def looked_at(frames: Iterable[Frame], thing: Thing, *, rules: Absence) -> bool:
    """Whether a thing's place was in plain sight in enough of these frames."""
    return sum(in_sight(frame, thing, rules=rules) for frame in frames) >= LOOKS


def in_sight(frame: Frame, thing: Thing, *, rules: Absence) -> bool:
    """Whether a thing's middle is in a frame, in range, with nothing before the thing."""
    camera = frame.camera_of_depth
    place = frame.T_world_camera.inverse().transform(thing.position[np.newaxis])
    ahead = float(place[0, 2])
    if not rules.min_range < ahead < rules.max_range:
        return False
    pixel = camera.project(place)
    if not camera.contains(pixel)[0]:
        return False
    column, row = np.floor(pixel[0]).astype(int)
    around = frame.depth[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
    return bool(np.nanmax(around, initial=0.0) >= ahead - CLEAR - 0.5 * float(thing.extent.max()))
