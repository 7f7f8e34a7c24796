"""How axis-aligned boxes overlap."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from lastseen.memory.objects.grid import Floats, Rows


@lru_cache(maxsize=32)
def all_pairs(count: int) -> tuple[Rows, Rows]:
    """Every pair of so many boxes as two arrays of numbers, the smaller first."""
    first, second = np.triu_indices(count, k=1)
    return first, second


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
