"""Things that depth alone does not part from what they lean on: a toy against a pillow, a laptop on a chest.

Within a piece, a region whose colour differs from the piece's own is cut out as a thing when it stands out of the
plane through what surrounds it. Light, print, tiles and paper have an outline too, but lie in that plane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

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
RELIEF, RELIEF_NOISE = 0.012, 0.001
"""Metres, and metres per square metre of range, that a region stands out of the plane around it: less is noise."""
ENCLOSED = 0.5
"""Share of the surroundings of a region that its piece fills at least."""
RING = 3
"""Pixels around a region that tell this plane."""


def add_color_regions(labels: Labels, rgb: Floats, depth: Floats, *, areas: Floats, skip: frozenset[int]) -> Labels:
    """Labels with regions of another colour and relief cut out of their pieces and numbered after them.

    ``rgb``, ``depth`` (metres, 0 where unknown) and ``areas`` (square metres behind a pixel) have the size of
    ``labels``; pieces in ``skip`` are left whole.
    """
    found = labels.copy()
    count = int(labels.max())
    for number, window in enumerate(ndimage.find_objects(labels), start=1):
        if window is None or number in skip:
            continue
        piece = labels[window] == number
        size = int(piece.sum())
        if size < 4 * MIN_PIXELS:
            continue
        colors = rgb[window]
        usual = np.median(colors[piece], axis=0)
        differs = piece & _differs(colors, usual)
        parts, parts_count = ndimage.label(ndimage.binary_opening(differs, iterations=1))
        if not parts_count:
            continue
        sizes = np.bincount(parts.ravel(), minlength=parts_count + 1)
        metres = np.bincount(parts.ravel(), weights=areas[window].ravel(), minlength=parts_count + 1)
        large = (sizes >= MIN_PIXELS) & (metres >= MIN_AREA) & (sizes <= OWN_SHARE * size)
        large[0] = False
        chosen = np.flatnonzero(large).tolist()
        means = np.array([colors[parts == part].mean(axis=0) for part in chosen]).reshape(-1, 3)
        for part, mean in zip(chosen, means, strict=True):
            alike = int((np.abs(means - mean).max(axis=1) < CONTRAST).sum())
            mask = parts == part
            if alike < SPOTS and _filled(mask) >= FILLED and _stands_out(mask, np.where(piece, depth[window], 0.0)):
                count += 1
                found[window][mask] = count
    return found


def _filled(mask: Bools) -> float:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(mask.sum()) / float((rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1))


def _differs(colors: Floats, usual: Floats) -> Bools:
    """Pixels whose colour differs by more than light can change it: in tint, or from dark to bright."""
    contrast = np.abs(colors - usual).max(axis=-1)
    total = colors.sum(axis=-1)
    tint = np.abs(colors / np.maximum(total, 1.0)[..., np.newaxis] - usual / max(float(usual.sum()), 1.0)).max(
        axis=-1
    )
    dark = (total < DARK) | bool(usual.sum() < DARK)
    differs: Bools = (contrast > CONTRAST) & np.where(dark, contrast > BRIGHT, tint > TINT)
    return differs


def _stands_out(mask: Bools, depth: Floats) -> bool:
    """Whether a region is nearer than the plane around it; ``depth`` is 0 outside the piece."""
    known = depth > 0.0
    ring = ndimage.binary_dilation(np.pad(mask, RING), iterations=RING) & ~np.pad(mask, RING)
    mine, around = mask & known, ring[RING:-RING, RING:-RING] & known
    # along one edge only, it is another side of the piece, and no plane could be told either
    if int(mine.sum()) < MIN_PIXELS // 2 or int(around.sum()) < max(MIN_PIXELS, ENCLOSED * int(ring.sum())):
        return False
    level = float(np.median(depth[mine]))
    v, u = np.nonzero(around)
    # a plane is linear in inverse depth
    terms = np.stack([np.ones(len(v)), u, v], axis=1)
    inverse = 1.0 / depth[around].astype(np.float64)
    fitted = np.linalg.solve(terms.T @ terms + 1e-6 * np.eye(3), terms.T @ inverse)
    relief = float(np.median(_depths(fitted, mine) - depth[mine]))
    # surroundings that bend as much as the region stands out of them tell nothing
    bent = float(np.quantile(np.abs(_depths(fitted, around) - depth[around]), 0.75))
    # what lies behind is another side of the same thing, as the top of a chest seen with its front
    return relief >= RELIEF + RELIEF_NOISE * level * level and relief >= 2.0 * bent


def _depths(fitted: NDArray[np.float64], mask: Bools) -> NDArray[np.float64]:
    """Metres along the camera's axis of a fitted plane at the pixels of a mask."""
    v, u = np.nonzero(mask)
    depths: NDArray[np.float64] = 1.0 / np.maximum(fitted[0] + fitted[1] * u + fitted[2] * v, 1e-3)
    return depths
