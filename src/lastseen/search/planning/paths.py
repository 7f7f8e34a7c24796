"""Paths as the navigation context gives them: which one a plan takes, and how far along it the robot follows.

A plan is only an angle. Where that angle is the beginning of a path that the context named, the robot follows it
round its corners; without it, the robot walks straight on, past the door it was sent to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lastseen.pose2d import wrap_angle
from lastseen.search.planning.context_text import Context

_WALK_SCORE = 0.55
"""A candidate below it is not walked to before exploring: unrelated nodes score 0.40 +- 0.05, a word in common adds
up to 0.20."""

_SAME_ANGLE = 5.0
"""Degrees: a plan this near to where a path begins means that way."""

Segments = tuple[tuple[float, float], ...]
"""Straight segments one after the other: metres, and radians from where the robot faced when it was told."""


def rounded_path(segments: Sequence[tuple[float, float]], *, longest: float) -> list[list[float]]:
    """A path as the context holds it, metres and whole degrees; what lies beyond ``longest`` is left for later.

    >>> rounded_path([(2.04, 0.0), (3.0, 1.5708)], longest=4.0)
    [[2.0, 0], [2.0, 90]]
    """
    told: list[list[float]] = []
    left = longest
    for metres, bearing in segments:
        if left <= 0.0:
            break
        told.append([round(min(metres, left), 1), round(math.degrees(bearing))])
        left -= metres
    return told


def simplified(points: Sequence[tuple[float, float]], *, yaw: float, off: float) -> list[tuple[float, float]]:
    """A path of many points as few segments: metres, and radians from a heading.

    A segment may lie this far off the points it stands for. There is at least one, however short.

    >>> simplified([(0, 0), (1, 0.1), (2, 0), (2, 3)], yaw=0.0, off=0.3)
    [(2.0, 0.0), (3.0, 1.5707963267948966)]
    """
    found: list[tuple[float, float]] = []
    at = 0
    while at < len(points) - 1 or not found:
        turn = min(at + 1, len(points) - 1)
        while turn + 1 < len(points) and _near_line(points[at : turn + 2], off):
            turn += 1
        (x, y), (next_x, next_y) = points[at], points[turn]
        metres = math.dist(points[at], points[turn])
        found.append((metres, wrap_angle(math.atan2(next_y - y, next_x - x) - yaw) if metres else 0.0))
        at = turn
    return found


def _near_line(points: Sequence[tuple[float, float]], off: float) -> bool:
    """Whether every point lies near the line from the first to the last, and none behind its ends."""
    (x, y), (end_x, end_y) = points[0], points[-1]
    length = math.dist(points[0], points[-1])
    if length == 0.0:
        return all(math.dist(points[0], point) <= off for point in points)
    ahead_x, ahead_y = (end_x - x) / length, (end_y - y) / length
    for px, py in points:
        along = ahead_x * (px - x) + ahead_y * (py - y)
        aside = abs(ahead_x * (py - y) - ahead_y * (px - x))
        if aside > off or not -off <= along <= length + off:
            return False
    return True


def path_at(context: Context, angle: float) -> Segments:
    """The path that begins at this angle in degrees; empty where the context, as it was read, names none.

    Sightings of the target come first, then where it is remembered, nodes that are worth the path, and unexplored
    edges; of one kind the shortest wins.
    """
    for entries in _kinds(context):
        matching = [
            entry
            for entry in entries
            if entry.get("path") and abs(math.remainder(entry["angle"] - angle, 360.0)) <= _SAME_ANGLE
        ]
        if matching:
            nearest = min(matching, key=lambda entry: (entry["distance"], entry["path"]))
            return tuple((float(metres), math.radians(degrees)) for metres, degrees in nearest["path"])
    return ()


def _kinds(context: Context) -> Iterator[Sequence[Mapping[str, Any]]]:
    yield context["sightings"]
    yield context["remembered"]
    yield [each for each in context["belief"]["candidates"] if each["score"] >= _WALK_SCORE]
    yield context["unexplored"]
