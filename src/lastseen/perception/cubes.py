"""Cubes of the world: which of them the pixels of a frame fall on, by one number each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]

CUBE = 0.05
"""Metres: twice the noise of a depth camera at three metres, half of a mug."""
THIN = 2
"""Every second pixel of a row and column meets the same cubes."""
UP_BITS = 21
"""Bits of a key that say how high a cube is; as many before them say how far along y, and x comes first."""
_HALF = 1 << (UP_BITS - 1)
AROUND = tuple(
    (x << 2 * UP_BITS) + (y << UP_BITS) + z
    for x in (-1, 0, 1)
    for y in (-1, 0, 1)
    for z in (-1, 0, 1)
    if (x, y, z) != (0, 0, 0)
)
"""What to add to a key for each of its neighbours."""


def keys_of(points: Floats, origin: NDArray[np.float64]) -> NDArray[np.int64]:
    """The key of the cube that each point (n, 3) falls in."""
    at = np.floor((points - origin) / CUBE).astype(np.int64) + _HALF
    keys: NDArray[np.int64] = (at[:, 0] << 2 * UP_BITS) | (at[:, 1] << UP_BITS) | at[:, 2]
    return keys


def middles(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middles of cubes, from the corner that all are counted from."""
    mask = (1 << UP_BITS) - 1
    at = np.stack([keys >> 2 * UP_BITS, (keys >> UP_BITS) & mask, keys & mask], axis=1) - _HALF
    return (at + 0.5) * CUBE


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """The looked-at pixels of some labels: where they are, of which label, and of which pair of cube and label."""

    here: NDArray[np.bool_]
    owner: Labels
    pairs: list[tuple[int, int]]
    pair_of: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Labels, things: Iterable[int], world: Floats, origin: NDArray[np.float64]) -> Pixels:
        """Every ``THIN``-th pixel of every ``THIN``-th row."""
        thin = labels[::THIN, ::THIN]
        wanted = np.zeros(int(labels.max()) + 1, dtype=np.bool_)
        wanted[list(things)] = True
        here = wanted[thin]
        packed = keys_of(world[::THIN, ::THIN][here], origin)
        owner = thin[here]
        order = np.lexsort((packed, owner))
        first = np.ones(len(owner), dtype=np.bool_)
        first[1:] = (packed[order][1:] != packed[order][:-1]) | (owner[order][1:] != owner[order][:-1])
        pair_of = np.empty(len(owner), dtype=np.int64)
        pair_of[order] = np.cumsum(first) - 1
        pairs = list(zip(packed[order][first].tolist(), owner[order][first].tolist(), strict=True))
        return cls(here, owner, pairs, pair_of)

    def cubes(self) -> dict[int, list[int]]:
        """The cubes of each label."""
        cubes: dict[int, list[int]] = defaultdict(list)
        for key, label in self.pairs:
            cubes[label].append(key)
        return dict(cubes)
