"""When the planner is asked: at the start, and when the policy stopped without the goal in view (docs/places.md)."""

from __future__ import annotations

from typing import Literal

from lastseen.config.seeking import Planner

CallReason = Literal["start", "stopped", "pattern"]


class CallRule:
    """Counts the calls of one episode and says at each step whether another is due, and why.

    >>> rule = CallRule()
    >>> rule.due(stopped=False, goal_flag=False), rule.due(stopped=False, goal_flag=False)
    ('start', None)
    """

    def __init__(self, settings: Planner | None = None) -> None:
        self.settings = settings or Planner()
        self.calls = 0

    def due(self, *, stopped: bool, goal_flag: bool, pattern: bool = False) -> CallReason | None:
        """Judge one step; a reason that is given counts as a call.

        ``stopped`` tells that the policy said STOP, ``goal_flag`` the last plan's claim as perception left it, and
        ``pattern`` that STUCK or ABABA set in now, which counts only where the settings switch it on.
        """
        reason: CallReason | None = None
        if self.calls == 0:
            reason = "start"
        elif self.exhausted:
            return None
        elif stopped and not goal_flag:
            reason = "stopped"
        elif pattern and self.settings.recall_on_pattern:
            reason = "pattern"
        if reason is not None:
            self.calls += 1
        return reason

    @property
    def exhausted(self) -> bool:
        """Whether the calls of this episode are used up, which ends any cycle of plan and stop."""
        return self.calls >= self.settings.max_calls
