"""From a detection in the image to an observation in the world: where it is, how large, and how well it was seen.

Depth inside a mask or box also holds background and sensor noise at the edges. The thing is taken to be the largest
group of depths without a gap, and its place the middle of the box around those points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lastseen.appearance import CROP_MARGIN, PERSON, crop_jpeg, pixel_bounds, sharpness
from lastseen.compiled import compiled, one_layout
from lastseen.config.perception import Lift
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.observation import MAX_SURFACE_POINTS, OBJECT, Observation

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_SIGMA, _SIGMA_PER_M2 = 0.01, 0.003
"""Metres of position noise of a close thing, and per square metre of range: that of stereo and structured light grows
with the square."""
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
_CUT_OFF, _TIGHT = 0.5, 0.9
"""Factors of quality for a view that the image cuts off, and for one without margin around it."""
_SOFT = 10.0
"""Sharpness, of 255, at which a view counts half: fine edges have 40 and more, motion blur under 10."""
_LARGE = 64.0
"""Pixels of the shorter side from which a view is large enough to recognise the thing."""
_CLEARLY = 0.05
"""Metres by which a side of a thing known from earlier frames must lie beyond the one seen now: cubes are coarse."""
_EVERYWHERE = np.ones((1, 1), dtype=np.bool_)
"""The mask of a detection that is a box."""


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
    seen = _pixels(frame, detection, rules)
    span = _depth_of_thing(np.sort(seen.depth[seen.trusted & seen.usable]), detection.mask is not None)
    chosen = seen.usable & (seen.depth >= span[0]) & (seen.depth <= span[1])
    depth = seen.depth[chosen]
    if len(depth) < _MIN_POINTS:
        return None
    pose, camera = frame.T_world_camera, frame.camera_of_depth
    points = np.empty((3, len(depth)))
    lens = (camera.fx, camera.fy, camera.cx, camera.cy)
    _place(seen.at, seen.depth, chosen, lens, pose.rotation, pose.translation, points)
    low, high = _trimmed(points)
    position = 0.5 * (low + high)
    rim = _rim(frame, float(np.median(depth)))
    toward = frame.T_world_camera.translation - position
    distance = float(np.linalg.norm(toward))
    if distance == 0.0:
        return None
    extent = high - low + rim
    if detection.world_box is not None:
        position, extent = _with_known(detection, position, extent)
    return Observation(
        position=position,
        extent=extent,
        view_direction=toward,
        stamp=frame.stamp,
        labels=detection.labels,
        embedding=detection.embedding,
        points=_sample(points, low, high),
        sigma=_SIGMA + _SIGMA_PER_M2 * distance**2,
        quality=_quality(frame, detection, len(depth) / len(chosen)),
        crop=partial(crop_jpeg, frame, detection, people=people) if with_crop else None,
        kind=detection.kind,
        thing=detection.thing,
        joined=detection.joined,
        settled=detection.settled,
    )


def _with_known(detection: Detection, position: Floats, extent: Floats) -> tuple[Floats, Floats]:
    """The box of a surface is the known one; a thing's grows by it where earlier frames saw clearly more."""
    assert detection.world_box is not None
    low, high = detection.world_box
    if detection.kind == OBJECT:
        own_low, own_high = position - 0.5 * extent, position + 0.5 * extent
        low = np.where(low < own_low - _CLEARLY, low, own_low)
        high = np.where(high > own_high + _CLEARLY, high, own_high)
    return 0.5 * (low + high), high - low


def lift_all(
    frame: Frame,
    detections: list[Detection],
    rules: Lift | None = None,
    *,
    with_crops: bool = False,
    people: Sequence[Detection] | None = None,
) -> list[Observation]:
    """Observations of every detection that depth can place, in the order of the detections.

    Crops do not show ``people``; without them, those that the detections name.
    """
    lifted = lift_each(frame, detections, rules, with_crops=with_crops, people=people)
    return [observation for observation in lifted if observation is not None]


def lift_each(
    frame: Frame,
    detections: list[Detection],
    rules: Lift | None = None,
    *,
    with_crops: bool = False,
    people: Sequence[Detection] | None = None,
) -> list[Observation | None]:
    """The same with a None for every detection that depth cannot place."""
    if people is None:
        people = people_among(detections)
    return [lift(frame, detection, rules, with_crop=with_crops, people=people) for detection in detections]


def people_among(detections: Sequence[Detection]) -> list[Detection]:
    """The detections that are called people first of all."""
    return [detection for detection in detections if detection.label == PERSON]


def _rim(frame: Frame, depth: float) -> Floats:
    """What the size lacks in world axes: half a pixel on each side, and the pixel at the edge that was left out."""
    camera = frame.camera_of_depth
    across = np.array([depth / camera.fx, depth / camera.fy, 0.0])
    return np.abs(frame.T_world_camera.rotation) @ (2.0 * 1.5 * across)


@dataclass(frozen=True, slots=True, eq=False)
class _Pixels:
    """Rows and columns (2, n or more) of a detection's n pixels; ``trusted`` ones may decide how far away it is."""

    at: NDArray[np.int32]
    depth: NDArray[np.float32]
    usable: Bools
    trusted: Bools


def _pixels(frame: Frame, detection: Detection, rules: Lift) -> _Pixels:
    """The pixels of a detection; usable are those in range whose depth does not jump to a neighbour's.

    At edges a camera measures what is nowhere; a thing so thin that it is all edge keeps its pixels. A mask's border
    runs over what is behind the thing as often as not: it is not trusted, unless little else is left.
    """
    camera = frame.camera_of_depth
    sx, sy = camera.width / frame.intrinsics.width, camera.height / frame.intrinsics.height
    left, top, right, bottom = detection.box
    x0, x1 = pixel_bounds(left * sx, right * sx, camera.width)
    y0, y1 = pixel_bounds(top * sy, bottom * sy, camera.height)
    step = max(1, math.isqrt((y1 - y0) * (x1 - x0) // _ENOUGH_PIXELS))
    mask = one_layout(_EVERYWHERE if detection.mask is None else detection.mask)
    room = -(-(y1 - y0) // step) * -(-(x1 - x0) // step)
    at = np.empty((2, room), dtype=np.int32)
    depth = np.empty(room, dtype=np.float32)
    flags = np.empty((3, room), dtype=np.bool_)
    count = _gather(one_layout(frame.depth), mask, (y0, y1, x0, x1, step), rules.max_range, at, depth, flags)
    depth, (in_range, calm, core) = depth[:count], flags[:, :count]
    if detection.mask is None:
        half = 0.5 * _BOX_CORE
        core = (np.abs((at[1, :count] + 0.5) / sx - 0.5 * (left + right)) <= half * (right - left)) & (
            np.abs((at[0, :count] + 0.5) / sy - 0.5 * (top + bottom)) <= half * (bottom - top)
        )
    elif np.count_nonzero(core) < max(_MIN_POINTS, _STEADY_SHARE * count):
        core = np.ones(count, dtype=np.bool_)
    thin = np.count_nonzero(calm) < max(_MIN_POINTS, _STEADY_SHARE * np.count_nonzero(in_range))
    return _Pixels(at, depth, in_range if thin else calm, core)


@compiled
def _gather(
    image: NDArray[np.float32],
    mask: Bools,
    window: tuple[int, int, int, int, int],
    max_range: float,
    at: NDArray[np.int32],
    depths: NDArray[np.float32],
    flags: Bools,
) -> int:
    """Write down row, column and depth of every pixel of a window (and its step) under a mask; returns their number.

    ``flags`` says whether depth is in range, whether it is also steady, and whether the neighbours are in the mask.
    """
    y0, y1, x0, x1, step = window
    height, width = image.shape
    down, across = mask.shape[0] / height, mask.shape[1] / width
    last_row, last_column = mask.shape[0] - 1, mask.shape[1] - 1
    count = 0
    for y in range(y0, y1, step):
        v = min(int((y + 0.5) * down), last_row)
        above, below = int((y - step + 0.5) * down), min(int((y + step + 0.5) * down), last_row)
        for x in range(x0, x1, step):
            u = min(int((x + 0.5) * across), last_column)
            if not mask[v, u]:
                continue
            depth = image[y, x]
            reach = _EDGE_STEP * depth
            known = depth <= max_range
            # NaN compares false: depth is lost beside edges, and what borders on it is not to be trusted either
            calm = (
                known
                and abs(image[max(y - 1, 0), x] - depth) <= reach
                and abs(image[min(y + 1, height - 1), x] - depth) <= reach
                and abs(image[y, max(x - 1, 0)] - depth) <= reach
                and abs(image[y, min(x + 1, width - 1)] - depth) <= reach
            )
            core = y - step >= y0 and y + step < y1 and x - step >= x0 and x + step < x1
            if core:
                before, after = int((x - step + 0.5) * across), min(int((x + step + 0.5) * across), last_column)
                core = mask[above, u] and mask[below, u] and mask[v, before] and mask[v, after]
            at[0, count], at[1, count], depths[count] = y, x, depth
            flags[0, count], flags[1, count], flags[2, count] = known, calm, core
            count += 1
    return count


@compiled
def _place(
    at: NDArray[np.int32],
    depth: NDArray[np.float32],
    chosen: Bools,
    lens: tuple[float, float, float, float],
    rotation: Floats,
    translation: Floats,
    points: Floats,
) -> None:
    """Write the world points (3, n) of chosen pixels."""
    fx, fy, cx, cy = lens
    count = 0
    for index in range(len(chosen)):
        if chosen[index]:
            z = np.float64(depth[index])
            x, y = (at[1, index] - cx) / fx * z, (at[0, index] - cy) / fy * z
            for axis in range(3):
                points[axis, count] = (
                    x * rotation[axis, 0] + y * rotation[axis, 1] + z * rotation[axis, 2] + translation[axis]
                )
            count += 1


def _trimmed(points: Floats) -> tuple[Floats, Floats]:
    """The lowest and highest corner of points (3, n) without ``_TRIM`` of them at each end of each axis.

    As ``np.quantile`` finds them, in a third of its time.
    """
    last = points.shape[1] - 1
    place = _TRIM * last
    first = int(place)
    ordered = np.partition(points, (first, first + 1, last - first - 1, last - first), axis=1)
    low = ordered[:, first] + (place - first) * (ordered[:, first + 1] - ordered[:, first])
    end = last - first
    high = ordered[:, end] + (place - first) * (ordered[:, end - 1] - ordered[:, end])
    return low, high


@compiled
def _depth_of_thing(ordered: NDArray[np.float32], nearest: bool) -> tuple[float, float]:
    """Nearest and farthest depth of the largest group without a gap or a thread; the nearer of equal groups.

    ``ordered`` are depths by size. With ``nearest`` it is the nearest group of at least ``_FOREGROUND`` of the
    pixels: an outline holds nothing in front of the thing, but all that is seen through it. Of too few depths it is
    an empty span.
    """
    half = 0.5 * _EDGE_DROP
    total = len(ordered)
    dense = np.empty(total, dtype=np.float32)
    kept, first, last = 0, 0, 0
    for at in range(total):
        while ordered[first] < ordered[at] - half:
            first += 1
        while last < total and ordered[last] <= ordered[at] + half:
            last += 1
        # a floor seen between the legs of a chair joins it to the wall by a thread
        if last - first > _THREAD * total:
            dense[kept] = ordered[at]
            kept += 1
    if total < _MIN_POINTS:
        return np.inf, -np.inf
    values = dense[:kept] if kept else ordered
    start, best_start, best_size = 0, 0, 0
    for at in range(1, len(values) + 1):
        if at < len(values) and values[at] - values[at - 1] <= _EDGE_DROP:
            continue
        if at - start > best_size:
            best_start, best_size = start, at - start
            if nearest and best_size >= _FOREGROUND * len(values):
                break
        start = at
    return values[best_start] - half, values[best_start + best_size - 1] + half


def _sample(points: Floats, low: Floats, high: Floats) -> NDArray[np.float32]:
    """Of points (3, n) some (m, 3) spread evenly over the visible surface, without those that the box cut off."""
    inside = ((points >= low[:, np.newaxis]) & (points <= high[:, np.newaxis])).all(axis=0)
    chosen = np.flatnonzero(inside)
    chosen = chosen if len(chosen) else np.arange(points.shape[1])
    count = min(MAX_SURFACE_POINTS, len(chosen))
    return points[:, chosen[np.arange(count) * len(chosen) // count]].T.astype(np.float32)


def _quality(frame: Frame, detection: Detection, measured: float) -> float:
    """How well a thing was seen: the detector's score, the share with depth, and how whole, sharp and large it is.

    The best view of a thing by this is the picture that is shown of it.
    """
    left, top, right, bottom = detection.box
    margin_x, margin_y = CROP_MARGIN * (right - left), CROP_MARGIN * (bottom - top)
    width, height = frame.intrinsics.width, frame.intrinsics.height
    cut = left <= 0.5 or top <= 0.5 or right >= width - 1.5 or bottom >= height - 1.5
    tight = left < margin_x or top < margin_y or right > width - margin_x or bottom > height - margin_y
    whole = _CUT_OFF if cut else _TIGHT if tight else 1.0
    x0, x1 = pixel_bounds(left, right, width)
    y0, y1 = pixel_bounds(top, bottom, height)
    sharp = sharpness(frame.rgb[y0:y1, x0:x1])
    large = min(1.0, min(x1 - x0, y1 - y0) / _LARGE)
    # a plain thing has no edges to be sharp, and a small one may be all there is: neither counts for nothing
    return min(1.0, detection.score * measured) * whole * (0.2 + 0.8 * sharp / (sharp + _SOFT)) * (0.5 + 0.5 * large)
