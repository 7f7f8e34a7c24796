"""The hypothesis planner: a model proposes what to do next, from the belief and the remembered places.

What it says is data. It is read strictly, checked against the schema, asked for once more when unfit, and replaced
by a fixed rule when that fails too. Nothing it says makes anything visible or done.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import cast

from lastseen import schemas
from lastseen.belief import BeliefState, Hypothesis, NavigationGoal, validate_hypothesis
from lastseen.config import Settings
from lastseen.config.moving import DeadReckoning
from lastseen.errors import InvalidValue, PlanError
from lastseen.search.planning import strict_json
from lastseen.search.planning.asking import ask
from lastseen.search.planning.decision import Decision, DecisionSource, PlannerCall, Situation
from lastseen.search.planning.hypothesis_prompt import hypothesis_prompt
from lastseen.search.planning.quoting import clean
from lastseen.vlm.protocol import Backend

RULES = "rules"
"""The name that stands in the log where no model was asked."""

_SCHEMA = schemas.schema("hypothesis")
_TEXT_LIMITS = {
    "rationale": _SCHEMA["properties"]["rationale"]["maxLength"],
    "clarification_question": _SCHEMA["properties"]["clarification_question"]["maxLength"],
}
_CONSTRAINT_LIMIT = _SCHEMA["properties"]["constraints"]["items"]["maxLength"]


class HypothesisPlanner:
    """Decides from hypotheses; without a backend, from the rule alone.

    ``failures`` counts unfit answers by reason, ``ignored_keys`` the keys nobody asked for.
    """

    def __init__(
        self,
        backend: Backend | None = None,
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backend = backend
        self.settings = settings or Settings()
        self.failures: Counter[str] = Counter()
        self.ignored_keys: Counter[str] = Counter()
        self._clock = clock

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        """One decision: the model's when it is fit, else the rule's."""
        if self.backend is None:
            return self._by_rule(situation, PlannerCall(backend=RULES, asked=False))
        asked = ask(
            self.backend,
            hypothesis_prompt(situation, self.settings.hypothesis),
            parse=self._parse,
            images=situation.images,
            schema=_SCHEMA,
            retries=self.settings.planner.retries,
            time_limit=self.settings.planner.time_limit,
            clock=self._clock,
        )
        self.failures.update(failure.reason for failure in asked.failures)
        errors = tuple(f"{failure.reason}: {failure.message}" for failure in asked.failures)
        retries = max(0, len(asked.attempts) - 1)
        name = self.backend.name
        if asked.answer is None:
            reason = asked.failures[-1].reason
            call = PlannerCall(backend=name, retries=retries, errors=errors, fallback=True, reason=reason)
            return self._by_rule(situation, call)
        call = PlannerCall(
            backend=name, retries=retries, errors=errors, output=dict(asked.answer), hypothesis=asked.answer
        )
        return to_decision(asked.answer, source="hypothesis", motion=self.settings.dead_reckoning), call

    def _parse(self, text: str) -> Hypothesis:
        hypothesis, ignored = parse_hypothesis(text)
        self.ignored_keys.update(ignored)
        return hypothesis

    def _by_rule(self, situation: Situation, call: PlannerCall) -> tuple[Decision, PlannerCall]:
        rule = fallback_hypothesis(situation.belief, tried=situation.context.get("tried", ()))
        decision = to_decision(rule, source="fallback", motion=self.settings.dead_reckoning)
        return decision, replace(call, hypothesis=rule)


def parse_hypothesis(text: str) -> tuple[Hypothesis, list[str]]:
    """Read a model's answer, and the keys in it that nobody asked for; raise ``PlanError`` for anything unfit."""
    values = strict_json.parse_object(text)
    ignored = strict_json.unknown_keys(values, _SCHEMA["properties"])
    kept = {key: value for key, value in values.items() if key in _SCHEMA["properties"]}
    # cleaned before it is checked: a question of control characters alone is no question
    for field, limit in _TEXT_LIMITS.items():
        if isinstance(kept.get(field), str):
            kept[field] = clean(kept[field], limit=limit)
    if isinstance(kept.get("constraints"), list):
        kept["constraints"] = [
            clean(each, limit=_CONSTRAINT_LIMIT) if isinstance(each, str) else each for each in kept["constraints"]
        ]
    try:
        validate_hypothesis(kept)
    except InvalidValue as error:
        raise PlanError(error.field, error.value, error.problem, remedy=error.remedy, reason="schema") from None
    except RecursionError:
        raise PlanError("answer", "", "is nested too deeply", remedy="see the format", reason="schema") from None
    goal = kept.get("navigation_goal")
    if goal and "node_id" in goal:
        goal["node_id"] = int(goal["node_id"])  # JSON Schema counts 3.0 as a whole number; a dict of nodes does too
    return cast("Hypothesis", kept), ignored


def fallback_hypothesis(belief: BeliefState, *, tried: Collection[int] = ()) -> Hypothesis:
    """Without a usable answer: done, stop; visible, approach; candidates left, go to the best; else explore."""
    status = belief["target_status"]
    left = [candidate for candidate in belief["candidate_nodes"] if candidate["node_id"] not in tried]
    if status == "done":
        return _rule("done", "stop", "the goal is reached")
    if status == "visible":
        return _rule("visible", "approach", "the goal is in view")
    if left:
        best = left[0]["node_id"]
        return _rule(status, "goto_node", f"node {best} is the best not yet tried", {"node_id": best})
    return _rule(status, "explore", "memory offers nothing more to try")


def to_decision(hypothesis: Hypothesis, *, source: DecisionSource, motion: DeadReckoning | None = None) -> Decision:
    """The one decision that a hypothesis asks for."""
    action, why = hypothesis["action"], hypothesis["rationale"]
    claims_sight = hypothesis["target_status"] in {"visible", "done"}
    goal = hypothesis.get("navigation_goal") or NavigationGoal()
    if action in {"stop", "ask_clarification"}:
        return Decision.halt(why=why, source=source, goal_flag=claims_sight)
    if action in {"goto_node", "approach"} and "node_id" in goal:
        return Decision.go_to(goal["node_id"], why=why, source=source, goal_flag=claims_sight)
    turn = (motion or DeadReckoning()).turn_angle
    heading = goal.get("heading_deg", turn if action == "rotate" else 0.0)
    return Decision.turn_to(
        math.radians(heading), why=why, source=source, goal_flag=claims_sight, turn_only=action == "rotate"
    )


def _rule(status: str, action: str, why: str, goal: NavigationGoal | None = None) -> Hypothesis:
    return cast(
        "Hypothesis",
        {
            "target_status": status,
            "action": action,
            "confidence": 1.0,
            "navigation_goal": goal,
            "rationale": why,
        },
    )
