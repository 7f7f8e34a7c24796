"""How boxes stand to each other: in, on, under, above, near, next to; one definition for all (docs/search.md).

Boxes stand upright, metres, z up; two are compared along the sides of the second, "near" and "next to" by the free
distance between surfaces. Relations are derived from the boxes when asked for, never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.boxes import in_axes_of
from lastseen.memory.objects.columns import Floats, Rows, State, id_text
from lastseen.memory.objects.store import ObjectStore

Flags = NDArray[np.bool_]


class RelationKind(StrEnum):
    """From the asked object to the other; of several that hold the first is told."""

    IN = "in"
    ON = "on"
    UNDER = "under"
    NEXT_TO = "next to"


STOREY = 3.0
"""Metres of free height over a thing in which something is still above it."""
CONTACT = 0.08
"""Metres that boxes which touch are remembered apart or into each other."""
FOOTPRINT_SHARE = 0.5
"""Share of the smaller footprint that must lie over the other: on and under."""
INSIDE_SHARE = 0.8
"""Share of a thing's box inside another's from which it is in it."""
REACH = {"near": 1.0, "next to": 0.5, "far": 2.5}
"""Metres between surfaces: near is an arm and a step, next to is half of it, far is across a room."""
_LOWEST_SHELF = 0.25
"""Part of a box's height from which something inside its box may lie on it: a mattress, a shelf board."""
_FLAT, _THICK = 0.15, 0.25
"""Height of a flat thing, as part of its width and in metres: a rug, a mat, a sheet of paper."""
_LEGS = 0.1
"""Part of a box's height within which what is under it stands: a table's box reaches to the floor."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The asked object is ``kind`` the other; ``gap`` is the free distance between their boxes in metres."""

    kind: RelationKind
    other_id: str
    gap: float


@dataclass(frozen=True, slots=True)
class Boxes:
    """Centres, extents and yaws, one row each."""

    centers: Floats
    extents: Floats
    yaws: Floats

    def __len__(self) -> int:
        return len(self.centers)

    def only(self, rows: Rows) -> Boxes:
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
        return np.maximum(np.maximum(x * y, y * z), x * z)

    @property
    def volumes(self) -> Floats:
        """Cubic metres of each."""
        return self.extents.prod(axis=1)


def relations_of(store: ObjectStore, row: int) -> list[Relation]:
    """Relations of one object to the other confirmed ones, by kind, then gap, then number."""
    others = np.flatnonzero(store.state[: store.used] == State.CONFIRMED)
    others = others[np.argsort(store.seq[others])]
    others = others[others != row]
    asked, there = (
        Boxes(store.xyz[at], store.extent[at], store.yaw[at]) for at in (np.full_like(others, row), others)
    )
    here, _ = asked.seen_from(there)
    # what is above or below may be farther away, as a lamp over a table, but on this floor of the house
    reach = 0.5 * (here.extents + there.extents) + [REACH["next to"], REACH["next to"], STOREY]
    near = np.flatnonzero((np.abs(here.centers) <= reach).all(axis=1))
    others, asked, there = others[near], asked.only(near), there.only(near)
    gap = gaps(asked, there)
    apart = np.abs(asked.centers - there.centers)[:, 2] > 0.5 * (asked.extents + there.extents)[:, 2]
    told = np.zeros(len(others), dtype=bool)
    found = []
    for kind in RelationKind:
        true = holds(kind, asked, there) & ~told
        if kind == RelationKind.NEXT_TO:
            true &= ~apart & ~holds("over", asked, there)
        told |= true
        places = np.flatnonzero(true)
        found += [
            Relation(kind, id_text(int(store.seq[others[at]])), round(float(gap[at]), 4))
            for at in places[np.argsort(gap[places], kind="stable")].tolist()
        ]
    return found


def holds(kind: str, things: Boxes, anchors: Boxes) -> Flags:
    """Whether each thing is ``kind`` the anchor of its row; for "far", whether it is not; "over" at any height."""
    if kind in REACH:
        return gaps(things, anchors) <= REACH[kind]
    things, anchors = things.seen_from(anchors)
    low, high = corners(things)
    other_low, other_high = corners(anchors)
    height = other_high[:, 2] - other_low[:, 2]
    common = np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0.0)
    area = np.minimum((high - low)[:, :2].prod(axis=1), (other_high - other_low)[:, :2].prod(axis=1))
    shared = common[:, 0] * common[:, 1]
    over: Flags = (shared >= FOOTPRINT_SHARE * area) & (shared > 0.0)
    if kind == "over":
        return over
    bottom, top = low[:, 2], high[:, 2]
    smaller = things.volumes < anchors.volumes
    if kind == "in":
        volume = shared_volume(things.centers, things.extents, anchors.centers, anchors.extents)
        return smaller & (volume > 0.0) & (volume >= INSIDE_SHARE * things.volumes)
    if kind == "above":
        return over & (bottom >= other_high[:, 2] - CONTACT)
    if kind == "on":
        within = (bottom >= other_low[:, 2] + _LOWEST_SHELF * height) & (bottom <= other_high[:, 2] + CONTACT)
        at_top = bottom >= other_high[:, 2] - CONTACT
        # a rug is remembered thicker than it is, and what stands on it is seen down to the floor
        flat = height <= _FLAT * np.minimum(*(other_high - other_low)[:, :2].T)
        at_top |= flat & (height <= _THICK) & (top > other_high[:, 2])
        return over & ((within & smaller) | (at_top & (bottom <= other_high[:, 2] + CONTACT)))
    below = top <= other_low[:, 2] + CONTACT
    among_legs = smaller & (bottom <= other_low[:, 2] + _LEGS * height) & (top < other_high[:, 2] - CONTACT)
    return over & (below | among_legs)


def gaps(things: Boxes, anchors: Boxes) -> Floats:
    """Free metres between the surfaces of each pair; 0 where boxes touch or overlap."""
    things, anchors = things.seen_from(anchors)
    apart = np.abs(things.centers) - 0.5 * (things.extents + anchors.extents)
    return np.linalg.norm(np.maximum(apart, 0.0), axis=1)


def corners(boxes: Boxes) -> tuple[Floats, Floats]:
    """The lowest and the highest corner of each box, along its own axes."""
    return boxes.centers - 0.5 * boxes.extents, boxes.centers + 0.5 * boxes.extents


def shared_volume(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Volume that two boxes have in common, element by element; arguments broadcast."""
    half, other_half = 0.5 * extent, 0.5 * other_extent
    low = np.maximum(xyz - half, other_xyz - other_half)
    common = np.maximum(np.minimum(xyz + half, other_xyz + other_half) - low, 0.0)
    return _volume(common)


def _volume(size: Floats) -> Floats:
    # three factors written out: a reduction over an axis of three costs several times as much
    return size[..., 0] * size[..., 1] * size[..., 2]


def overlap(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Shared volume as a part of the union; 0 where a box has no volume."""
    shared = shared_volume(xyz, extent, other_xyz, other_extent)
    union = _volume(extent) + _volume(other_extent) - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0.0)


def containment(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Shared volume as a part of the smaller box; 0 where a box has no volume."""
    shared = shared_volume(xyz, extent, other_xyz, other_extent)
    smaller = np.minimum(_volume(extent), _volume(other_extent))
    return np.divide(shared, smaller, out=np.zeros_like(shared), where=shared > 0.0)
