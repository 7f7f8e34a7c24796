"""How boxes stand to each other, as words say it: on, under, in, near, between, closest (docs/search.md).

Boxes are axis-aligned, metres, z up. "Closest" and "farthest" compare centres; "near" and "next to" the free distance
between surfaces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.relations import CONTACT, FOOTPRINT_SHARE, INSIDE_SHARE, shared_volume

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEAR = 1.0
"""Metres between surfaces that people call near: an arm and a step."""
NEXT_TO = 0.5
"""Metres between surfaces of things that stand next to each other."""
FAR = 2.5
"""Metres between surfaces from which things are far apart in a room."""
_LOWEST_SHELF = 0.25
"""Part of a box's height from which something inside its box may lie on it: a mattress, a shelf board."""
_LEGS = 0.1
"""Part of a box's height within which what is under it stands: a table's box reaches to the floor."""
_BETWEEN = np.cos(np.radians(120.0))
"""Cosine of the angle at which two things are seen from one between them."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Centres and extents, one row each."""

    centers: Floats
    extents: Floats

    def __len__(self) -> int:
        return len(self.centers)

    def only(self, rows: list[int]) -> Boxes:
        """The boxes of some rows."""
        return Boxes(self.centers[rows], self.extents[rows])

    @property
    def volumes(self) -> Floats:
        """Cubic metres of each."""
        volumes: Floats = self.extents.prod(axis=1)
        return volumes


def distances(things: Boxes, anchors: Boxes) -> Floats:
    """Metres between centres, things x anchors."""
    apart: Floats = np.linalg.norm(things.centers[:, None] - anchors.centers[None], axis=2)
    return apart


def gaps(things: Boxes, anchors: Boxes) -> Floats:
    """Free metres between surfaces, things x anchors; 0 where boxes touch or overlap."""
    apart = np.abs(things.centers[:, None] - anchors.centers[None])
    apart = apart - 0.5 * (things.extents[:, None] + anchors.extents[None])
    free: Floats = np.linalg.norm(np.maximum(apart, 0.0), axis=2)
    return free


def holds(kind: str, things: Boxes, anchors: Boxes) -> Flags:
    """Whether each thing is ``kind`` each anchor, things x anchors."""
    if kind == "near":
        return gaps(things, anchors) <= NEAR
    if kind == "next to":
        return gaps(things, anchors) <= NEXT_TO
    if kind == "far":
        return gaps(things, anchors) >= FAR
    low, high = _corners(things)
    other_low, other_high = _corners(anchors)
    low, high, other_low, other_high = low[:, None], high[:, None], other_low[None], other_high[None]
    height = other_high[..., 2] - other_low[..., 2]
    common = np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0.0)
    area = np.minimum((high - low)[..., :2].prod(axis=-1), (other_high - other_low)[..., :2].prod(axis=-1))
    shared = common[..., 0] * common[..., 1]
    over = (shared >= FOOTPRINT_SHARE * area) & (shared > 0.0)
    bottom, top = low[..., 2], high[..., 2]
    smaller = things.volumes[:, None] < anchors.volumes[None]
    volume = shared_volume(
        things.centers[:, None], things.extents[:, None], anchors.centers[None], anchors.extents[None]
    )
    inside: Flags = smaller & (volume >= INSIDE_SHARE * things.volumes[:, None])
    if kind == "in":
        return inside
    if kind == "above":
        higher: Flags = over & (bottom >= other_high[..., 2] - CONTACT)
        return higher
    if kind == "on":
        within = (bottom >= other_low[..., 2] + _LOWEST_SHELF * height) & (bottom <= other_high[..., 2] + CONTACT)
        lies: Flags = over & within & (smaller | (bottom >= other_high[..., 2] - CONTACT))
        return lies
    below = top <= other_low[..., 2] + CONTACT
    among_legs = smaller & (bottom <= other_low[..., 2] + _LEGS * height) & (top < other_high[..., 2] - CONTACT)
    under: Flags = over & (below | among_legs)
    return under


def between(things: Boxes, first: Floats, second: Floats) -> Flags:
    """Whether each thing lies between two points of the floor: it sees them in opposite directions."""
    to_first, to_second = (first - things.centers)[:, :2], (second - things.centers)[:, :2]
    lengths = np.linalg.norm(to_first, axis=1) * np.linalg.norm(to_second, axis=1)
    cosine = np.divide((to_first * to_second).sum(axis=1), lengths, out=np.ones(len(things)), where=lengths > 0.0)
    flags: Flags = cosine <= _BETWEEN
    return flags


def _corners(boxes: Boxes) -> tuple[Floats, Floats]:
    return boxes.centers - 0.5 * boxes.extents, boxes.centers + 0.5 * boxes.extents
