"""Signs that exploration goes nowhere: staying, swinging between two places, moving without getting anywhere.

They are computed from the record of the walk, never asked of a model; docs/places.md lists them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from lastseen.config.moving import Patterns
from lastseen.errors import InvalidValue
from lastseen.pose2d import Pose2D

_DEFAULTS = Patterns()

STUCK_HINT = "pattern:STUCK"
ABABA_HINT = "pattern:ABABA"


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
