"""How axis-aligned boxes overlap."""

from __future__ import annotations

import numpy as np

from lastseen.memory.objects.grid import Floats


def shared_volume(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Volume that two boxes have in common, element by element; arguments broadcast."""
    low = np.maximum(xyz - 0.5 * extent, other_xyz - 0.5 * other_extent)
    high = np.minimum(xyz + 0.5 * extent, other_xyz + 0.5 * other_extent)
    volume: Floats = np.maximum(high - low, 0.0).prod(axis=-1)
    return volume


def overlap(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Shared volume as a part of the union; 0 where a box has no volume."""
    shared = shared_volume(xyz, extent, other_xyz, other_extent)
    union = extent.prod(axis=-1) + other_extent.prod(axis=-1) - shared
    part: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0.0)
    return part


def containment(xyz: Floats, extent: Floats, other_xyz: Floats, other_extent: Floats) -> Floats:
    """Shared volume as a part of the smaller box; 0 where a box has no volume."""
    shared = shared_volume(xyz, extent, other_xyz, other_extent)
    smaller = np.minimum(extent.prod(axis=-1), other_extent.prod(axis=-1))
    part: Floats = np.divide(shared, smaller, out=np.zeros_like(shared), where=shared > 0.0)
    return part
