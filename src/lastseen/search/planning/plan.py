"""The planner's answer, how it is read, and what asks for it (docs/places.md)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lastseen.config import Settings
from lastseen.errors import PlanError
from lastseen.search.planning import strict_json
from lastseen.search.planning.model_call import ModelClient
from lastseen.search.planning.prompt import clean
from lastseen.vlm.protocol import Backend

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
    return Plan(goal_flag, angle, DiscoveredContext(scene_type, why))


def _line(name: str, value: object, *, limit: int = _MAX_SCENE_TYPE) -> str:
    line = clean(strict_json.text(name, value), limit=limit)
    return strict_json.text(name, line)


def plan_client(
    backend: Backend, settings: Settings | None = None, *, clock: Callable[[], float] = time.monotonic
) -> ModelClient[Plan]:
    """Asks a backend for plans; where it has none, ``FALLBACK_PLAN`` is taken."""
    return ModelClient(backend, settings, parse=parse_plan, schema=PLAN_SCHEMA, clock=clock)
