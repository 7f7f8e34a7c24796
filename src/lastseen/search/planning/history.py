"""What was planned and tried before: the discovered-context queue and the directions taken; see docs/places.md.

It is there so that a direction which led nowhere is not chosen again for the same reason.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

from lastseen.config.search import DiscoveredContext as DiscoveredContextSettings
from lastseen.errors import InvalidValue
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.search.planning.prompt import whole_degrees

_RECENT_TRIES = 6
"""Directions: older tries were made from somewhere else."""
_TRIED_RADIUS = 1.5
"""Metres: a direction tried from farther off is another direction from here."""
_SAME_SPOT = 0.75
"""Metres between two calls that were made at one spot: three steps. Chosen on tuning homes, where at 1.25 m hardly
any difference was left of what follows (docs/evaluation.md)."""
_FAILED_DISTANCE = 0.5
"""Metres: two forward steps: a try that led less far than this was blocked."""

_DEFAULTS = DiscoveredContextSettings()


class DiscoveredContextQueue:
    """One record per planner call, first in, first out, at most ``maxlen``.

    >>> queue = DiscoveredContextQueue()
    >>> queue.push(goal_flag=False, goal_scene_type="kitchen", why="mugs live there")
    >>> queue.to_list()[0]["idx"]
    1
    """

    def __init__(self, maxlen: int = _DEFAULTS.max_records) -> None:
        if maxlen < 1:
            raise InvalidValue("maxlen", maxlen, "must be at least 1", remedy="5 is usual")
        self._records: deque[dict[str, Any]] = deque(maxlen=maxlen)

    def push(self, *, goal_flag: bool, goal_scene_type: str, why: str, avoid_hint: str | None = None) -> None:
        """Add the newest record, dropping the oldest where there is no room; the hint only where one held."""
        record = {"goal_flag": goal_flag, "goal_scene_type": goal_scene_type, "why": why}
        self._records.append(record if avoid_hint is None else {**record, "avoid_hint": avoid_hint})

    def to_list(self) -> list[dict[str, Any]]:
        """The records as logs and prompts hold them, oldest first; ``idx`` counts them from 1."""
        return [{"idx": idx, **record} for idx, record in enumerate(self._records, start=1)]

    def __len__(self) -> int:
        return len(self._records)


@dataclass(frozen=True, slots=True)
class Try:
    """One direction taken from ``start``; ``heading`` is absolute, in the dead-reckoned frame."""

    start: Pose2D
    heading: float
    goal_scene_type: str
    moved: float

    @property
    def blocked(self) -> bool:
        """Whether the path was blocked: hardly any ground was covered."""
        return self.moved < _FAILED_DISTANCE


class TriedDirections:
    """Remembers the last tries; ``begin`` when a plan is taken up, ``end`` when the policy gives up on it."""

    def __init__(self) -> None:
        self.tries: deque[Try] = deque(maxlen=_RECENT_TRIES)
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

    def asked_here(self, pose: Pose2D) -> int:
        """How many of the tries began at this very spot: what they led to was the way back."""
        return sum(each.start.distance_to(pose) <= _SAME_SPOT for each in self.tries)

    def from_here(self, pose: Pose2D) -> list[dict[str, Any]]:
        """The tries made near here, oldest first, their directions as seen from this pose."""
        return [
            {
                "angle": whole_degrees(each.heading - pose.yaw),
                "goal_scene_type": each.goal_scene_type,
                "moved": round(each.moved, 2),
                "blocked": each.blocked,
            }
            for each in self.tries
            if each.start.distance_to(pose) <= _TRIED_RADIUS
        ]
