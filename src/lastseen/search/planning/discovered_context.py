"""What the planner meant to do in its last calls and why: the memory of intentions; see docs/places.md.

It is there so that a direction which led nowhere is not chosen again for the same reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lastseen.config.seeking import DiscoveredContext as DiscoveredContextSettings
from lastseen.errors import InvalidValue

_DEFAULTS = DiscoveredContextSettings()


@dataclass(frozen=True, slots=True)
class DCRecord:
    """One planner call: ``idx`` 1 is the oldest kept, ``avoid_hint`` the pattern that held when it was made."""

    idx: int
    goal_flag: bool
    goal_scene_type: str
    why: str
    avoid_hint: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; the hint only where there is one."""
        values: dict[str, Any] = {
            "idx": self.idx,
            "goal_flag": self.goal_flag,
            "goal_scene_type": self.goal_scene_type,
            "why": self.why,
        }
        if self.avoid_hint is not None:
            values["avoid_hint"] = self.avoid_hint
        return values


class DiscoveredContextQueue:
    """First in, first out, at most ``maxlen`` records.

    >>> queue = DiscoveredContextQueue()
    >>> queue.push(goal_flag=False, goal_scene_type="kitchen", why="mugs live there").idx
    1
    """

    def __init__(self, maxlen: int = _DEFAULTS.max_records) -> None:
        if maxlen < 1:
            raise InvalidValue("maxlen", maxlen, "must be at least 1", remedy="5 is usual")
        self._records: deque[DCRecord] = deque(maxlen=maxlen)

    @property
    def records(self) -> list[DCRecord]:
        """The records, oldest first, numbered from 1."""
        return [replace(record, idx=index) for index, record in enumerate(self._records, start=1)]

    def push(self, *, goal_flag: bool, goal_scene_type: str, why: str, avoid_hint: str | None = None) -> DCRecord:
        """Add the newest record, dropping the oldest where there is no room; returns it with its number."""
        self._records.append(DCRecord(0, goal_flag, goal_scene_type, why, avoid_hint))
        return self.records[-1]

    def to_list(self) -> list[dict[str, Any]]:
        """The records as logs and prompts hold them."""
        return [record.to_dict() for record in self.records]

    @classmethod
    def from_list(
        cls, values: Iterable[Mapping[str, Any]], *, maxlen: int = _DEFAULTS.max_records
    ) -> DiscoveredContextQueue:
        """The queue that ``to_list`` wrote."""
        queue = cls(maxlen)
        for value in values:
            queue.push(
                goal_flag=value["goal_flag"],
                goal_scene_type=value["goal_scene_type"],
                why=value["why"],
                avoid_hint=value.get("avoid_hint"),
            )
        return queue

    def __len__(self) -> int:
        return len(self._records)
