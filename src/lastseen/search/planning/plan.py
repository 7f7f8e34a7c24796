"""The planner's answer, how it is read, and the call for it: one retry, then the fallback (docs/places.md)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lastseen.config import Settings
from lastseen.errors import PlanError
from lastseen.search.planning import strict_json
from lastseen.search.planning.model_call import Attempt, Failure, ModelClient
from lastseen.search.planning.prompt import clean
from lastseen.vlm.protocol import Backend, EncodedImage

MAX_WHY = 200
"""Characters of the reason: one short sentence; a longer one is cut."""
_MAX_SCENE_TYPE = 80

PLAN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "goal_flag": {"type": "boolean"},
        "angle": {"type": "number", "minimum": -180, "maximum": 180},
        "discovered_context": {
            "type": "object",
            "properties": {"goal_scene_type": {"type": "string"}, "why": {"type": "string"}},
            "required": ["goal_scene_type", "why"],
        },
    },
    "required": ["goal_flag", "angle", "discovered_context"],
}
"""What servers that can force a format are told; the answer is checked all the same."""


@dataclass(frozen=True, slots=True)
class DiscoveredContext:
    """Which kind of space the planner heads for, and why, in one sentence."""

    goal_scene_type: str
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Whether the goal is in view, and the direction to take in degrees from straight ahead, positive left."""

    goal_flag: bool
    angle: float
    discovered_context: DiscoveredContext
    ignored_keys: tuple[str, ...] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The plan in the planner's own output format."""
        return {
            "goal_flag": self.goal_flag,
            "angle": self.angle,
            "discovered_context": {
                "goal_scene_type": self.discovered_context.goal_scene_type,
                "why": self.discovered_context.why,
            },
        }


FALLBACK_PLAN = Plan(goal_flag=False, angle=0.0, discovered_context=DiscoveredContext("corridor", "fallback"))
"""What is done when the model's second answer is no better than its first."""


def parse_plan(text: str) -> Plan:
    """Read a planner's answer; raise ``PlanError`` that names what is wrong with it.

    >>> parse_plan('{"goal_flag": false, "angle": 15, "discovered_context":'
    ...            ' {"goal_scene_type": "kitchen", "why": "mugs live there"}}').angle
    15.0
    """
    values = strict_json.parse_object(text)
    goal_flag = strict_json.boolean("goal_flag", strict_json.require(values, "goal_flag"))
    angle = strict_json.number("angle", strict_json.require(values, "angle"), low=-180.0, high=180.0)
    inner = strict_json.require(values, "discovered_context")
    if not isinstance(inner, dict):
        raise PlanError(
            "discovered_context", inner, "must be an object", remedy="see the format", reason="wrong_type"
        )
    within = "discovered_context."
    scene_type = _line(f"{within}goal_scene_type", strict_json.require(inner, "goal_scene_type", within=within))
    why = _line(f"{within}why", strict_json.require(inner, "why", within=within), limit=MAX_WHY)
    ignored = [
        *strict_json.unknown_keys(values, PLAN_SCHEMA["properties"]),
        *strict_json.unknown_keys(inner, ("goal_scene_type", "why"), within=within),
    ]
    return Plan(goal_flag, angle, DiscoveredContext(scene_type, why), tuple(ignored))


def _line(name: str, value: object, *, limit: int = _MAX_SCENE_TYPE) -> str:
    line = clean(strict_json.text(name, value), limit=limit)
    return strict_json.text(name, line)


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


class VlmPlanner(ModelClient[Plan]):
    """Asks a backend for plans; ``ignored_keys`` counts the keys nobody asked for."""

    def __init__(
        self,
        backend: Backend,
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(backend, settings, parse=parse_plan, schema=PLAN_SCHEMA, clock=clock)
        self.ignored_keys: Counter[str] = Counter()

    def plan(self, prompt: str, images: Sequence[EncodedImage] = ()) -> Planned:
        """One decision: at most one retry by default, within the time limit, else the fallback."""
        asked = self.ask(prompt, images)
        if asked.answer is None:
            return Planned(FALLBACK_PLAN, True, asked.failures, asked.attempts)
        self.ignored_keys.update(asked.answer.ignored_keys)
        return Planned(asked.answer, False, asked.failures, asked.attempts)
