"""Directions that were tried and where they led, so that a wall is not walked into twice."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

from lastseen.config.seeking import Context
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.search.planning.directions import whole_degrees


@dataclass(frozen=True, slots=True)
class Try:
    """One direction taken from ``start``; ``heading`` is absolute, in the dead-reckoned frame."""

    start: Pose2D
    heading: float
    goal_scene_type: str
    moved: float

    def failed(self, settings: Context) -> bool:
        """Whether the way was blocked: hardly any ground was covered."""
        return self.moved < settings.failed_distance


class TriedDirections:
    """Remembers the last tries; ``begin`` when a plan is taken up, ``end`` when the policy gives up on it."""

    def __init__(self, settings: Context | None = None) -> None:
        self.settings = settings or Context()
        self.tries: deque[Try] = deque(maxlen=self.settings.recent_tries)
        self._open: Try | None = None

    def begin(self, pose: Pose2D, *, angle: float, goal_scene_type: str) -> None:
        """Take up a direction, in degrees from where the robot faces; a try that is still open ends here."""
        self.end(pose)
        self._open = Try(pose, wrap_angle(pose.yaw + math.radians(angle)), goal_scene_type, 0.0)

    def end(self, pose: Pose2D) -> None:
        """Close the open try, if there is one, with the ground it covered."""
        if self._open is not None:
            moved = self._open.start.distance_to(pose)
            self.tries.append(Try(self._open.start, self._open.heading, self._open.goal_scene_type, moved))
            self._open = None

    def from_here(self, pose: Pose2D) -> list[dict[str, Any]]:
        """The tries made near here, oldest first, their directions as seen from this pose."""
        return [
            {
                "angle": whole_degrees(each.heading - pose.yaw),
                "goal_scene_type": each.goal_scene_type,
                "moved": round(each.moved, 2),
                "blocked": each.failed(self.settings),
            }
            for each in self.tries
            if each.start.distance_to(pose) <= self.settings.tried_radius
        ]
