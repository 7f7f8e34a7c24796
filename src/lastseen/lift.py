"""From a detection in the image to an observation in the world: where it is, how large, and how well it was seen.

Depth inside a mask or box also holds background and sensor noise at the edges. The thing is taken to be the largest
group of depths without a gap, and its place the middle of the box around those points.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.config.perception import Lift
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.observation import MAX_SURFACE_POINTS, Observation

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_MIN_POINTS = 12
"""Depth pixels; fewer on a thing cannot tell where it is."""
_ENOUGH_PIXELS = 2048
"""Depth pixels of a box that place a thing; of larger boxes every second, third, ... row and column is read."""
_EDGE_DROP = 0.25
"""Metres; a gap in sorted depth this large separates a thing from what is behind it or in front of it."""
_FOREGROUND = 0.25
"""Share of an outline's pixels that the bars of a chair fill at least; fewer are something that hides it."""
_THREAD = 0.08
"""Share of a thing's pixels that must lie within ``_EDGE_DROP`` of a depth: fewer are background along its border."""
_BOX_CORE = 0.6
"""Share of a box's width and height searched for the thing's depth when there is no mask."""
_EDGE_STEP = 0.04
"""Metres per metre; depth that jumps by this share of itself to a neighbour is an edge."""
_STEADY_SHARE = 0.25
"""A thing with a smaller share of its pixels away from edges is thin, and its edges count too."""
_TRIM = 0.02
"""Share of points cut off at each end of each axis before the box is measured, against outliers."""
PERSON = "person"
"""The label of people, as COCO's detectors say it."""
_BLANK = 128
"""Brightness, of 255, of what is blanked."""
_CROP_MARGIN = 0.1
"""Share of the box added on each side of a stored crop, for people to recognise the surroundings."""


def lift(
    frame: Frame,
    detection: Detection,
    rules: Lift | None = None,
    *,
    with_crop: bool = False,
    people: Sequence[Detection] = (),
) -> Observation | None:
    """Place a detection in the world; None when too little depth was measured on it.

    Without a mask the middle of the box decides the depth, and the whole box gives the points at that depth.
    ``people`` are blanked in the crop.
    """
    rules = rules or Lift()
    grid = _grid(frame, detection)
    usable = _steady(frame, grid, rules)
    span = _depth_of_thing(grid.depth[usable & grid.trusted], nearest=detection.mask is not None)
    if span is None:
        return None
    usable &= (grid.depth >= span[0]) & (grid.depth <= span[1])
    rows, columns = np.nonzero(usable)
    if len(rows) < _MIN_POINTS:
        return None
    depth = grid.depth[usable]
    pixels = np.stack([grid.columns[columns], grid.rows[rows]], axis=-1)
    points = frame.T_world_camera.transform(frame.camera_of_depth.unproject(pixels, depth))
    low, high = _trimmed(points)
    position = 0.5 * (low + high)
    rim = _rim(frame, float(np.median(depth)))
    toward = frame.T_world_camera.translation - position
    distance = float(np.linalg.norm(toward))
    if distance == 0.0:
        return None
    extent = high - low + rim
    if detection.world_box is not None:
        position, extent = detection.world_box.mean(axis=0), detection.world_box[1] - detection.world_box[0]
    return Observation(
        position=position,
        extent=extent,
        view_direction=toward,
        stamp=frame.stamp,
        labels=detection.labels,
        embedding=detection.embedding,
        points=_sample(points, low, high),
        sigma=rules.sigma_base + rules.sigma_per_m2 * distance**2,
        quality=_quality(frame, detection, len(rows) / int(grid.inside.sum())),
        crop=partial(crop_jpeg, frame, detection, rules, people=people) if with_crop else None,
        kind=detection.kind,
    )


def lift_all(
    frame: Frame, detections: list[Detection], rules: Lift | None = None, *, with_crops: bool = False
) -> list[Observation]:
    """Observations of every detection that depth can place, in the order of the detections.

    Where the detections name people, crops of other things do not show them.
    """
    people = [detection for detection in detections if detection.label == PERSON]
    lifted = (lift(frame, detection, rules, with_crop=with_crops, people=people) for detection in detections)
    return [observation for observation in lifted if observation is not None]


def crop_jpeg(
    frame: Frame, detection: Detection, rules: Lift | None = None, *, people: Sequence[Detection] = ()
) -> bytes:
    """The picture of a detection with some of its surroundings, as JPEG; boxes of ``people`` in it are grey.

    The detection itself, where it has a mask, and a person's own picture are shown.
    """
    rules = rules or Lift()
    left, top, right, bottom = detection.box
    margin_x, margin_y = _CROP_MARGIN * (right - left), _CROP_MARGIN * (bottom - top)
    x0, x1 = pixel_bounds(left - margin_x, right + margin_x, frame.intrinsics.width)
    y0, y1 = pixel_bounds(top - margin_y, bottom + margin_y, frame.intrinsics.height)
    picture = frame.rgb[y0:y1, x0:x1]
    others = [one for one in people if one is not detection] if detection.label != PERSON else []
    if others:
        picture = _without_people(frame, picture, detection, others, corner=(x0, y0))
    image = Image.fromarray(picture)
    image.thumbnail((rules.crop_side, rules.crop_side))
    file = io.BytesIO()
    image.save(file, format="JPEG", quality=85)
    return file.getvalue()


def _without_people(
    frame: Frame,
    picture: NDArray[np.uint8],
    detection: Detection,
    people: Sequence[Detection],
    *,
    corner: tuple[int, int],
) -> NDArray[np.uint8]:
    """A copy of a crop with people in grey; pixels of the detection's own mask stay."""
    x0, y0 = corner
    blank = np.zeros(picture.shape[:2], dtype=np.bool_)
    for one in people:
        left, right = pixel_bounds(one.box[0], one.box[2], frame.intrinsics.width)
        top, bottom = pixel_bounds(one.box[1], one.box[3], frame.intrinsics.height)
        blank[max(top - y0, 0) : max(bottom - y0, 0), max(left - x0, 0) : max(right - x0, 0)] = True
    if detection.mask is not None:
        height, width = detection.mask.shape
        rows = ((np.arange(y0, y0 + picture.shape[0]) + 0.5) * height / frame.intrinsics.height).astype(np.int64)
        columns = ((np.arange(x0, x0 + picture.shape[1]) + 0.5) * width / frame.intrinsics.width).astype(np.int64)
        blank &= ~detection.mask[rows[:, np.newaxis], columns[np.newaxis]]
    covered = picture.copy()
    covered[blank] = _BLANK
    return covered


def _rim(frame: Frame, depth: float) -> Floats:
    """What the size lacks in world axes: half a pixel on each side, and the pixel at the edge that was left out."""
    camera = frame.camera_of_depth
    across = np.array([depth / camera.fx, depth / camera.fy, 0.0])
    rim: Floats = np.abs(frame.T_world_camera.rotation) @ (2.0 * 1.5 * across)
    return rim


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Rows and columns of the depth image around a detection, and the depth there.

    ``inside`` are the pixels of the detection, ``trusted`` those that may decide how far away it is.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    depth: NDArray[np.float32]
    inside: Bools
    trusted: Bools


def _steady(frame: Frame, grid: _Grid, rules: Lift) -> Bools:
    """Pixels in range whose depth does not jump to a neighbour's: at edges a camera measures what is nowhere.

    A thing so thin that it is all edge keeps its pixels.
    """
    image = frame.depth
    in_range: Bools = grid.inside & (grid.depth <= rules.max_range)
    reach = np.float32(_EDGE_STEP) * grid.depth
    calm = in_range.copy()
    for step in (-1, 1):
        above = np.clip(grid.rows + step, 0, image.shape[0] - 1)
        beside = np.clip(grid.columns + step, 0, image.shape[1] - 1)
        # NaN compares false: depth is lost beside edges, and what borders on it is not to be trusted either
        calm &= np.abs(image[above[:, np.newaxis], grid.columns] - grid.depth) <= reach
        calm &= np.abs(image[grid.rows[:, np.newaxis], beside] - grid.depth) <= reach
    return calm if int(calm.sum()) >= max(_MIN_POINTS, _STEADY_SHARE * int(in_range.sum())) else in_range


def _grid(frame: Frame, detection: Detection) -> _Grid:
    camera = frame.camera_of_depth
    sx, sy = camera.width / frame.intrinsics.width, camera.height / frame.intrinsics.height
    left, top, right, bottom = detection.box
    x0, x1 = pixel_bounds(left * sx, right * sx, camera.width)
    y0, y1 = pixel_bounds(top * sy, bottom * sy, camera.height)
    step = max(1, math.isqrt((y1 - y0) * (x1 - x0) // _ENOUGH_PIXELS))
    rows, columns = np.arange(y0, y1, step), np.arange(x0, x1, step)
    depth = frame.depth[y0:y1:step, x0:x1:step]
    if detection.mask is not None:
        height, width = detection.mask.shape
        v = np.minimum(((rows + 0.5) * height / camera.height).astype(np.int64), height - 1)
        u = np.minimum(((columns + 0.5) * width / camera.width).astype(np.int64), width - 1)
        mask = detection.mask[v[:, np.newaxis], u]
        return _Grid(rows, columns, depth, mask, _core(mask))
    half = 0.5 * _BOX_CORE
    across = np.abs((columns + 0.5) / sx - 0.5 * (left + right)) <= half * (right - left)
    down = np.abs((rows + 0.5) / sy - 0.5 * (top + bottom)) <= half * (bottom - top)
    return _Grid(rows, columns, depth, np.ones(depth.shape, dtype=np.bool_), down[:, np.newaxis] & across)


def _trimmed(points: Floats) -> tuple[Floats, Floats]:
    """The lowest and highest corner of points (n, 3) without ``_TRIM`` of them at each end of each axis.

    As ``np.quantile`` finds them, in a third of its time.
    """
    ordered = np.sort(points.T, axis=1)
    at = _TRIM * (len(points) - 1)
    first = int(at)
    low = ordered[:, first] + (at - first) * (ordered[:, first + 1] - ordered[:, first])
    high = ordered[:, -1 - first] + (at - first) * (ordered[:, -2 - first] - ordered[:, -1 - first])
    return low, high


def _core(mask: Bools) -> Bools:
    """The pixels of a mask whose neighbours belong to it too; all of them where little else is left.

    A mask's border runs over what is behind the thing as often as not: it must not decide how far away that is.
    """
    padded = np.pad(mask, 1)
    core: Bools = mask & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    return core if int(core.sum()) >= max(_MIN_POINTS, _STEADY_SHARE * int(mask.sum())) else mask


def _depth_of_thing(depth: NDArray[np.float32], *, nearest: bool) -> tuple[float, float] | None:
    """Nearest and farthest depth of the largest group without a gap or a thread; the nearer of equal groups.

    With ``nearest`` it is the nearest group of at least ``_FOREGROUND`` of the pixels: an outline holds nothing in
    front of the thing, but all that is seen through it.
    """
    if len(depth) < _MIN_POINTS:
        return None
    ordered = np.sort(depth)
    half = 0.5 * _EDGE_DROP
    around = np.searchsorted(ordered, ordered + half, side="right") - np.searchsorted(ordered, ordered - half)
    # a floor seen between the legs of a chair joins it to the wall by a thread
    dense = ordered[around > _THREAD * len(ordered)]
    ordered = dense if len(dense) else ordered
    breaks = np.flatnonzero(np.diff(ordered) > _EDGE_DROP)
    starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks + 1, [len(ordered)]])
    sizes = ends - starts
    group = int(np.argmax(sizes >= _FOREGROUND * len(ordered))) if nearest else int(np.argmax(sizes))
    group = group if sizes[group] >= _FOREGROUND * len(ordered) else int(np.argmax(sizes))
    return float(ordered[starts[group]]) - half, float(ordered[ends[group] - 1]) + half


def _sample(points: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float32]:
    """Points spread evenly over the visible surface, without those that the box cut off."""
    within = np.ones(len(points), dtype=np.bool_)
    for axis in range(3):
        within &= (points[:, axis] >= low[axis]) & (points[:, axis] <= high[axis])
    inside = points[within]
    chosen = inside if len(inside) else points
    step = np.arange(min(MAX_SURFACE_POINTS, len(chosen))) * len(chosen) // min(MAX_SURFACE_POINTS, len(chosen))
    return chosen[step].astype(np.float32)


def _quality(frame: Frame, detection: Detection, measured: float) -> float:
    """The detector's score, less where depth is missing and where the image cuts the box off."""
    left, top, right, bottom = detection.box
    cut = (
        left <= 0.5 or top <= 0.5 or right >= frame.intrinsics.width - 1.5 or bottom >= frame.intrinsics.height - 1.5
    )
    return min(1.0, detection.score * measured) * (0.5 if cut else 1.0)


def pixel_bounds(low: float, high: float, size: int) -> tuple[int, int]:
    """First pixel and the one after the last of a span, cut at an image of ``size`` pixels; never empty."""
    first = min(max(math.floor(low), 0), size - 1)
    return first, min(max(math.ceil(high), first + 1), size)
