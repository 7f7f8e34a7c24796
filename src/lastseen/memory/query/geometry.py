"""How boxes stand to each other and to who looks, as questions say it: closest, between, left of (docs/search.md).

On, in, under, near and next to are in ``memory/objects/relations.py``, which remembered objects are told by too.
"Closest" and "farthest" compare centres.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.columns import Floats
from lastseen.memory.objects.relations import CONTACT, Boxes, Flags, corners, gaps

WIDER = {"near": 1.4, "next to": 1.0}
"""The same where nothing of that name is nearer: words for distances stretch in a large room."""
_AT_ONCE = 256
"""Things whose distances are taken at once, so that a large memory needs little room for them."""
OVERHANG = 0.35
"""Metres beside a box within which a thing level with its top may stand on it: of a counter at a wall often only the
front was seen."""
_BETWEEN = np.cos(np.radians(120.0))
"""Cosine of the angle at which two things are seen from one between them."""

_ASIDE = 0.1
"""Metres by which a thing must lie to a side of another to be left of it, or behind it."""
_SIDEWAYS = 0.6
"""And how far to that side at least, beside how far off it lies otherwise: within 60 degrees."""
ASIDE_REACH = 3.0
"""Metres between surfaces: what is farther off is not said to be left or right of a thing."""


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


def rests(things: Boxes, anchors: Boxes) -> Flags:
    """Whether the bottom of each thing is at the height of the top of the anchor of its row, which is larger."""
    level = np.abs(corners(things)[0][:, 2] - corners(anchors)[1][:, 2]) <= CONTACT
    return level & (things.volumes < anchors.volumes)


def between(things: Boxes, first: Floats, second: Floats) -> Flags:
    """Whether each thing lies between two points of the floor: it sees them in opposite directions."""
    to_first, to_second = (first - things.centers)[:, :2], (second - things.centers)[:, :2]
    lengths = np.linalg.norm(to_first, axis=1) * np.linalg.norm(to_second, axis=1)
    cosine = np.divide((to_first * to_second).sum(axis=1), lengths, out=np.ones(len(things)), where=lengths > 0.0)
    return cosine <= _BETWEEN


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
    return wide & (length > _ASIDE) & (gaps(things, anchors) <= ASIDE_REACH)


def _radii(boxes: Boxes) -> Floats:
    return 0.5 * np.hypot(boxes.extents[:, 0], boxes.extents[:, 1])
