"""One stack of square textures for a whole home: the procedural patterns first, then the images a scene brings.

Patterns are computed once as seamless tiles and looked up like images, with smaller copies for distant surfaces:
that is much cheaper per pixel than evaluating noise, and it stops far floors from flickering.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.sim.mesh import Pattern

SIZE_LOG2 = 8
SIZE = 1 << SIZE_LOG2
LEVELS = 7
"""Copies of each texture, every one half as wide as the last: 256 down to 4."""

TILE_METRES = (1.0, 1.6, 1.2, 0.4, 2.0, 1.0, 0.8, 0.4)
"""Width of one repeat in the world, by ``Pattern``."""


class TextureStack:
    """All textures and their smaller copies in one flat array of packed colours, ready for one lookup per pixel."""

    def __init__(self, images: NDArray[np.uint8] | None) -> None:
        tiles = np.stack([_tile(pattern) for pattern in Pattern])
        if images is not None and len(images):
            if images.shape[1:] != (SIZE, SIZE, 3):
                raise InvalidValue(
                    "home.textures", images, f"must be (n, {SIZE}, {SIZE}, 3)", remedy="resize the images"
                )
            tiles = np.concatenate([tiles, images])
        levels, starts = [], [0]
        shrunk = tiles.astype(np.float32)
        for _ in range(LEVELS):
            levels.append(_packed(shrunk))
            starts.append(starts[-1] + levels[-1].size)
            shrunk = (shrunk[:, ::2, ::2] + shrunk[:, 1::2, ::2] + shrunk[:, ::2, 1::2] + shrunk[:, 1::2, 1::2]) / 4.0
        self.texels: NDArray[np.uint32] = np.concatenate([level.ravel() for level in levels])
        self.starts = np.array(starts[:-1], dtype=np.int32)


def _packed(images: NDArray[np.float32]) -> NDArray[np.uint32]:
    packed = np.zeros((*images.shape[:3], 4), dtype=np.uint8)
    packed[..., :3] = np.rint(images)
    return packed.view(np.uint32)[..., 0]


@cache
def _tile(pattern: Pattern) -> NDArray[np.uint8]:
    """A seamless tile whose brightness multiplies the face's colour; 255 leaves it as it is."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    white = np.ones((SIZE, SIZE))
    if pattern is Pattern.WOOD:
        plank = np.floor(y * 10).astype(int)
        shift = _hash(plank) * 7.0
        grain = _noise(11, 4, 64) * 0.5 + _noise(12, 2, 128) * 0.5
        board = np.floor((x + shift) % 1.0 * 2.0)
        tone = 0.86 + 0.10 * _hash(plank * 5 + board.astype(int)) + 0.12 * (grain - 0.5)
        seam = (y * 10 % 1.0 < 0.05) | (((x + shift) * 2.0) % 1.0 < 0.012)
        value = np.where(seam, tone * 0.84, tone)
    elif pattern is Pattern.TILES:
        column, row = np.floor(x * 4).astype(int), np.floor(y * 4).astype(int)
        joint = (x * 4 % 1.0 < 0.035) | (y * 4 % 1.0 < 0.035)
        value = np.where(joint, 0.70, 0.93 + 0.07 * _hash(column * 4 + row) - 0.03 * _noise(21, 32, 32))
    elif pattern is Pattern.FABRIC:
        weave = np.sin(x * 2 * np.pi * 32) * np.sin(y * 2 * np.pi * 32)
        value = 0.90 + 0.07 * weave + 0.06 * (_noise(31, 64, 64) - 0.5)
    elif pattern is Pattern.PLASTER:
        value = 0.965 + 0.03 * (_noise(41, 8, 8) - 0.5) + 0.04 * (_noise(42, 96, 96) - 0.5)
    elif pattern is Pattern.CARPET:
        value = 0.87 + 0.18 * (_noise(51, 128, 128) - 0.5) + 0.10 * (_noise(52, 16, 16) - 0.5)
    elif pattern is Pattern.STRIPES:
        value = np.where((x * 8) % 1.0 < 0.5, 1.0, 0.68) - 0.04 * _noise(61, 64, 64)
    elif pattern is Pattern.LEAVES:
        value = 0.60 + 0.40 * (_noise(71, 12, 12) * 0.6 + _noise(72, 40, 40) * 0.4)
    else:
        value = white
    return np.repeat(np.rint(np.clip(value, 0.0, 1.0) * 255).astype(np.uint8)[..., np.newaxis], 3, axis=2)


def _hash(numbers: NDArray[np.int_]) -> NDArray[np.float64]:
    """A number in 0 to 1 for each whole number, without a visible order."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(2654435761) % np.uint64(1 << 32)
    return (mixed >> np.uint64(8)).astype(np.float64) / float(1 << 24)


def _noise(seed: int, across: int, down: int) -> NDArray[np.float64]:
    """Smooth noise in 0 to 1 that repeats at the borders: ``across`` by ``down`` random values, interpolated."""
    grid = np.random.default_rng(seed).random((down, across))
    rows, row_share = _steps(down)
    columns, column_share = _steps(across)
    top = grid[rows % down][:, columns % across], grid[rows % down][:, (columns + 1) % across]
    low = grid[(rows + 1) % down][:, columns % across], grid[(rows + 1) % down][:, (columns + 1) % across]
    upper = top[0] * (1 - column_share) + top[1] * column_share
    lower = low[0] * (1 - column_share) + low[1] * column_share
    return upper * (1 - row_share[:, np.newaxis]) + lower * row_share[:, np.newaxis]


def _steps(count: int) -> tuple[NDArray[np.int_], NDArray[np.float64]]:
    position = np.arange(SIZE) * count / SIZE
    whole = np.floor(position).astype(int)
    share = position - whole
    return whole, share * share * (3.0 - 2.0 * share)
