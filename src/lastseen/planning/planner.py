"""The planner call (section 11): ask for a plan, retry once, then fall back, and count why.

``VlmPlanner`` knows prompts and answers only. What goes into the prompt is made in ``context`` and ``prompt``; what
becomes of the plan is decided in ``panorama_planner``.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lastseen.config import Settings
from lastseen.errors import PlanError
from lastseen.planning.asking import Attempt, Failure, ask
from lastseen.planning.plan import FALLBACK_PLAN, PLAN_SCHEMA, DiscoveredContext, Plan, parse_plan
from lastseen.vlm.protocol import Backend, EncodedImage

__all__ = [
    "FALLBACK_PLAN",
    "PLAN_SCHEMA",
    "DiscoveredContext",
    "Plan",
    "PlanError",
    "Planned",
    "VlmPlanner",
    "parse_plan",
]


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and how it came about; ``fallback`` tells that no answer was fit."""

    plan: Plan
    fallback: bool
    failures: tuple[Failure, ...]
    attempts: tuple[Attempt, ...]


class VlmPlanner:
    """Asks a backend for plans and keeps count of what went wrong.

    ``failures`` counts every unfit answer by reason, ``fallbacks`` the last reason of each decision that fell back,
    ``ignored_keys`` the keys nobody asked for.
    """

    def __init__(
        self,
        backend: Backend,
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backend = backend
        self.settings = settings or Settings()
        self.calls = 0
        self.failures: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.ignored_keys: Counter[str] = Counter()
        self._clock = clock

    def plan(self, prompt: str, images: Sequence[EncodedImage] = ()) -> Planned:
        """One decision: at most one retry by default, within the time limit, else the fallback."""
        self.calls += 1
        asked = ask(
            self.backend,
            prompt,
            parse=functools.partial(parse_plan, max_why=self.settings.discovered_context.max_why),
            images=images,
            schema=PLAN_SCHEMA,
            retries=self.settings.planner.retries,
            time_limit=self.settings.planner.time_limit,
            clock=self._clock,
        )
        self.failures.update(failure.reason for failure in asked.failures)
        if asked.answer is None:
            self.fallbacks[asked.failures[-1].reason] += 1
            return Planned(FALLBACK_PLAN, True, asked.failures, asked.attempts)
        self.ignored_keys.update(asked.answer.ignored_keys)
        return Planned(asked.answer, False, asked.failures, asked.attempts)
