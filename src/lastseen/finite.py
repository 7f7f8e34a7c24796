"""Which numbers from outside can be reckoned with.

JSON knows integers of any length, and one of hundreds of digits fits no float: ``math.isfinite`` itself raises then.
Lengths and times have limits beyond that, because loops over cells of space would never end.
"""

from __future__ import annotations

import math
from typing import TypeGuard

FARTHEST = 1e6
"""Metres from the origin beyond which no robot has been; squares of it are still exact enough."""
LATEST = 1e11
"""Seconds either way that a stamp may name: the year 5000, so that sums with a date stay dates."""


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is an int or float that a float can hold: no bool, NaN, infinity or endless integer.

    >>> [is_finite(value) for value in (1, 0.5, True, "1", float("nan"), 10**400)]
    [True, True, False, False, False, False]
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
