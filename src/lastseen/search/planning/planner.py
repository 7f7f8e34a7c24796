"""The planner call: ask for a plan, retry once, then fall back, and count why; see docs/places.md.

``VlmPlanner`` knows prompts and answers only. What goes into the prompt is made in ``context`` and ``prompt``; what
becomes of the plan is decided in ``panorama_planner``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lastseen.config import Settings
from lastseen.errors import PlanError
from lastseen.search.planning.asking import Asker, Attempt, Failure
from lastseen.search.planning.plan import FALLBACK_PLAN, PLAN_SCHEMA, DiscoveredContext, Plan, parse_plan
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


class VlmPlanner(Asker[Plan]):
    """Asks a backend for plans; ``ignored_keys`` counts the keys nobody asked for."""

    def __init__(
        self,
        backend: Backend,
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(backend, settings, parse=self._read, schema=PLAN_SCHEMA, clock=clock)
        self.ignored_keys: Counter[str] = Counter()

    @property
    def fallbacks(self) -> Counter[str]:
        """How often the fallback was taken, by reason."""
        return self.given_up

    def _read(self, text: str) -> Plan:
        return parse_plan(text, max_why=self.settings.discovered_context.max_why)

    def plan(self, prompt: str, images: Sequence[EncodedImage] = ()) -> Planned:
        """One decision: at most one retry by default, within the time limit, else the fallback."""
        asked = self.ask(prompt, images)
        if asked.answer is None:
            return Planned(FALLBACK_PLAN, True, asked.failures, asked.attempts)
        self.ignored_keys.update(asked.answer.ignored_keys)
        return Planned(asked.answer, False, asked.failures, asked.attempts)
