"""What a depth image shows at the place of a remembered object: that it is there, that it is gone, or nothing.

Occlusion, missing depth, the robot's own body, range, and a camera that looks elsewhere are no evidence.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, half_to_float
from lastseen.memory.objects.camera import CameraView, to_camera
from lastseen.memory.objects.columns import BODY, COUNTS, Floats

POINT_STEP = 2
"""Every second surface point is looked at: 32 tell as much as 64 about a share."""
DEPTH_MARGIN = 0.08
"""Metres that measured depth must lie behind a point before the point is empty: half a mug's height seen from above,
and more than usual errors of pose."""
DEPTH_NOISE = 0.01
"""Metres per square metre added to the margin with the square of range, as depth noise grows."""
LATERAL_MARGIN = 0.05
"""Metres to all sides in which depth must be behind too: a small error in pose shifts a thing in the image."""
LATERAL_ANGLE = 0.025
"""Radians added with range, to the sides and above what a thing stands on: one degree of heading is 7 cm at 4 m."""
FOOT = 0.03
"""Metres over a thing's underside below which points look like what it stands on."""
STANDING_SHARE = 0.5
"""Shares are taken of at least this part of a thing's points, foot included."""
MIN_POINTS = 6
"""Fewer points above the foot than this cannot show that a thing is gone."""
OPEN_SHARE = 0.8
"""Share of a thing's points with nothing before them from which it would show."""
SMALL = 0.6
"""Size in metres up to which detectors see things whole; of larger ones they see parts."""
NOTICED_RANGE = 1.2
"""Metres from which even a toothbrush is larger than what a pose errs by."""
NOTICED_PER_SIZE = 8.0
"""Metres of range per metre of size: larger things may be judged from farther, 0.35 m from the whole range."""
_X, _WIDE, _ORIGIN = BODY.first("xyz"), BODY.first("extent"), BODY.first("points_origin")
_N_POINTS = COUNTS.first("n_points")


@compiled
def is_in_view(known: Floats, view: CameraView, min_range: float, max_range: float) -> bool:
    """Whether an object's centre is in the image, from where something of its size would be noticed."""
    right, down, ahead = to_camera(view, known[_X], known[_X + 1], known[_X + 2])
    size = max(known[_WIDE], known[_WIDE + 1], known[_WIDE + 2])
    if not min_range <= ahead <= _noticed_from(size, max_range):
        return False
    column, line = view.fx * right / ahead + view.cx, view.fy * down / ahead + view.cy
    return 0 <= column < view.width and 0 <= line < view.height


def noticed_within(extent: Floats, max_range: float) -> Floats:
    """The range in metres from which things of these sizes are judged, and would be noticed."""
    return np.array([noticed_from(size, max_range) for size in extent.max(axis=1).tolist()])


def noticed_from(size: float, max_range: float) -> float:
    """The range in metres from which a thing of one size is judged."""
    return min(NOTICED_RANGE + NOTICED_PER_SIZE * size, max_range)


_noticed_from = compiled(noticed_from)


@compiled
def measure(
    known: Floats,
    count: NDArray[np.int32],
    points: NDArray[np.uint16],
    depth: NDArray[np.float32],
    mask: NDArray[np.bool_],
    view: CameraView,
    min_range: float,
    max_range: float,
) -> tuple[float, float, float, float]:
    """Compare the depth expected at an object's surface points with the depth measured there.

    Gives the shares of points that are empty, present and unoccluded, and the share of the unoccluded that fit
    closely.

    A point is empty where everything measured around it lies clearly behind it, and present where the depth at it
    is its own. It is neither where it is occluded, out of the image or out of range, or where depth is missing, and
    points at a thing's foot tell nothing.
    """
    held = empty = present = unoccluded = close = lost = standing = 0
    underside = known[_X + 2] - 0.5 * known[_WIDE + 2] - known[_ORIGIN + 2]
    for number in range(0, count[_N_POINTS], POINT_STEP):
        held += 1
        point = points[number]
        x, y, rise = half_to_float(point[0]), half_to_float(point[1]), half_to_float(point[2])
        right, down, ahead = to_camera(view, x + known[_ORIGIN], y + known[_ORIGIN + 1], rise + known[_ORIGIN + 2])
        # what the thing stands on shows at its foot whether it is there or not, and the higher up the farther away
        # it is and the more a tilt of the camera moves it
        real = rise > underside + FOOT + LATERAL_ANGLE * ahead
        standing += real
        if not max(min_range, 1e-3) <= ahead <= max_range:
            continue
        column, line = round(view.fx * right / ahead + view.cx), round(view.fy * down / ahead + view.cy)
        if not (0 <= column < view.width and 0 <= line < view.height) or (mask.size and mask[line, column]):
            continue
        margin = DEPTH_MARGIN + DEPTH_NOISE * ahead * ahead
        behind = depth[line, column] - ahead
        if not behind >= -margin:
            lost += np.isnan(behind)
            continue
        unoccluded += 1
        close += abs(behind) <= 0.5 * margin
        if real:
            present += behind <= margin
            side = (LATERAL_MARGIN + LATERAL_ANGLE * ahead) * (view.fx / ahead)
            empty += all_behind(depth, line, column, side, ahead + margin)
    # of a flat thing nearly all is foot: its few points above must not speak for it
    judged = max(standing, MIN_POINTS, STANDING_SHARE * held)
    # where depth is lost, as on what is seen at a grazing angle, nobody knows whether something is in front
    return empty / judged, present / judged, (unoccluded + 0.5 * lost) / max(held, 1), close / max(unoccluded, 1)


@compiled
def all_behind(depth: NDArray[np.float32], row: int, column: int, side: float, limit: float) -> bool:
    """Whether all that was measured at a pixel and near and far to its sides is farther away than a limit.

    ``side`` is in pixels. Near and far, because a thin thing that the pose puts beside its place must not slip
    between two pixels. Not below, because what the thing stands on comes toward the camera there. What was not
    measured is not behind: depth is lost at edges, and where there is an edge there may be the thing.
    """
    if not depth[row, column] > limit:
        return False
    for share in (0.5, 1.0):
        step = math.ceil(min(share * side, depth.shape[0] + depth.shape[1]))
        left, right = max(column - step, 0), min(column + step, depth.shape[1] - 1)
        above = depth[max(row - step, 0), column]
        if not (depth[row, left] > limit and depth[row, right] > limit and above > limit):
            return False
    return True
