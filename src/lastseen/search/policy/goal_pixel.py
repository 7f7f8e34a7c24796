"""Which pixel to walk to: the planner's angle and flag become one point in one view; see docs/places.md.

With the goal in sight it is a pixel of the target's detection; without, a floor pixel in the wanted direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lastseen.body import body_points, column_bearings, floor_height, open_until
from lastseen.config.search import Policy
from lastseen.detection import Detection
from lastseen.frame import Frame

_WAYPOINT_SLACK = 0.3
"""Metres: how far off the floor in view may be from a waypoint of the map: drift and cells."""

VIEW_HALF_ANGLE = math.radians(20.0)
"""A view is 30 degrees of the panorama, plus a margin on each side."""
_DEFAULTS = Policy()
# how many metres of free floor make up for one radian away from the wanted direction
_METRES_PER_RADIAN = 2.0
_FLOOR = "floor"
"""The word for what is walked on, where a detector was asked for it."""
_NEAR_SIDE = 0.2
"""Quantile of a mask's ranges that is its near side: past the ragged edge, short of the middle."""


@dataclass(frozen=True, slots=True)
class GoalPixel:
    """A pixel of the depth image and the point it shows, in body axes (metres, x forward, y left, z up)."""

    u: int
    v: int
    kind: Literal["target", "floor", "ahead"]
    point: tuple[float, float, float]


def view_of_angle(angle_deg: float, *, views: int = 12) -> tuple[int, float]:
    """The panorama view an angle falls into, counted to the left from the front, and the rest in degrees.

    >>> view_of_angle(-40.0)
    (11, -10.0)
    """
    width = 360.0 / views
    index = round(angle_deg / width)
    return index % views, angle_deg - index * width


def target_detection(detections: Sequence[Detection], target: str, *, min_score: float = 0.0) -> Detection | None:
    """The detection most surely the target (ties: the larger, then the leftmost); None when none is."""
    named = [
        (-detection.labels[target] * detection.score, -_area(detection), detection.box, index)
        for index, detection in enumerate(detections)
        if detection.label == target and detection.score >= min_score
    ]
    return detections[min(named)[3]] if named else None


def choose_goal_pixel(
    frame: Frame,
    detections: Sequence[Detection],
    *,
    target: str,
    goal_flag: bool,
    rest_deg: float = 0.0,
    settings: Policy = _DEFAULTS,
) -> GoalPixel:
    """The pixel to walk to in this view; ``rest_deg`` is the wanted direction within it, positive to the left.

    A flag without a detection to stand for it falls back to the floor: the planner proposes, perception decides.
    Where the frame has no depth at all, the pixel is chosen by the picture, and its point is a guess straight ahead.
    """
    points = body_points(frame)
    if not np.isfinite(points[..., 0]).any():
        return _without_depth(frame, detections, target if goal_flag else None, rest_deg, settings)
    if goal_flag:
        found = target_detection(detections, target)
        pixel = None if found is None else _on_target(points, found, frame)
        if pixel is not None:
            return pixel
    return _on_floor(points, rest_deg, settings) or _ahead(points, rest_deg, settings)


def waypoint_pixel(frame: Frame, *, rest_deg: float, metres: float, settings: Policy = _DEFAULTS) -> GoalPixel:
    """The open floor nearest to a waypoint that a map named; the waypoint itself where none is in view near it."""
    points = body_points(frame)
    angle = math.radians(rest_deg)
    wanted = (metres * math.cos(angle), metres * math.sin(angle), 0.0)
    off = np.hypot(points[..., 0] - wanted[0], points[..., 1] - wanted[1])
    off = np.where(_open_floor(points, rest_deg, settings), off, np.inf)
    row, column = np.unravel_index(int(np.argmin(off)), off.shape)
    if off[row, column] <= _WAYPOINT_SLACK:
        return _pixel(points, int(row), int(column), "floor")
    # floor close to the robot is below the picture: the lowest pixel that way stands for it
    height, width = off.shape
    across = int(np.argmin(np.abs(column_bearings(points) - angle)))
    return GoalPixel(min(across, width - 1), height - 1, "floor", wanted)


def detection_mask(detection: Detection, frame: Frame) -> NDArray[np.bool_]:
    """The detection's pixels in the depth image: its mask where there is one, else its box."""
    height, width = frame.depth.shape
    if detection.mask is not None:
        mask = detection.mask
        if mask.shape == (height, width):
            return mask
        rows = np.arange(height) * mask.shape[0] // height
        columns = np.arange(width) * mask.shape[1] // width
        return mask[np.ix_(rows, columns)]
    scale_x, scale_y = width / frame.intrinsics.width, height / frame.intrinsics.height
    left, top, right, bottom = detection.box
    mask = np.zeros((height, width), dtype=np.bool_)
    mask[
        max(0, int(top * scale_y)) : max(0, math.ceil(bottom * scale_y)),
        max(0, int(left * scale_x)) : max(0, math.ceil(right * scale_x)),
    ] = True
    return mask


def _on_target(points: NDArray[np.float32], detection: Detection, frame: Frame) -> GoalPixel | None:
    mask = detection_mask(detection, frame) & np.isfinite(points[..., 0])
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return None
    # the near side is what is walked up to: the middle of a bed cannot be reached. A box holds things in front of
    # the target and background behind it, so there only the median is surely on it
    reach = np.hypot(points[rows, columns, 0], points[rows, columns, 1])
    share = _NEAR_SIDE if detection.mask is not None else 0.5
    middle = int(np.argsort(reach, kind="stable")[int(share * (len(reach) - 1))])
    return _pixel(points, int(rows[middle]), int(columns[middle]), "target")


def _without_depth(
    frame: Frame, detections: Sequence[Detection], target: str | None, rest_deg: float, settings: Policy
) -> GoalPixel:
    """By the picture alone: the middle of the target, of a detected floor, or where level floor ahead would be."""
    angle = math.radians(rest_deg)
    ahead = (settings.max_waypoint * math.cos(angle), settings.max_waypoint * math.sin(angle), 0.0)
    for word, kind in ((target, "target"), (_FLOOR, "floor")):
        found = None if word is None else target_detection(detections, word)
        if found is not None and (rows := np.nonzero(detection_mask(found, frame)))[0].size:
            v, u = (int(values.mean()) for values in rows)
            return GoalPixel(u, v, "target" if kind == "target" else "floor", ahead)
    camera, eye = frame.camera_of_depth, float(frame.T_world_camera.translation[2])
    u = round(camera.cx - camera.fx * math.tan(angle))
    v = round(camera.cy + camera.fy * eye / ahead[0])
    return GoalPixel(min(max(u, 0), camera.width - 1), min(max(v, 0), camera.height - 1), "ahead", ahead)


def _open_floor(points: NDArray[np.float32], rest_deg: float, settings: Policy) -> NDArray[np.bool_]:
    """Pixels of floor in the region of interest that the robot could walk to in a straight line."""
    reach = np.hypot(points[..., 0], points[..., 1])
    off = np.arctan2(points[..., 1], points[..., 0]) - math.radians(rest_deg)
    return (
        (np.abs(points[..., 2]) < floor_height(reach, settings))
        & (reach < open_until(points, settings)[np.newaxis, :])
        & (reach <= settings.max_waypoint)
        & (np.abs(off) <= VIEW_HALF_ANGLE)
    )


def _on_floor(points: NDArray[np.float32], rest_deg: float, settings: Policy) -> GoalPixel | None:
    reach = np.hypot(points[..., 0], points[..., 1])
    off = np.arctan2(points[..., 1], points[..., 0]) - math.radians(rest_deg)
    floor = _open_floor(points, rest_deg, settings)
    if not floor.any():
        return None
    worth = np.where(floor, reach - _METRES_PER_RADIAN * np.abs(off), -np.inf)
    row, column = np.unravel_index(int(np.argmax(worth)), worth.shape)
    return _pixel(points, int(row), int(column), "floor")


def _ahead(points: NDArray[np.float32], rest_deg: float, settings: Policy) -> GoalPixel:
    """No floor in sight that way: aim short of whatever is nearest there, or at the full distance if nothing is."""
    reach = np.hypot(points[..., 0], points[..., 1])
    off = np.abs(np.arctan2(points[..., 1], points[..., 0]) - math.radians(rest_deg))
    seen = np.isfinite(reach) & (off <= VIEW_HALF_ANGLE)
    distance = float(reach[seen].min()) - settings.robot_radius if seen.any() else settings.max_waypoint
    distance = min(max(distance, 0.0), settings.max_waypoint)
    angle = math.radians(rest_deg)
    height, width = reach.shape
    return GoalPixel(width // 2, height // 2, "ahead", (distance * math.cos(angle), distance * math.sin(angle), 0.0))


def _pixel(points: NDArray[np.float32], row: int, column: int, kind: Literal["target", "floor"]) -> GoalPixel:
    x, y, z = (float(value) for value in points[row, column])
    return GoalPixel(column, row, kind, (x, y, z))


def _area(detection: Detection) -> float:
    left, top, right, bottom = detection.box
    return (right - left) * (bottom - top)
