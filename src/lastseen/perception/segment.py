"""Things without a name or a model: what stands out of floors, tables and walls, and what differs from them.

Planes are taken out first; the rest falls apart at steps in depth and at inward folds, where a thing rests on
another. Patches whose colour differs from their surroundings are things too: an outlet, a picture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.perception import Segment
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.perception.patches import add_patches
from lastseen.perception.planes import find_planes

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

EDGE_STEP = 0.02
"""Metres; a larger step in depth between neighbours is an outline."""
EDGE_SLOPE = 0.02
"""Share of depth added to it: slanted surfaces and noise step with range."""
CREASE = 0.25
"""Radians per pixel pair; an inward fold this sharp parts a thing from what it rests on."""
FLAT_SHARE = 0.6
"""A piece with more of its pixels than this close to a plane is the plane's own unevenness."""


class GeometricSegmenter:
    """Implements ``lastseen.protocols.Segmenter`` on depth and colour alone."""

    def __init__(self, config: Segment | None = None) -> None:
        self.config = config or Segment()

    def segment(self, frame: Frame) -> list[Detection]:
        """Detections with masks and without labels, largest first; masks have the width of ``patches.COLUMNS``."""
        labels = self.label(frame)
        scale_x = frame.intrinsics.width / labels.shape[1]
        scale_y = frame.intrinsics.height / labels.shape[0]
        found = []
        for number, window in enumerate(ndimage.find_objects(labels), start=1):
            if window is None:
                continue
            rows, columns = window
            mask = np.zeros(labels.shape, dtype=np.bool_)
            mask[window] = labels[window] == number
            box = (columns.start * scale_x, rows.start * scale_y, columns.stop * scale_x, rows.stop * scale_y)
            found.append((int(mask[window].sum()), Detection(box=box, score=1.0, mask=mask)))
        found.sort(key=lambda item: (-item[0], item[1].box))
        return [detection for _, detection in found]

    def label(self, frame: Frame) -> Labels:
        """The number of the thing at each pixel of the working image, 0 for none."""
        depth, rgb, rays = _working_images(frame, self.config.columns)
        usable = np.isfinite(depth) & (depth < self.config.max_range)
        depth = np.where(usable, depth, np.float32(0.0))
        smooth = _smoothed(depth, usable)
        points: Floats = rays * smooth[..., np.newaxis]
        normals = _normals(points)
        steps, folds = _outlines(depth, points, normals, usable)
        rotation = frame.T_world_camera.rotation.astype(np.float32)
        world: Floats = points @ rotation.T + frame.T_world_camera.translation.astype(np.float32)
        areas = _areas(smooth, normals, rays)
        planes = find_planes(world, normals @ rotation.T, smooth, areas=areas, config=self.config)
        free = usable & ~planes.on
        labels, count = ndimage.label(free & ~steps & ~folds)
        labels = _without_small(labels, count, self.config.min_pixels)
        labels = _grown(labels, free, rgb, rounds=3)
        lies_flat = _share(labels, planes.close) > FLAT_SHARE
        lies_flat[0] = False
        labels = _renumbered(labels, ~lies_flat)
        return add_patches(labels, frame, usable & ~steps, areas)


def _working_images(frame: Frame, columns: int) -> tuple[Floats, Floats, Floats]:
    """Depth, colour and viewing rays on one grid: every n-th pixel of depth, and colour looked up there."""
    camera, color = frame.camera_of_depth, frame.intrinsics
    step = max(1, round(camera.width / columns))
    rows, cols = np.arange(step // 2, camera.height, step), np.arange(step // 2, camera.width, step)
    x = ((cols - camera.cx) / camera.fx).astype(np.float32)
    y = ((rows - camera.cy) / camera.fy).astype(np.float32)
    rays = np.empty((len(rows), len(cols), 3), dtype=np.float32)
    rays[..., 0], rays[..., 1], rays[..., 2] = x[np.newaxis], y[:, np.newaxis], 1.0
    u = np.clip(np.rint(x * color.fx + color.cx).astype(int), 0, color.width - 1)
    v = np.clip(np.rint(y * color.fy + color.cy).astype(int), 0, color.height - 1)
    rgb = frame.rgb[v[:, np.newaxis], u[np.newaxis]].astype(np.float32)
    return frame.depth[rows[:, np.newaxis], cols[np.newaxis]], rgb, rays


def _smoothed(depth: Floats, usable: Bools, *, size: int = 5) -> Floats:
    """Depth averaged over neighbours at about the same depth: noise goes, outlines stay."""
    weight = usable.astype(np.float32)
    total = ndimage.uniform_filter(depth * weight, size)
    count = ndimage.uniform_filter(weight, size)
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 1e-6)
    return np.where(usable & (np.abs(mean - depth) < 0.02 + 0.02 * depth), mean, depth)


def _normals(points: Floats, *, reach: int = 2) -> Floats:
    """Unit normals towards the camera from differences across a few pixels; zero at the border."""
    normals = np.zeros_like(points)
    r = reach
    across = points[r:-r, 2 * r :] - points[r:-r, : -2 * r]
    down = points[2 * r :, r:-r] - points[: -2 * r, r:-r]
    # cross product written out: np.cross costs three times as much
    nx = down[..., 1] * across[..., 2] - down[..., 2] * across[..., 1]
    ny = down[..., 2] * across[..., 0] - down[..., 0] * across[..., 2]
    nz = down[..., 0] * across[..., 1] - down[..., 1] * across[..., 0]
    length = np.sqrt(nx * nx + ny * ny + nz * nz) + np.float32(1e-12)
    middle = normals[r:-r, r:-r]
    middle[..., 0], middle[..., 1], middle[..., 2] = nx / length, ny / length, nz / length
    return normals


def _outlines(depth: Floats, points: Floats, normals: Floats, usable: Bools) -> tuple[Bools, Bools]:
    """Pixels at a step in depth, and pixels in an inward fold of the surface."""
    steps = ~usable
    folds = np.zeros(depth.shape, dtype=np.bool_)
    limit = EDGE_STEP + EDGE_SLOPE * depth
    for axis in (0, 1):
        first = (slice(None, -1), slice(None)) if axis == 0 else (slice(None), slice(None, -1))
        second = (slice(1, None), slice(None)) if axis == 0 else (slice(None), slice(1, None))
        jump = np.abs(depth[second] - depth[first]) > limit[first]
        steps[first] |= jump
        gap = 3
        near = (slice(None, -gap), slice(None)) if axis == 0 else (slice(None), slice(None, -gap))
        far = (slice(gap, None), slice(None)) if axis == 0 else (slice(None), slice(gap, None))
        middle = (slice(1, 1 - gap), slice(None)) if axis == 0 else (slice(None), slice(1, 1 - gap))
        apart = points[far] - points[near]
        # normals that lean towards each other: a valley, as between a thing and what it stands on
        lean = ((normals[far] - normals[near]) * apart).sum(axis=-1) / (
            np.sqrt((apart * apart).sum(axis=-1)) + np.float32(1e-6)
        )
        folds[middle] |= lean < -CREASE
    return steps, folds


def _without_small(labels: Labels, count: int, min_pixels: int) -> Labels:
    """The same labels numbered anew without those of few pixels."""
    return _renumbered(labels, np.bincount(labels.ravel(), minlength=count + 1) >= min_pixels)


def _renumbered(labels: Labels, keep: Bools) -> Labels:
    """Labels numbered from 1 without those not kept."""
    keep = keep.copy()
    keep[0] = False
    numbers = np.zeros(len(keep), dtype=np.int32)
    numbers[keep] = np.arange(1, int(keep.sum()) + 1, dtype=np.int32)
    return numbers[labels]


def _share(labels: Labels, mask: Bools) -> NDArray[np.float64]:
    """The share of each label's pixels that a mask covers."""
    sizes = np.bincount(labels.ravel())
    return np.bincount(labels.ravel(), weights=mask.ravel(), minlength=len(sizes)) / np.maximum(sizes, 1)


def _grown(labels: Labels, free: Bools, rgb: Floats, *, rounds: int) -> Labels:
    """Give outline pixels back to the neighbour whose colour is nearest: colour edges are sharper than depth's."""
    labels = labels.copy()
    for _ in range(rounds):
        open_rows, open_cols = np.nonzero(free & (labels == 0))
        if not len(open_rows):
            break
        best = np.full(len(open_rows), np.inf, dtype=np.float32)
        chosen = np.zeros(len(open_rows), dtype=np.int32)
        for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            rows = np.clip(open_rows + down, 0, labels.shape[0] - 1)
            cols = np.clip(open_cols + right, 0, labels.shape[1] - 1)
            neighbour = labels[rows, cols]
            difference = np.abs(rgb[rows, cols] - rgb[open_rows, open_cols]).sum(axis=-1)
            better = (neighbour > 0) & (difference < best)
            best[better], chosen[better] = difference[better], neighbour[better]
        labels[open_rows, open_cols] = chosen
    return labels


def _areas(depth: Floats, normals: Floats, rays: Floats) -> Floats:
    """Square metres of surface behind each pixel; steep views are not trusted beyond a factor of five."""
    pixel = float(abs(rays[0, 1, 0] - rays[0, 0, 0]) * abs(rays[1, 0, 1] - rays[0, 0, 1]))
    lengths = np.sqrt((rays * rays).sum(axis=-1))
    slant = np.abs((normals * rays).sum(axis=-1)) / lengths
    areas: Floats = (depth * depth * np.float32(pixel) / np.maximum(slant, np.float32(0.2))).astype(np.float32)
    return areas
