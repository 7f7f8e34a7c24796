"""Things that colour shows and depth hardly does: an outlet in a wall, a toy against a pillow, paper on a desk.

A patch is a small region enclosed by colour edges whose colour differs from its surroundings. Shadows and reflections
differ too, but fade, and so are not enclosed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.perception import Segment

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

AROUND = 31
"""Pixels of the window that tells the colour of the surroundings: some three patches wide."""
OWN_SHARE = 0.4
"""A region that fills more of a piece than this is the piece itself, not a patch on it."""
FILLED = 0.35
"""Share of its box that a patch fills: wrinkles and cables fill less."""


def add_patches(labels: Labels, rgb: Floats, inside: Bools, areas: Floats, config: Segment) -> Labels:
    """Labels with patches added, cut out of the pieces they lie on; ``inside`` leaves out holes and outlines."""
    slope = _slope(rgb)
    regions, count = ndimage.label(inside & (slope < config.patch_edge))
    if not count:
        return labels
    keep = _plausible(regions, count, labels, rgb, areas, config)
    numbers = np.zeros(count + 1, dtype=np.int32)
    numbers[keep] = np.arange(1, int(keep.sum()) + 1, dtype=np.int32)
    patches = numbers[regions]
    # the edges themselves belong to the patch as much as to what is around it
    grown = ndimage.grey_dilation(patches, size=(3, 3))
    patches = np.where((patches == 0) & inside, grown, patches)
    return np.where(patches > 0, patches + int(labels.max()), labels).astype(np.int32)


def _plausible(regions: Labels, count: int, labels: Labels, rgb: Floats, areas: Floats, config: Segment) -> Bools:
    """Which regions are of the right size, compact, unlike their surroundings, and not a piece by themselves."""
    flat = regions.ravel()
    sizes = np.bincount(flat, minlength=count + 1)
    metres = np.bincount(flat, weights=areas.ravel(), minlength=count + 1)
    keep = (sizes >= config.min_pixels) & (metres >= config.patch_min_area) & (metres <= config.patch_max_area)
    keep[0] = False
    for number, window in enumerate(ndimage.find_objects(regions), start=1):
        if keep[number] and window is not None:
            rows, columns = window
            keep[number] = sizes[number] >= FILLED * (rows.stop - rows.start) * (columns.stop - columns.start)
    contrast = np.zeros(count + 1)
    for channel in range(3):
        difference = rgb[..., channel] - ndimage.uniform_filter(rgb[..., channel], AROUND)
        mean = np.bincount(flat, weights=difference.ravel(), minlength=count + 1) / np.maximum(sizes, 1)
        contrast = np.maximum(contrast, np.abs(mean))
    keep &= contrast > config.patch_contrast
    # the piece under the middle pixel of a region stands for the piece it lies on
    parents = np.bincount(labels.ravel())
    first = np.zeros(count + 1, dtype=np.int64)
    first[flat] = np.arange(len(flat))
    parent = labels.ravel()[first]
    keep &= (parent == 0) | (sizes < OWN_SHARE * parents[parent])
    return keep


def _slope(rgb: Floats) -> Floats:
    """How much colour changes across two pixels, in the channel that changes most."""
    slope = np.zeros(rgb.shape[:2], dtype=np.float32)
    slope[1:-1] = np.abs(rgb[2:] - rgb[:-2]).max(axis=-1)
    slope[:, 1:-1] = np.maximum(slope[:, 1:-1], np.abs(rgb[:, 2:] - rgb[:, :-2]).max(axis=-1))
    return slope
