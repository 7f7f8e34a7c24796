"""Which objects may answer at all: a place, a time, a label, a state. Exact, and cheap enough to come first.

A sphere is cut down one axis at a time, so that a place in a large memory costs one comparison per object and a
handful for the few that remain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.memory.object import Point
from lastseen.memory.store.records import CONFIRMED, MISSING, REMOVED, STATES, TENTATIVE
from lastseen.memory.store.table import ObjectTable


@dataclass(frozen=True, slots=True)
class Filter:
    """What limits a query; times are memory time, ``since`` and ``before`` bound the last sighting."""

    near: Point | None = None
    radius: float | None = None
    within: tuple[Point, Point] | None = None
    label: str | None = None
    since: float | None = None
    before: float | None = None
    fresh_after: float | None = None
    include_tentative: bool = False
    include_removed: bool = False

    def __post_init__(self) -> None:
        if self.near is not None:
            object.__setattr__(self, "near", _point("near", self.near))
        if self.radius is not None:
            if self.near is None:
                raise InvalidValue("radius", self.radius, "needs a place", remedy="give near=(x, y, z) too")
            if not (math.isfinite(self.radius) and self.radius > 0):
                raise InvalidValue("radius", self.radius, "must be positive", remedy="give metres")
        if self.within is not None:
            if len(self.within) != 2:
                raise InvalidValue("within", self.within, "must be two corners", remedy="give (low, high)")
            low, high = (_point("within", corner) for corner in self.within)
            if any(a > b for a, b in zip(low, high, strict=True)):
                raise InvalidValue("within", self.within, "is empty", remedy="give the lower corner first")
            object.__setattr__(self, "within", (low, high))

    @property
    def limits_more_than_state(self) -> bool:
        """Whether anything but the object's state is asked for."""
        bounds = (self.radius, self.within, self.label, self.since, self.before, self.fresh_after)
        return any(bound is not None for bound in bounds)

    @property
    def states(self) -> tuple[str, ...]:
        """The states that may answer."""
        tentative = (TENTATIVE,) if self.include_tentative else ()
        return (*tentative, CONFIRMED, *((MISSING, REMOVED) if self.include_removed else ()))

    def in_words(self) -> str:
        """The limits as a phrase for a reason."""
        parts = []
        if self.label is not None:
            parts.append(f"labelled {self.label!r}")
        if self.radius is not None:
            parts.append(f"within {self.radius:g} m of {_text(self.near)}")
        if self.within is not None:
            parts.append(f"between {_text(self.within[0])} and {_text(self.within[1])}")
        if self.since is not None or self.before is not None:
            parts.append("seen in that time")
        if self.fresh_after is not None:
            parts.append("seen lately")
        return ", ".join(parts) or "in memory"


def select(table: ObjectTable, limits: Filter) -> NDArray[np.int64]:
    """The rows that may answer, in ascending order."""
    columns, count = table.columns, len(table)
    rows: NDArray[np.int64] | None = None

    def left(column: NDArray[Any]) -> NDArray[Any]:
        """The values of the rows that are left."""
        return column[:count] if rows is None else column[rows]

    boxes = []
    if limits.radius is not None and limits.near is not None:
        boxes.append([(value - limits.radius, value + limits.radius) for value in limits.near])
    if limits.within is not None:
        boxes.append(list(zip(*limits.within, strict=True)))
    for box in boxes:
        for column, (low, high) in zip((columns.x, columns.y, columns.z), box, strict=True):
            values = left(column)
            inside = np.flatnonzero((values >= low) & (values <= high))
            rows = inside if rows is None else rows[inside]
    if rows is not None and limits.radius is not None and limits.near is not None:
        x, y, z = limits.near
        distance = (columns.x[rows] - x) ** 2 + (columns.y[rows] - y) ** 2 + (columns.z[rows] - z) ** 2
        rows = rows[distance <= limits.radius**2]
    allowed = np.array([state in limits.states for state in STATES])
    keep = allowed[left(columns.state)]
    if limits.label is not None:
        names = {number for number, name in enumerate(table.label_names) if name.lower() == limits.label.lower()}
        keep &= np.isin(left(columns.labels[:, 0]), sorted(names))
    bounds = ((limits.since, np.greater_equal), (limits.before, np.less), (limits.fresh_after, np.greater_equal))
    for bound, passes in bounds:
        if bound is not None:
            keep &= passes(left(columns.last_seen), bound)
    return np.flatnonzero(keep) if rows is None else rows[keep]


def _point(name: str, value: Sequence[float]) -> Point:
    try:
        x, y, z = (float(number) for number in value)
    except (TypeError, ValueError):
        raise InvalidValue(name, value, "must be three numbers", remedy="give (x, y, z) in metres") from None
    if not all(math.isfinite(number) for number in (x, y, z)):
        raise InvalidValue(name, value, "must be finite", remedy="give (x, y, z) in metres")
    return x, y, z


def _text(point: Point | None) -> str:
    return "nowhere" if point is None else "(" + ", ".join(f"{value:g}" for value in point) + ")"
