"""How boxes along the same axes lie to each other, and the relations in, on, under, next to of remembered objects.

Relations are derived from the boxes when asked for, never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lastseen.memory.objects.boxes import ORIGIN, in_axes_of
from lastseen.memory.objects.columns import Floats, Rows, State, id_text
from lastseen.memory.objects.store import ObjectStore


class RelationKind(StrEnum):
    """From the asked object to the other."""

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


@dataclass(frozen=True, slots=True)
class Relation:
    """The asked object is ``kind`` the other; ``gap`` is the free distance between their boxes in metres."""

    kind: RelationKind
    other_id: str
    gap: float


def relations_of(store: ObjectStore, row: int) -> list[Relation]:
    """Relations of one object to the other confirmed ones, by kind, then gap, then number."""
    next_to = store.settings.relations.next_to
    extent = store.extent[row]
    around = 0.5 * extent + next_to
    others = np.flatnonzero(store.state[: store.used] == State.CONFIRMED)
    others = others[np.argsort(store.seq[others])]
    # along the sides of the asked one's box, from its middle
    offset, sides = in_axes_of(
        store.xyz[row], store.yaw[row], store.xyz[others], store.extent[others], store.yaw[others]
    )
    # what is above or below may be farther away, as a lamp over a table, but on this floor of the house
    close = (np.abs(offset) <= around + 0.5 * sides + [0.0, 0.0, STOREY]).all(axis=1) & (others != row)
    others, offset, sides = others[close], offset[close], sides[close]
    low, high = -0.5 * extent, 0.5 * extent
    other_low, other_high = offset - 0.5 * sides, offset + 0.5 * sides
    apart = np.maximum(np.maximum(other_low - high, low - other_high), 0.0)
    gap = np.linalg.norm(apart, axis=1)
    share = _footprint_share(low, high, other_low, other_high)
    common = shared_volume(ORIGIN, extent, offset, sides)
    volume, other_volume = float(extent.prod()), store.extent[others].prod(axis=1)
    inside = (common >= INSIDE_SHARE * volume) & (other_volume > volume) & (volume > 0.0)
    above = share >= FOOTPRINT_SHARE
    on = ~inside & above & (np.abs(low[2] - other_high[:, 2]) <= CONTACT)
    under = ~inside & above & (high[2] <= other_low[:, 2] + CONTACT)
    beside = ~(inside | on | under | above) & (apart[:, 2] == 0.0) & (gap <= next_to)
    return [
        Relation(kind, id_text(int(store.seq[others[at]])), round(float(gap[at]), 4))
        for kind, holds in (
            (RelationKind.IN, inside),
            (RelationKind.ON, on),
            (RelationKind.UNDER, under),
            (RelationKind.NEXT_TO, beside),
        )
        for at in _by_gap(gap, np.flatnonzero(holds)).tolist()
    ]


def _footprint_share(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Floats:
    """Shared floor area as a part of the smaller footprint."""
    common = np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0.0)
    area = float((high - low)[:2].prod())
    other_area = (other_high - other_low)[:, :2].prod(axis=1)
    smaller = np.minimum(area, other_area)
    share: Floats = np.divide(common[:, 0] * common[:, 1], smaller, out=np.zeros(len(common)), where=smaller > 0.0)
    return share


def _by_gap(gap: Floats, places: Rows) -> Rows:
    ordered: Rows = places[np.argsort(gap[places], kind="stable")]
    return ordered


def shared_volume(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Volume that two boxes have in common, element by element; arguments broadcast."""
    half, other_half = 0.5 * extent, 0.5 * other_extent
    low = np.maximum(xyz - half, other_xyz - other_half)
    common = np.maximum(np.minimum(xyz + half, other_xyz + other_half) - low, 0.0)
    return _volume(common)


def _volume(size: Floats) -> Floats:
    # three factors written out: a reduction over an axis of three costs several times as much
    volume: Floats = size[..., 0] * size[..., 1] * size[..., 2]
    return volume


def overlap(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Shared volume as a part of the union; 0 where a box has no volume."""
    shared = shared_volume(xyz, extent, other_xyz, other_extent)
    union = _volume(extent) + _volume(other_extent) - shared
    part: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0.0)
    return part


def containment(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Shared volume as a part of the smaller box; 0 where a box has no volume."""
    shared = shared_volume(xyz, extent, other_xyz, other_extent)
    smaller = np.minimum(_volume(extent), _volume(other_extent))
    part: Floats = np.divide(shared, smaller, out=np.zeros_like(shared), where=shared > 0.0)
    return part
