"""A detector and the geometric segmenter on one frame: named things from the one, unnamed small ones from the other.

What the detector names is never reported a second time as a shape, neither in the same image nor later, where the
detector misses a thing that it named before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.observation import OBJECT, Observation

COVERED = 0.4
"""Share of a shape that named things cover from which it is one of them, or holds one."""
HOLDS = 0.6
"""Share of a named thing that lies in a shape from which the shape holds it."""
SMALL = 1.0
"""Metres; a larger shape without a name is furniture that the detector does not know, seen in parts."""
PART = 0.35
"""Length of a shape as a share of the named thing's in whose box it lies, from which it is a part of that thing."""
WITHIN = 0.7
"""Share of a shape's points in that box."""
COMPACT = 0.6
"""Metres; in the box of a smaller named thing nothing else has room."""
REMEMBERED = 200
"""Named boxes kept, the oldest forgotten first."""
SAME_PLACE = 0.25
"""Metres between two views of one named thing, of which only the newer is kept."""


class Together:
    """Merges what both find; keeps where things were named, so that their parts are not taken for other things."""

    def __init__(self) -> None:
        self._named: OrderedDict[int, tuple[str, NDArray[np.float64], NDArray[np.float64]]] = OrderedDict()
        self._next = 0

    def add(self, named: Sequence[Detection], shapes: Sequence[Detection], frame: Frame) -> list[Detection]:
        """The named detections, the surfaces, and those shapes that no named thing covers."""
        kept = list(named)
        for shape in shapes:
            if shape.mask is None or not shape.mask.any():
                continue
            if shape.kind != OBJECT or not self._is_named(shape, named, frame):
                kept.append(shape)
        return kept

    def once(self, observations: Sequence[Observation]) -> list[Observation]:
        """Observations without unnamed ones that are parts of things named now or before, or too large."""
        for one in observations:
            if one.kind == OBJECT and one.label is not None:
                self._remember(one.label, one.position, one.extent)
        return [
            one
            for one in observations
            if one.kind != OBJECT or one.labels or (float(one.extent.max()) <= SMALL and not self._is_part(one))
        ]

    def _is_named(self, shape: Detection, named: Sequence[Detection], frame: Frame) -> bool:
        """Whether a shape is a named thing, or holds one that fills most of it."""
        assert shape.mask is not None
        size = float(shape.mask.sum())
        covered = np.zeros_like(shape.mask)
        for one in named:
            region = _region(one, shape.mask.shape, frame)
            shared = float((region & shape.mask).sum())
            if shared >= HOLDS * float(region.sum()) and shared >= 0.2 * size:
                return True
            # a box holds background too: it covers a shape only together with its middle
            if one.mask is not None or shared >= COVERED * size:
                covered |= region
        return float((covered & shape.mask).sum()) >= COVERED * size

    def _remember(self, label: str, position: NDArray[np.float64], extent: NDArray[np.float64]) -> None:
        for number, (known, at, _) in list(self._named.items()):
            if known == label and float(np.linalg.norm(at - position)) < SAME_PLACE:
                del self._named[number]
        self._named[self._next] = (label, position, extent)
        self._next += 1
        if len(self._named) > REMEMBERED:
            self._named.popitem(last=False)

    def _is_part(self, one: Observation) -> bool:
        points = one.points if one.points is not None else one.position[np.newaxis]
        length = float(one.extent.max())
        for _, position, extent in self._named.values():
            inside = (np.abs(points - position) <= 0.5 * extent + 0.05).all(axis=1)
            large = float(extent.max())
            if float(inside.mean()) >= WITHIN and (length >= PART * large or large < COMPACT):
                return True
        return False


def _region(one: Detection, shape: tuple[int, ...], frame: Frame) -> NDArray[np.bool_]:
    """The mask of a detection in another size, or its box."""
    height, width = shape
    if one.mask is not None:
        resized = Image.fromarray(one.mask).resize((width, height), Image.Resampling.NEAREST)
        return np.asarray(resized, dtype=np.bool_)
    region = np.zeros(shape, dtype=np.bool_)
    sx, sy = width / frame.intrinsics.width, height / frame.intrinsics.height
    left, top, right, bottom = one.box
    region[int(top * sy) : int(np.ceil(bottom * sy)), int(left * sx) : int(np.ceil(right * sx))] = True
    return region
