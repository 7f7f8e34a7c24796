"""Signs that exploration goes nowhere: staying, swinging between two places, moving without getting anywhere.

They are computed from a short record of the walk, never asked of a model; docs/places.md lists them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from lastseen.config.memory import Patterns
from lastseen.errors import InvalidValue
from lastseen.memory.places.anchor import pose_to_list
from lastseen.memory.places.events import EventName
from lastseen.pose2d import Pose2D

_DEFAULTS = Patterns()

STUCK_HINT = "pattern:STUCK"
ABABA_HINT = "pattern:ABABA"
PATTERN_EVENTS: tuple[EventName, ...] = ("ababa", "no_progress", "stuck")


def is_stuck(place_by_step: Sequence[Hashable], window: int = _DEFAULTS.stuck_window) -> bool:
    """Whether the last ``window`` steps knew at most one place; false until there are that many.

    >>> is_stuck([1] * 10), is_stuck([1] * 9 + [2]), is_stuck([1] * 9)
    (True, False, False)
    """
    if window < 1:
        raise InvalidValue("window", window, "must be 1 or more", remedy=f"the default is {_DEFAULTS.stuck_window}")
    recent = place_by_step[-window:]
    return len(recent) >= window and len(set(recent)) <= 1


def is_ababa(place_visits: Sequence[Hashable]) -> bool:
    """Whether the last four visits, consecutive repeats removed, swing between two places.

    >>> is_ababa([1, 2, 1, 2]), is_ababa([1, 2, 2, 1, 2]), is_ababa([1, 1, 1, 1])
    (True, True, False)
    """
    visits = without_repeats(place_visits)[-4:]
    return len(visits) == 4 and visits[0] == visits[2] and visits[1] == visits[3]


def no_progress(
    poses: Sequence[Pose2D],
    window: int = _DEFAULTS.no_progress_window,
    distance: float = _DEFAULTS.no_progress_distance,
) -> bool:
    """Whether ``window`` policy steps led less than ``distance`` metres away from where they began.

    ``poses`` holds the pose before the first policy step and the one after each; panorama turns are left out.
    """
    return len(poses) > window and poses[-1 - window].distance_to(poses[-1]) < distance


def without_repeats(visits: Sequence[Hashable]) -> list[Hashable]:
    """The visits with each run of one place as a single visit."""
    return [visit for index, visit in enumerate(visits) if index == 0 or visit != visits[index - 1]]


class Progress:
    """Remembers as many steps and visits as the patterns need, and no more.

    ``visits`` compares what it is given: place ids, or types where places are never re-entered.
    """

    def __init__(self, settings: Patterns) -> None:
        self.settings = settings
        self.place_by_step: deque[int] = deque(maxlen=settings.stuck_window)
        self.visits: deque[int | str] = deque(maxlen=4)
        self.policy_poses: deque[Pose2D] = deque(maxlen=settings.no_progress_window + 1)
        self.onsets: dict[str, int] = dict.fromkeys(PATTERN_EVENTS, 0)
        self._active: set[str] = set()

    def visited(self, key: int | str) -> None:
        """Note a visit; a repeat of the last one is none."""
        if not self.visits or self.visits[-1] != key:
            self.visits.append(key)

    @property
    def stuck(self) -> bool:
        """Whether the last steps were all in one place."""
        return is_stuck(list(self.place_by_step), self.settings.stuck_window)

    @property
    def ababa(self) -> bool:
        """Whether the last visits swing between two places."""
        return is_ababa(list(self.visits))

    @property
    def no_progress(self) -> bool:
        """Whether the last policy steps led nowhere."""
        return no_progress(
            list(self.policy_poses), self.settings.no_progress_window, self.settings.no_progress_distance
        )

    def new_onsets(self) -> list[EventName]:
        """The patterns that are there now and were not at the last call, counted; names sorted."""
        present = {"ababa": self.ababa, "no_progress": self.no_progress, "stuck": self.stuck}
        started: list[EventName] = [name for name in PATTERN_EVENTS if present[name] and name not in self._active]
        self._active = {name for name in PATTERN_EVENTS if present[name]}
        for name in started:
            self.onsets[name] += 1
        return started

    def avoid_hint(self) -> str | None:
        """``pattern:STUCK``, ``pattern:ABABA``, both with a comma between them, or None."""
        hints = [STUCK_HINT] * self.stuck + [ABABA_HINT] * self.ababa
        return ", ".join(hints) or None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "place_by_step": list(self.place_by_step),
            "visits": list(self.visits),
            "policy_poses": [pose_to_list(pose) for pose in self.policy_poses],
            "onsets": dict(self.onsets),
            "active": sorted(self._active),
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take up the state that ``to_dict`` wrote."""
        for record in (self.place_by_step, self.visits, self.policy_poses):
            record.clear()
        self.place_by_step.extend(values["place_by_step"])
        self.visits.extend(values["visits"])
        self.policy_poses.extend(Pose2D(*pose) for pose in values["policy_poses"])
        self.onsets = dict(values["onsets"])
        self._active = set(values["active"])
