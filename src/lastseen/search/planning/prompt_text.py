"""How prompts write things: outside text cleaned and quoted, whole degrees positive to the left, metres."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Sequence
from typing import Any

from lastseen.pose2d import Pose2D, wrap_angle

MAX_LABELS = 12
"""Labels: a view or place is told by its first dozen things."""
MAX_TEXT = 80
"""Characters: a label or type longer than this is no label."""

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str, *, limit: int) -> str:
    r"""One line without control characters, cut with an ellipsis where it is longer than ``limit``.

    >>> clean("a\x00 b\n c", limit=80)
    'a b c'
    """
    safe = "".join(" " if unicodedata.category(each) in _UNSAFE else each for each in text)
    line = " ".join(safe.split())
    return line if len(line) <= limit else line[: max(0, limit - 1)].rstrip() + "…"


def quote(text: str, *, limit: int) -> str:
    """Cleaned text in double quotes, quotes inside it escaped; letters of any script stay readable."""
    return json.dumps(clean(text, limit=limit), ensure_ascii=False)


Where = dict[str, Any]
"""``distance`` in metres (two decimals) and ``angle`` in whole degrees, positive left; where the path there is known,
``path`` holds its straight segments as pairs of metres and degrees."""


def whole_degrees(radians: float) -> int:
    """Degrees in (-180, 180], rounded."""
    degrees = round(math.degrees(wrap_angle(radians)))
    return 180 if degrees == -180 else degrees


def where(here: Pose2D, there: Pose2D) -> Where:
    """Distance and angle of a pose as seen from another."""
    return {"distance": round(here.distance_to(there), 2), "angle": whole_degrees(here.bearing_to(there))}


def say_angle(degrees: float) -> str:
    """An angle as prompts write it.

    >>> say_angle(30), say_angle(0), say_angle(-90)
    ('+30 deg', '0 deg', '-90 deg')
    """
    return f"{round(degrees):+d} deg" if round(degrees) else "0 deg"


def say_where(there: Where) -> str:
    """Distance and angle as prompts write them, for example ``3.2 m at +45 deg``."""
    return f"{there['distance']:.1f} m at {say_angle(there['angle'])}"


def say_path(path: Sequence[Sequence[float]]) -> str:
    """The segments of a path as prompts write them.

    >>> say_path([[2.1, -175], [1.6, 40]])
    '; path 2.1 m at -175 deg, then 1.6 m at +40 deg'
    """
    told = ", then ".join(f"{metres:.1f} m at {say_angle(degrees)}" for metres, degrees in path)
    return f"; path {told}" if told else ""
