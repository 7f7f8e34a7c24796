"""How boxes stand to each other, as words say it: on, under, in, near, between, closest (docs/search.md).

Boxes stand upright, metres, z up; two are compared along the sides of the second. "Closest" and "farthest" compare
centres; "near" and "next to" the free distance between surfaces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.boxes import in_axes_of
from lastseen.memory.objects.relations import CONTACT, FOOTPRINT_SHARE, INSIDE_SHARE, shared_volume

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

REACH = {"near": 1.0, "next to": 0.5, "far": 2.5}
"""Metres between surfaces: near is an arm and a step, next to is half of it, far is across a room."""
WIDER = {"near": 1.4, "next to": 1.0}
"""The same where nothing of that name is nearer: words for distances stretch in a large room."""
_AT_ONCE = 256
"""Things whose distances are taken at once, so that a large memory needs little room for them."""
_LOWEST_SHELF = 0.25
"""Part of a box's height from which something inside its box may lie on it: a mattress, a shelf board."""
_FLAT, _THICK = 0.15, 0.25
"""Height of a flat thing, as part of its width and in metres: a rug, a mat, a sheet of paper."""
OVERHANG = 0.35
"""Metres beside a box within which a thing level with its top may stand on it: of a counter at a wall often only the
front was seen."""
_LEGS = 0.1
"""Part of a box's height within which what is under it stands: a table's box reaches to the floor."""
_BETWEEN = np.cos(np.radians(120.0))
"""Cosine of the angle at which two things are seen from one between them."""

_ASIDE = 0.1
"""Metres by which a thing must lie to a side of another to be left of it, or behind it."""
_SIDEWAYS = 0.6
"""And how far to that side at least, beside how far off it lies otherwise: within 60 degrees."""
ASIDE_REACH = 3.0
"""Metres between surfaces: what is farther off is not said to be left or right of a thing."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Centres, extents and yaws, one row each."""

    centers: Floats
    extents: Floats
    yaws: Floats

    def __len__(self) -> int:
        return len(self.centers)

    def only(self, rows: NDArray[np.int64]) -> Boxes:
        """The boxes of some rows."""
        return Boxes(self.centers[rows], self.extents[rows], self.yaws[rows])

    def seen_from(self, others: Boxes) -> tuple[Boxes, Boxes]:
        """These and the others, row by row, as if each of the others stood at the origin along the axes."""
        straight = np.zeros(len(self))
        offset, sides = in_axes_of(others.centers, others.yaws, self.centers, self.extents, self.yaws)
        return Boxes(offset, sides, straight), Boxes(np.zeros_like(offset), others.extents, straight)

    @property
    def faces(self) -> Floats:
        """Square metres of the largest face of each: how large it looks, also where it is flat."""
        x, y, z = self.extents.T
        faces: Floats = np.maximum(np.maximum(x * y, y * z), x * z)
        return faces

    @property
    def volumes(self) -> Floats:
        """Cubic metres of each."""
        volumes: Floats = self.extents.prod(axis=1)
        return volumes


def nearest(things: Boxes, anchors: Boxes, *, same: NDArray[np.int64] | None = None) -> Floats:
    """Metres from each thing to the nearest anchor, between centres; inf where there is none.

    ``same`` gives for each thing the anchor that it is itself, or -1: it is left out.
    """
    found = np.full(len(things), np.inf)
    if not len(anchors):
        return found
    for start in range(0, len(things), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        apart = np.linalg.norm(things.centers[some, None] - anchors.centers[None], axis=2)
        if same is not None:
            own = np.flatnonzero(same[some] >= 0)
            apart[own, same[some][own]] = np.inf
        found[some] = apart.min(axis=1)
    return found


def pairs_within(things: Boxes, anchors: Boxes, reach: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Things and anchors whose boxes come within ``reach`` metres of each other on the floor, as rows of each."""
    order = np.argsort(anchors.centers[:, 0], kind="stable")
    sorted_x = anchors.centers[order, 0]
    # however they are turned
    radius, widest = _radii(things), float(_radii(anchors).max(initial=0.0))
    half = radius + widest + reach
    low = np.searchsorted(sorted_x, things.centers[:, 0] - half, side="left")
    high = np.searchsorted(sorted_x, things.centers[:, 0] + half, side="right")
    counts = high - low
    first = np.repeat(np.arange(len(things)), counts)
    offsets = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    second = order[np.repeat(low, counts) + offsets]
    here, there = things.only(first).seen_from(anchors.only(second))
    close = (np.abs(here.centers) <= 0.5 * (here.extents + there.extents) + reach)[:, :2].all(axis=1)
    return first[close], second[close]


def holds(kind: str, things: Boxes, anchors: Boxes) -> Flags:
    """Whether each thing is ``kind`` the anchor of its row; for "far", whether it is not."""
    if kind in REACH:
        return gaps(things, anchors) <= REACH[kind]
    things, anchors = things.seen_from(anchors)
    low, high = _corners(things)
    other_low, other_high = _corners(anchors)
    height = other_high[:, 2] - other_low[:, 2]
    common = np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0.0)
    area = np.minimum((high - low)[:, :2].prod(axis=1), (other_high - other_low)[:, :2].prod(axis=1))
    shared = common[:, 0] * common[:, 1]
    over = (shared >= FOOTPRINT_SHARE * area) & (shared > 0.0)
    bottom, top = low[:, 2], high[:, 2]
    smaller = things.volumes < anchors.volumes
    if kind == "in":
        volume = shared_volume(things.centers, things.extents, anchors.centers, anchors.extents)
        inside: Flags = smaller & (volume >= INSIDE_SHARE * things.volumes)
        return inside
    if kind == "above":
        higher: Flags = over & (bottom >= other_high[:, 2] - CONTACT)
        return higher
    if kind == "on":
        within = (bottom >= other_low[:, 2] + _LOWEST_SHELF * height) & (bottom <= other_high[:, 2] + CONTACT)
        at_top = bottom >= other_high[:, 2] - CONTACT
        # a rug is remembered thicker than it is, and what stands on it is seen down to the floor
        flat = height <= _FLAT * np.minimum(*(other_high - other_low)[:, :2].T)
        at_top |= flat & (height <= _THICK) & (top > other_high[:, 2])
        lies: Flags = over & ((within & smaller) | (at_top & (bottom <= other_high[:, 2] + CONTACT)))
        return lies
    below = top <= other_low[:, 2] + CONTACT
    among_legs = smaller & (bottom <= other_low[:, 2] + _LEGS * height) & (top < other_high[:, 2] - CONTACT)
    under: Flags = over & (below | among_legs)
    return under


def rests(things: Boxes, anchors: Boxes) -> Flags:
    """Whether the bottom of each thing is at the height of the top of the anchor of its row, which is larger."""
    level = np.abs(_corners(things)[0][:, 2] - _corners(anchors)[1][:, 2]) <= CONTACT
    flags: Flags = level & (things.volumes < anchors.volumes)
    return flags


def between(things: Boxes, first: Floats, second: Floats) -> Flags:
    """Whether each thing lies between two points of the floor: it sees them in opposite directions."""
    to_first, to_second = (first - things.centers)[:, :2], (second - things.centers)[:, :2]
    lengths = np.linalg.norm(to_first, axis=1) * np.linalg.norm(to_second, axis=1)
    cosine = np.divide((to_first * to_second).sum(axis=1), lengths, out=np.ones(len(things)), where=lengths > 0.0)
    flags: Flags = cosine <= _BETWEEN
    return flags


def seen_from(kind: str, things: Boxes, anchors: Boxes, viewer: Floats) -> Flags:
    """Whether each thing is left, right, in front of or behind the anchor of its row, seen from a point."""
    ahead = (anchors.centers - viewer)[:, :2]
    length = np.linalg.norm(ahead, axis=1)
    ahead = ahead / np.maximum(length, 1e-9)[:, None]
    off = (things.centers - anchors.centers)[:, :2]
    along, left = (off * ahead).sum(axis=1), ahead[:, 0] * off[:, 1] - ahead[:, 1] * off[:, 0]
    sides = {"left": (left, along), "right": (-left, along), "front": (-along, left), "behind": (along, left)}
    said, other = sides[kind]
    wide = (said > _ASIDE) & (said >= np.abs(other) * _SIDEWAYS)
    flags: Flags = wide & (length > _ASIDE) & (gaps(things, anchors) <= ASIDE_REACH)
    return flags


def gaps(things: Boxes, anchors: Boxes) -> Floats:
    """Free metres between the surfaces of each pair; 0 where boxes touch or overlap."""
    things, anchors = things.seen_from(anchors)
    apart = np.abs(things.centers) - 0.5 * (things.extents + anchors.extents)
    free: Floats = np.linalg.norm(np.maximum(apart, 0.0), axis=1)
    return free


def _radii(boxes: Boxes) -> Floats:
    radii: Floats = 0.5 * np.hypot(boxes.extents[:, 0], boxes.extents[:, 1])
    return radii


def _corners(boxes: Boxes) -> tuple[Floats, Floats]:
    return boxes.centers - 0.5 * boxes.extents, boxes.centers + 0.5 * boxes.extents
