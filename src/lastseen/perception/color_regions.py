"""Things that depth alone does not part from what they lean on: a toy against a pillow, a box on a chest.

Within a piece, a region whose colour differs from the piece's own is cut out as a thing when it stands out of the
plane through what surrounds it. Light, print, tiles and paper have an outline too, but lie in that plane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.perception.kernels import differ_in_color, label_means, middle_colors

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

CONTRAST = 40.0
"""Difference, of 255 in the channel that differs most, from the middle colour of the piece."""
TINT = 0.04
"""Difference in the share of one channel from which colour differs by more than light: lamps and sun change all."""
BRIGHT = 80.0
"""Difference of 255 that is needed where one of the two is dark: there tint tells nothing."""
DARK = 75.0
"""Sum of three channels below which shares of channels are noise."""
MIN_PIXELS = 16
"""Pixels of the working image; smaller regions are texture."""
MIN_AREA = 0.0015
"""Square metres, a third of a hand; smaller is texture."""
OWN_SHARE = 0.6
"""A region that fills more of a piece than this is the piece itself."""
FILLED = 0.35
"""Share of its box that a region fills: wrinkles and cables fill less."""
SPOTS = 3
"""Regions of one colour on one piece from which they are its print."""
RELIEF, RELIEF_NOISE = 0.025, 0.001
"""Metres, and metres per square metre of range, that a region stands out of the plane around it: less is noise."""
ENCLOSED = 0.6
"""Share of the surroundings of a region that its piece fills at least."""
LEANING, LEANING_RELIEF = 0.4, 0.04
"""The same share, and the metres it stands out then: what leans on a piece and rests on another, a toy on a bed."""
FLAT_AROUND = 0.7
"""Share of the surroundings that must lie in their plane, else they are two sides of the piece."""
BENT = 0.01
"""Metres that surroundings may be off their own plane."""
GAP, RING = 2, 3
"""Pixels next to a region whose smoothed depth is half its own, and pixels beyond them that tell this plane."""


def add_color_regions(labels: Labels, rgb: Floats, depth: Floats, *, areas: Floats, skip: frozenset[int]) -> Labels:
    """Labels with regions of another colour and relief cut out of their pieces and numbered after them.

    ``rgb``, ``depth`` (metres, 0 where unknown) and ``areas`` (square metres behind a pixel) have the size of
    ``labels``; pieces in ``skip`` are left whole.
    """
    found = labels.copy()
    count = int(labels.max())
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    usual = np.zeros((count + 1, 3), dtype=np.float32)
    cut = sizes >= 4 * MIN_PIXELS
    cut[[0, *skip]] = False
    middle_colors(labels, rgb, cut, usual)
    differs = np.empty(labels.shape, dtype=np.bool_)
    differ_in_color(labels, rgb, usual, cut, (CONTRAST, TINT, BRIGHT, DARK), differs)
    parts, parts_count = ndimage.label(ndimage.binary_opening(differs))
    if not parts_count:
        return found
    flat = parts.ravel()
    part_sizes = np.bincount(flat, minlength=parts_count + 1)
    metres = np.bincount(flat, weights=areas.ravel(), minlength=parts_count + 1)
    piece_of = np.zeros(parts_count + 1, dtype=np.int64)
    piece_of[flat] = labels.ravel()
    large = (part_sizes >= MIN_PIXELS) & (metres >= MIN_AREA) & (part_sizes <= OWN_SHARE * sizes[piece_of])
    large[0] = False
    chosen = np.flatnonzero(large)
    means = np.empty((parts_count + 1, 3))
    label_means(parts, rgb, 1, means, np.empty(parts_count + 1))
    means = means[chosen]
    near = ndimage.find_objects(parts)
    for part, mean in zip(chosen.tolist(), means, strict=True):
        same = piece_of[chosen] == piece_of[part]
        alike = int((same & (np.abs(means - mean).max(axis=1) < CONTRAST)).sum())
        window = _around(near[part - 1], labels.shape)
        mask, piece = parts[window] == part, labels[window] == piece_of[part]
        if alike < SPOTS and _filled(mask) >= FILLED and _stands_out(mask, np.where(piece, depth[window], 0.0)):
            count += 1
            found[window][mask] = count
    return found


def _around(window: tuple[slice, slice], shape: tuple[int, ...]) -> tuple[slice, slice]:
    """A window with a ring around it, cut at the image."""
    rows, columns = (
        slice(max(side.start - GAP - RING, 0), min(side.stop + GAP + RING, size))
        for side, size in zip(window, shape, strict=True)
    )
    return rows, columns


def _filled(mask: Bools) -> float:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(mask.sum()) / float((rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1))


def _stands_out(mask: Bools, depth: Floats) -> bool:
    """Whether a region is nearer than the plane around it; ``depth`` is 0 outside the piece."""
    known = depth > 0.0
    away = ndimage.distance_transform_cdt(~mask, metric="taxicab")
    ring = (away > GAP) & (away <= GAP + RING)
    mine, around = mask & known, ring & known
    enclosed = int(around.sum()) / max(int(ring.sum()), 1)
    # along one edge only, it is another side of the piece, and no plane could be told either
    if int(mine.sum()) < MIN_PIXELS // 2 or int(around.sum()) < MIN_PIXELS or enclosed < LEANING:
        return False
    level = float(np.median(depth[mine]))
    fitted = _plane(around, depth)
    off = np.abs(_depths(fitted, around) - depth[around])
    # surroundings may bend, as over the edge of a chest: most of them tell the plane
    flat = np.zeros_like(around)
    flat[around] = off <= max(BENT, float(np.median(off)))
    fitted = _plane(flat, depth)
    if float((np.abs(_depths(fitted, around) - depth[around]) <= BENT).mean()) < FLAT_AROUND:
        return False
    # what lies behind is another side of the same thing, as the top of a chest seen with its front
    relief = float(np.median(_depths(fitted, mine) - depth[mine]))
    least = RELIEF if enclosed >= ENCLOSED else LEANING_RELIEF
    return relief >= least + RELIEF_NOISE * level * level


def _plane(mask: Bools, depth: Floats) -> NDArray[np.float64]:
    """The plane through the pixels of a mask: linear in inverse depth, by least squares."""
    v, u = np.nonzero(mask)
    terms = np.stack([np.ones(len(v)), u, v], axis=1)
    inverse = 1.0 / depth[mask].astype(np.float64)
    return np.asarray(np.linalg.solve(terms.T @ terms + 1e-6 * np.eye(3), terms.T @ inverse), dtype=np.float64)


def _depths(fitted: NDArray[np.float64], mask: Bools) -> NDArray[np.float64]:
    """Metres along the camera's axis of a fitted plane at the pixels of a mask."""
    v, u = np.nonzero(mask)
    depths: NDArray[np.float64] = 1.0 / np.maximum(fitted[0] + fitted[1] * u + fitted[2] * v, 1e-3)
    return depths
