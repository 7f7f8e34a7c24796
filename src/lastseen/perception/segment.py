"""Things without a name or a model: what stands out of floors, tables and walls, and the surfaces themselves.

Planes are taken out first; the rest falls apart at steps in depth and at inward folds, where a thing rests on
another. Pieces of one thing are joined again, small things of another colour that stand out of what
they lie on are added, and planes become surfaces, unless they are soft or end all around.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.perception import Segment
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.observation import OBJECT, SURFACE
from lastseen.perception.bars import bars_of, with_bars
from lastseen.perception.fusion import Fused, Piece, ThingMap
from lastseen.perception.kernels import (
    grow,
    heights_above,
    label_means,
    outlines,
    surface_geometry,
)
from lastseen.perception.pieces import (
    LYING,
    THIN,
    Shapes,
    add_color_regions,
    contacts_of,
    joined,
    shapes_of,
)
from lastseen.perception.planes import LOOSE, Plane, Planes, Surface, SurfaceMap, find_planes

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

MIN_PIXELS = 30
"""Pixels of the working image; smaller blobs are noise."""
EDGE_STEP = 0.02
"""Metres; a larger step in depth between neighbours is an outline."""
EDGE_SLOPE = 0.02
"""Share of depth added to it: slanted surfaces and noise step with range."""
CREASE = 0.25
"""Radians per pixel pair; an inward fold this sharp parts a thing from what it rests on."""
FLAT_SHARE = 0.6
"""A piece with more of its pixels than this close to a plane is the plane's own unevenness."""
SIDES_SHARE = 0.35
"""Share of a level plane's thing that hangs from it: with a closed outline it is a chest, not a counter."""
CHEST_CLOSED = 0.75
"""Share of the outline at which it must end by itself: a desk ends at its edge too, but not where things hide it."""
SOFT_TILT = 3.5
"""Degrees by which half of a soft surface is tilted against its mean at least; tables and carpets have under 3."""
SOFT_WINDOW = 9
"""Pixels over which the tilt is read, so that depth noise does not count."""
SLAB_LENGTH, SLAB_THICKNESS = 1.0, 0.03
"""Metres; a piece that is longer than the first and no thicker (standard deviation) than the second is a surface."""
CURTAIN_THICKNESS, UPRIGHT = 0.06, 0.3
"""Metres (standard deviation) that an upright one may have, and the sine of its lean."""
OPEN = 0.6
"""Share of its outline at which a shorter one must end by itself, else it is a part of something."""
ENOUGH_POINTS = 500
"""Points that tell the box of a surface."""
SURFACE_SCORE = 0.5
"""Score of a surface: it was measured well, but where it ends was not."""


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """What is at each pixel: numbers from 1, which of them are surfaces, and the world box of those known better."""

    labels: Labels
    surfaces: frozenset[int]
    boxes: dict[int, NDArray[np.float64]]
    things: dict[int, Fused] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """The working images of one frame: smoothed depth, colour, world points, folds, and where depth is usable.

    ``pixel`` is what one pixel covers at a metre, in square metres.
    """

    depth: Floats
    rgb: Floats
    world: Floats
    normals: Floats
    areas: Floats
    folds: Bools
    usable: Bools
    pixel: float
    pose: Pose3D
    rays: tuple[Floats, Floats]

    def depth_at(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The measured depth towards world points, 0 where there is none, and their own."""
        (a, b, own) = self.pose.inverse().transform(points).T
        x, y = self.rays
        ahead = np.maximum(own, 0.1)
        column = np.rint((a / ahead - x[0]) / (x[1] - x[0])).astype(np.int64)
        row = np.rint((b / ahead - y[0]) / (y[1] - y[0])).astype(np.int64)
        inside = (own > 0.1) & (row >= 0) & (row < len(y)) & (column >= 0) & (column < len(x))
        row, column = np.where(inside, row, 0), np.where(inside, column, 0)
        return np.where(inside, self.depth[row, column], 0.0), own


class GeometricSegmenter:
    """Implements ``lastseen.protocols.Segmenter`` on depth and colour alone; keeps the planes of earlier frames."""

    def __init__(self, config: Segment | None = None) -> None:
        self.config = config or Segment()
        self.forget()

    def forget(self) -> None:
        """Begin anew: what follows is in another map."""
        self.map = SurfaceMap()
        self.things: ThingMap | None = None

    def segment(self, frame: Frame) -> list[Detection]:
        """Detections with masks and without labels, largest first; surfaces have that kind.

        Masks have about the width of the setting ``columns``.
        """
        seen = self.label(frame)
        labels = seen.labels
        scale_x = frame.intrinsics.width / labels.shape[1]
        scale_y = frame.intrinsics.height / labels.shape[0]
        found = []
        for number, window in enumerate(ndimage.find_objects(labels), start=1):
            if window is None:
                continue
            rows, columns = window
            mask = np.zeros(labels.shape, dtype=np.bool_)
            mask[window] = labels[window] == number
            surface = number in seen.surfaces
            thing = seen.things.get(number)
            detection = Detection(
                box=(columns.start * scale_x, rows.start * scale_y, columns.stop * scale_x, rows.stop * scale_y),
                score=SURFACE_SCORE if surface else 1.0,
                mask=mask,
                kind=SURFACE if surface else OBJECT,
                world_box=seen.boxes.get(number) if thing is None else thing.box,
                thing=None if thing is None else thing.number,
                joined=() if thing is None else thing.joined,
                settled=surface or thing is None or thing.settled,
            )
            found.append((int(mask[window].sum()), detection))
        found.sort(key=lambda item: (-item[0], item[1].box))
        return [detection for _, detection in found]

    def label(self, frame: Frame) -> Labelled:
        """The number of what is at each pixel of the working image, 0 for nothing."""
        depth, rgb, x, y = _working_images(frame, self.config.columns)
        usable = np.isfinite(depth) & (depth < self.config.max_range)
        depth = np.where(usable, depth, np.float32(0.0))
        smooth = _smoothed(depth, usable)
        world, normals = np.empty((*depth.shape, 3), np.float32), np.empty((*depth.shape, 3), np.float32)
        areas, steps, folds = np.empty(depth.shape, np.float32), ~usable, np.zeros(depth.shape, dtype=np.bool_)
        pose = frame.T_world_camera
        surface_geometry(
            smooth, x, y, pose.rotation.astype(np.float32), pose.translation.astype(np.float32), world, normals, areas
        )
        limit = np.float32(EDGE_STEP) + np.float32(EDGE_SLOPE) * depth
        outlines(depth, world, normals, limit, CREASE, steps, folds)
        pixel = float(abs((x[1] - x[0]) * (y[1] - y[0])))
        view = _View(smooth, rgb, world, normals, areas, folds, usable, pixel, pose, (x, y))
        self.map.begin_frame()
        planes = find_planes(
            world,
            view.normals,
            smooth,
            areas=view.areas,
            known=lambda plane, low, high: self.map.find(plane, low, high) is not None,
        )
        free = usable & (planes.regions == 0)
        # parts of surfaces that earlier frames showed better than this one
        self.map.clear(free, world, np.float32(LOOSE) * planes.margin)
        labels, count = ndimage.label(free & ~steps & ~folds)
        labels = _without_small(labels, count, MIN_PIXELS)
        # outline pixels go to the neighbour whose colour is nearest: colour edges are sharper than depth's
        grow(labels, free, rgb, 3)
        lies_flat = _share(labels, planes.close) > FLAT_SHARE
        lies_flat[0] = False
        labels = _renumbered(labels, ~lies_flat)
        return self._fused(self._assembled(labels, planes, view), view)

    def _fused(self, seen: Labelled, view: _View) -> Labelled:
        """The same with pieces of one thing as one, by what earlier frames showed."""
        present = [number for number in np.unique(seen.labels).tolist() if number > 0 and number not in seen.surfaces]
        if not present:
            return seen
        bars = bars_of(seen.labels, view.world, view.depth * view.depth * view.pixel)
        step = np.float32(EDGE_STEP) + np.float32(EDGE_SLOPE) * view.depth
        edges = contacts_of(seen.labels, view.depth, view.folds, view.usable, step=step, world=view.world)
        pieces = {
            number: Piece(bool(bars[number]), float(edges.closed[number]) + edges.share_with(number, seen.surfaces))
            for number in present
        }
        if self.things is None:
            self.things = ThingMap(view.pose.translation)
        labels, things = self.things.add(seen.labels, pieces, view.world, view.rgb, view.depth_at, usable=view.usable)
        panels = {number: thing.box for number, thing in things.items() if thing.surface and thing.box is not None}
        shapes = shapes_of(labels, np.arange(int(labels.max()) + 1, dtype=np.int32), view.world)
        slabs = {number for number in things if _is_slab(shapes, number) or _is_curtain(shapes, number)}
        return Labelled(labels, seen.surfaces | panels.keys() | slabs, seen.boxes | panels, things)

    def _assembled(self, labels: Labels, planes: Planes, view: _View) -> Labelled:
        """Pieces and planes joined to things and surfaces, numbered anew."""
        pieces = int(labels.max())
        levels = [index for index, plane in enumerate(planes.plane_of) if plane.level]
        # level planes first: pieces may be joined to them, never to walls
        order = levels + [index for index, plane in enumerate(planes.plane_of) if not plane.level]
        numbers = np.zeros(len(order) + 1, dtype=np.int32)
        numbers[np.array(order, dtype=np.int64) + 1] = pieces + np.arange(1, len(order) + 1)
        labels = np.where(labels > 0, labels, numbers[planes.regions]).astype(np.int32)
        count = int(labels.max()) + 1
        if count == 1:
            return Labelled(labels, frozenset(), {})
        step = np.float32(EDGE_STEP) + np.float32(EDGE_SLOPE) * view.depth
        contacts = contacts_of(labels, view.depth, view.folds, view.usable, step=step, world=view.world)
        sizes = np.bincount(labels.ravel(), minlength=count)
        colors, below, rises = self._measured(labels, planes, view, order)
        groups = joined(
            labels,
            contacts,
            colors,
            below=below,
            rises=rises,
            pieces=pieces,
            shapes=shapes_of(labels, np.arange(count, dtype=np.int32), view.world),
        )
        groups = with_bars(labels, groups, view.world, view.depth * view.depth * view.pixel, pieces=pieces)
        grouped = groups[labels]
        edges = contacts_of(grouped, view.depth, view.folds, view.usable, step=step, world=view.world)
        shapes = shapes_of(labels, groups, view.world)
        hanging = np.bincount(groups[1 : pieces + 1], weights=sizes[1 : pieces + 1], minlength=count)
        present = [number for number in np.unique(grouped).tolist() if number > 0]
        renumbered = np.zeros(count, dtype=np.int32)
        known: dict[int, Surface] = {}
        windows = ndimage.find_objects(grouped)
        for number in present:
            if number <= pieces:
                continue
            plane, window = planes.plane_of[order[number - pieces - 1]], windows[number - 1]
            mask = grouped[window] == number
            sides = hanging[number] >= SIDES_SHARE * float(mask.sum()) and edges.closed[number] >= CHEST_CLOSED
            points = view.world[window][mask]
            surface = self.map.add(
                plane,
                *np.quantile(points[:: 1 + len(points) // ENOUGH_POINTS], [0.01, 0.99], axis=0),
                area=float(view.areas[window][mask].sum()),
                thing=plane.level
                and self.map.is_above_floor(plane)
                and (sides or self._is_soft(plane, mask, view.normals[window])),
            )
            if surface is not None:
                known[number] = surface
        # regions of one surface, parted by what stands in front of it, are one detection
        ordered = list(dict.fromkeys(known.values()))
        for number, surface in known.items():
            renumbered[number] = ordered.index(surface) + 1
        surfaces = {at for at, surface in enumerate(ordered, start=1) if not surface.is_thing}
        boxes = {at: surface.box for at, surface in enumerate(ordered, start=1) if not surface.is_thing}
        last = len(ordered)
        noise = np.bincount(grouped.ravel(), weights=planes.margin.ravel(), minlength=count) / np.maximum(
            np.bincount(grouped.ravel(), minlength=count), 1
        )
        things: list[int] = []
        for number in present:
            if number > pieces:
                continue
            if _is_slab(shapes, number):
                last += 1
                renumbered[number] = last
                surfaces.add(last)
                continue
            if shapes.is_flat(number, 0.5 * noise[number]) and edges.closed[number] < OPEN:
                touched = (order[other - pieces - 1] for other in edges.touched_by(number, LYING) if other > pieces)
                relief = [planes.plane_of[index].height_of(shapes.mean[number]) for index in touched]
                if max(relief, default=0.0) < noise[number]:
                    continue
            things.append(number)
        for number in things:
            last += 1
            renumbered[number] = last
        # on planes a thing stands out by depth; on a pillow or a chest colour has to part it from what it leans on
        labels = add_color_regions(
            renumbered[grouped], view.rgb, view.depth, areas=view.areas, skip=range(1, len(ordered) + 1)
        )
        return Labelled(labels, frozenset(surfaces), boxes)

    @staticmethod
    def _measured(
        labels: Labels, planes: Planes, view: _View, order: list[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Mean colours, and for each plane the share of each label behind it and how far it rises above it."""
        count = int(labels.max()) + 1
        colors = np.empty((count, 3))
        label_means(labels, view.rgb, THIN, colors, np.empty(count))
        below, rises = np.zeros((len(order), count)), np.empty((len(order), count))
        for row, index in enumerate(order):
            plane = planes.plane_of[index]
            heights_above(
                labels, view.world, plane.normal, plane.offset, planes.margin, THIN, rises[row], below[row]
            )  # fmt: skip
        # bumps are a matter of soft level planes alone
        rises[[not planes.plane_of[index].level for index in order]] = np.inf
        return colors, below, 2.0 * rises

    def _is_soft(self, plane: Plane, mask: Bools, normals: Floats) -> bool:
        """Whether a level plane, given by its pixels in a window of the normals, is as uneven and low as bedding."""
        if not self.map.as_low_as_a_bed(plane):
            return False
        inner = ndimage.binary_erosion(mask, iterations=SOFT_WINDOW // 2)
        if int(inner.sum()) < SOFT_WINDOW**2:
            return False
        window = np.stack(
            [ndimage.uniform_filter(normals[..., axis], SOFT_WINDOW) for axis in range(3)], axis=-1
        )[inner]  # fmt: skip
        window /= np.linalg.norm(window, axis=-1, keepdims=True) + 1e-6
        mean = window.mean(axis=0)
        tilt = np.median(window @ (mean / np.linalg.norm(mean)))
        return bool(np.degrees(np.arccos(np.clip(tilt, -1.0, 1.0))) > SOFT_TILT)


def _is_slab(shapes: Shapes, number: int) -> bool:
    return bool(shapes.length[number] > SLAB_LENGTH and shapes.thickness[number] < SLAB_THICKNESS)


def _is_curtain(shapes: Shapes, number: int) -> bool:
    """Whether something long is upright and thin, but for its folds: a curtain, a window with its frame."""
    long = shapes.length[number] > SLAB_LENGTH and shapes.thickness[number] < CURTAIN_THICKNESS
    return bool(long and shapes.lean[number] < UPRIGHT)


def _working_images(frame: Frame, columns: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Depth, colour, and the viewing rays of columns and rows on one grid.

    Every n-th pixel of depth is taken, and colour looked up there.
    """
    camera, color = frame.camera_of_depth, frame.intrinsics
    step = max(1, round(camera.width / columns))
    rows, cols = np.arange(step // 2, camera.height, step), np.arange(step // 2, camera.width, step)
    x = ((cols - camera.cx) / camera.fx).astype(np.float32)
    y = ((rows - camera.cy) / camera.fy).astype(np.float32)
    u = np.clip(np.rint(x * color.fx + color.cx).astype(int), 0, color.width - 1)
    v = np.clip(np.rint(y * color.fy + color.cy).astype(int), 0, color.height - 1)
    rgb = frame.rgb[v[:, np.newaxis], u[np.newaxis]].astype(np.float32)
    return frame.depth[rows[:, np.newaxis], cols[np.newaxis]], rgb, x, y


def _smoothed(depth: Floats, usable: Bools, *, size: int = 5) -> Floats:
    """Depth averaged over neighbours at about the same depth: noise goes, outlines stay."""
    weight = usable.astype(np.float32)
    total = ndimage.uniform_filter(depth * weight, size)
    count = ndimage.uniform_filter(weight, size)
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 1e-6)
    return np.where(usable & (np.abs(mean - depth) < 0.02 + 0.02 * depth), mean, depth)


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
