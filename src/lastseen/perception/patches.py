"""Things that colour shows and depth hardly does: an outlet in a wall, a toy against a pillow, paper on a desk.

A patch is a small region enclosed by colour edges whose colour differs from its surroundings. Shadows and reflections
differ too, but fade, and so are not enclosed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from lastseen.frame import Frame

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

COLUMNS = 427
"""Width in pixels at which colour is read: an outlet at three metres has 7 of them."""
EDGE = 18.0
"""Change of colour over two pixels, of 255, that is a sharp outline; shadows fade more slowly."""
CONTRAST = 28.0
"""Difference, of 255, of flat things (outlets, paper, screens) from their surface."""
BUSY = 1.5
"""Contrast as a multiple of the spread of brightness around: wrinkles are no things."""
MIN_PIXELS = 24
"""Pixels at that width; smaller regions are texture."""
MIN_AREA = 0.0015
"""Square metres, a third of a hand; smaller is texture."""
MAX_AREA = 0.12
"""Square metres; larger parts of a surface are its own pattern."""
AROUND = 60
"""Pixels of the window that tells the colour of the surroundings: some three patches wide."""
OWN_SHARE = 0.4
"""A region that fills more of a piece than this is the piece itself, not a patch on it."""
FILLED = 0.35
"""Share of its box that a patch fills: wrinkles and cables fill less."""
SPOTS = 3
"""Patches of one colour on one piece from which they are its print."""


def add_patches(labels: Labels, frame: Frame, inside: Bools, areas: Floats) -> Labels:
    """Labels with patches added, cut out of the pieces they lie on, in the size of the colour image looked at.

    ``labels``, ``inside`` (which leaves out holes and outlines) and ``areas`` come in the size of depth.
    """
    width = min(COLUMNS, frame.intrinsics.width)
    height = round(frame.intrinsics.height * width / frame.intrinsics.width)
    small = Image.fromarray(frame.rgb).resize((width, height), Image.Resampling.BOX)
    rgb = np.asarray(small, dtype=np.int16)
    rows, columns = _lookup(frame, labels.shape, (height, width))
    labels, inside = labels[rows, columns], inside[rows, columns]
    regions, count = ndimage.label(inside & (_slope(rgb) < EDGE))
    if not count:
        return labels
    pixel = float(areas.size) / (height * width)
    behind = areas[rows, columns].ravel().astype(np.float64) * pixel
    metres: NDArray[np.float64] = np.bincount(regions.ravel(), weights=behind, minlength=count + 1).astype(np.float64)
    keep = _plausible(regions, metres, labels, rgb)
    numbers = np.zeros(count + 1, dtype=np.int32)
    numbers[keep] = np.arange(1, int(keep.sum()) + 1, dtype=np.int32)
    patches = numbers[regions]
    # the edges themselves belong to the patch as much as to what is around it
    for _ in range(2):
        patches = np.where((patches == 0) & inside, _neighbour(patches), patches)
    return np.where(patches > 0, patches + int(labels.max()), labels).astype(np.int32)


def _lookup(
    frame: Frame, depth_shape: tuple[int, ...], shape: tuple[int, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column of the working depth image at every pixel of the small colour image."""
    camera, depth_camera = frame.intrinsics.resized(shape[1], shape[0]), frame.camera_of_depth
    working = depth_camera.resized(depth_shape[1], depth_shape[0])
    x = (np.arange(shape[1]) - camera.cx) / camera.fx * working.fx + working.cx
    y = (np.arange(shape[0]) - camera.cy) / camera.fy * working.fy + working.cy
    columns = np.clip(np.rint(x), 0, depth_shape[1] - 1).astype(np.intp)
    rows = np.clip(np.rint(y), 0, depth_shape[0] - 1).astype(np.intp)
    return rows[:, np.newaxis], columns[np.newaxis]


def _plausible(regions: Labels, metres: NDArray[np.float64], labels: Labels, rgb: NDArray[np.int16]) -> Bools:
    """Which regions are of the right size, compact, unlike their surroundings, and not a piece by themselves."""
    flat, count = regions.ravel(), len(metres) - 1
    sizes = np.bincount(flat, minlength=count + 1)
    keep = (sizes >= MIN_PIXELS) & (metres >= MIN_AREA) & (metres <= MAX_AREA)
    keep[0] = False
    # the piece under the last pixel of a region stands for the piece it lies on
    last = np.zeros(count + 1, dtype=np.int64)
    last[flat] = np.arange(len(flat))
    parent = labels.ravel()[last]
    parents = np.bincount(labels.ravel())
    keep &= (parent == 0) | (sizes < OWN_SHARE * parents[parent])
    half = rgb[::2, ::2].astype(np.float32)
    around = np.stack([ndimage.uniform_filter(half[..., channel], AROUND // 2) for channel in range(3)], axis=-1)
    bright = half.mean(axis=-1)
    mean = ndimage.uniform_filter(bright, AROUND // 2)
    busy = np.sqrt(np.maximum(ndimage.uniform_filter(bright * bright, AROUND // 2) - mean * mean, 0.0))
    windows = ndimage.find_objects(regions)
    colors = np.zeros((count + 1, 3), dtype=np.float32)
    for number in np.flatnonzero(keep):
        rows, columns = windows[number - 1]
        mask = regions[rows, columns] == number
        v, u = np.nonzero(mask)
        v, u = (v + rows.start) // 2, (u + columns.start) // 2
        difference = rgb[rows, columns][mask] - around[v, u]
        # among wrinkles or leaves a patch must differ more than they do from each other
        needed = max(CONTRAST, BUSY * float(busy[v, u].mean()))
        contrast = float(np.abs(difference.mean(axis=0)).max())
        keep[number] = mask.mean() >= FILLED and contrast > needed
        colors[number] = rgb[rows, columns][mask].mean(axis=0)
    found = np.flatnonzero(keep)
    keep[found[_printed(parent[found], colors[found])]] = False
    return keep


def _printed(parent: Labels, colors: Floats) -> Bools:
    """Which patches are the print of what they lie on: several of one colour on one piece, like spots on a cushion.

    Things that lie on a piece seldom come in three of a colour; on a table or wall, which is no piece, they may.
    """
    alike = (parent[:, np.newaxis] == parent) & (parent > 0)
    alike &= np.abs(colors[:, np.newaxis] - colors).max(axis=-1) < CONTRAST
    printed: Bools = alike.sum(axis=1) >= SPOTS
    return printed


def _neighbour(labels: Labels) -> Labels:
    """The largest label of each pixel's four neighbours."""
    largest = np.zeros_like(labels)
    np.maximum(largest[1:], labels[:-1], out=largest[1:])
    np.maximum(largest[:-1], labels[1:], out=largest[:-1])
    np.maximum(largest[:, 1:], labels[:, :-1], out=largest[:, 1:])
    np.maximum(largest[:, :-1], labels[:, 1:], out=largest[:, :-1])
    return largest


def _slope(rgb: NDArray[np.int16]) -> NDArray[np.int16]:
    """How much colour changes across two pixels, in the channel that changes most."""
    slope = np.zeros(rgb.shape[:2], dtype=np.int16)
    for channel in range(3):
        one = np.ascontiguousarray(rgb[..., channel])
        np.maximum(slope[1:-1], np.abs(one[2:] - one[:-2]), out=slope[1:-1])
        np.maximum(slope[:, 1:-1], np.abs(one[:, 2:] - one[:, :-2]), out=slope[:, 1:-1])
    return slope
