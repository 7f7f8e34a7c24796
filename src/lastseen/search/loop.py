"""The search: look, retrieve, decide, check, act, log; one step after the other until the goal is reached.

There is one loop. What differs between a rehearsal, a simulator and a robot is the ``World``; what differs between
ways of deciding is the ``Planner``. The model proposes, this loop verifies: only perception makes anything visible
or done, nothing moves to a node without a checked way, and candidates are tried in their order, once each.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lastseen.belief import BeliefState, Candidate, NextAction, new_belief, validate_belief
from lastseen.config import Settings
from lastseen.memory.nodes.embedding import Embedder
from lastseen.memory.nodes.retrieval import retrieve_candidates
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.object import Answer
from lastseen.search.attempts import Attempts
from lastseen.search.log import RunLog
from lastseen.search.memory_bridge import MEMORY_SCORE_THRESH, apply_memory_retrieval
from lastseen.search.perceiving import perceive, unconfirmed
from lastseen.search.planning.constraints import parse_constraint
from lastseen.search.planning.decision import Decision, Planner, PlannerCall, Situation
from lastseen.search.planning.hypothesis import HypothesisPlanner
from lastseen.search.planning.node_graph import Path
from lastseen.search.planning.reachability import Map, Verdict, check_way
from lastseen.search.step_record import planner_meta, retrieval_meta, step_record
from lastseen.search.world import Moved, Sight, World

__all__ = ["MEMORY_SCORE_THRESH", "SearchLoop", "SearchResult"]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """How a search ended; ``asked`` means that it waits for an answer to ``question``.

    ``answer`` is what memory said of the goal when the search began; ``metres`` is how far the robot went.
    """

    status: Literal["found", "not_found", "asked"]
    reason: str
    steps: int
    belief: BeliefState
    question: str | None = None
    answer: Answer | None = None
    metres: float | None = None
    planner_calls: int = 0


class SearchLoop:
    """One search for one goal; call ``run``, or ``step`` until there is a ``result``.

    ``answer`` is what memory says of the goal when the search starts; ``dc_queue`` gives the planner's discovered
    contexts for the log. Nodes that the walk makes itself are never candidates to go to.
    """

    def __init__(
        self,
        goal_text: str,
        *,
        store: SemanticMemoryStore,
        embedder: Embedder,
        planner: Planner,
        world: World,
        ways: Map,
        settings: Settings | None = None,
        constraints: Iterable[str] = (),
        log: RunLog | None = None,
        answer: Answer | None = None,
        dc_queue: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
    ) -> None:
        self.answer = answer
        self.store, self.embedder = store, embedder
        self.planner, self.world, self.ways = planner, world, ways
        self.settings = settings or Settings()
        self.log = log or RunLog()
        self._dc_queue = dc_queue
        self.belief = new_belief(goal_text)
        self.belief["active_constraints"] = [parse_constraint(text).text for text in constraints]
        self.attempts = Attempts()
        self.steps = 0
        self.calls = 0
        self._fallbacks: Counter[str] = Counter()
        self.result: SearchResult | None = None
        self._decision: Decision | None = None
        self._path: Path | None = None
        self._rules = HypothesisPlanner(None, self.settings)
        self._logged: int | None = None

    def run(self, max_steps: int | None = None) -> SearchResult:
        """Search until the goal is reached, nothing is left to try, a question comes up, or the steps are spent."""
        limit = self.settings.search.max_steps if max_steps is None else max_steps
        while self.result is None and self.steps < limit:
            self.step()
        return self.result or SearchResult(
            "not_found", f"not found within {self.steps} steps", self.steps, self.belief, answer=self.answer
        )

    def step(self) -> dict[str, Any]:
        """One step; returns its log record."""
        belief, threshold = self.belief, self.settings.retrieval.score_threshold
        sight = self.world.look(belief["goal_text"])
        belief_before = json.loads(json.dumps(belief))

        # === Memory retrieval step ===
        tokens = tokenize(belief["goal_text"])
        retrieval_ran = len(tokens) > 0
        candidates: list[Candidate] = []
        if retrieval_ran:
            candidates = retrieve_candidates(
                belief["goal_text"], self.store, self.embedder, k=self.settings.retrieval.k
            )
        apply_memory_retrieval(belief, candidates, threshold)

        self.attempts.own = sight.own_nodes
        perceive(belief, sight, step=self.steps, settings=self.settings.search)
        if sight.idle and sight.ready and belief["visible_streak"] == 0:
            # the node that was walked to is done with, even where the robot stopped nearer to another one
            aimed = None if self._decision is None else self._decision.node_id
            for node_id in sorted(each for each in {sight.node_id, aimed} if each is not None):
                self.attempts.looked_from(node_id)
        seen = self.world.record()
        decision, call, verdict = self._decide(sight, belief_before)
        self._log_call(seen["step_id"], call)
        moved = self._act(decision)
        record = step_record(
            seen,
            sight=sight,
            before=belief_before,
            belief=belief,
            decision=decision,
            call=call,
            dc_queue=self._dc_queue(),
            moved=moved,
            meta={
                **retrieval_meta(candidates, ran=retrieval_ran, threshold=threshold),
                **planner_meta(call, verdict),
                "tried": sorted(self.attempts.tried),
            },
        )
        validate_belief(belief)
        self.log.step(record)
        self._logged = record["step_id"]
        self.steps += 1
        return record

    def log_last_view(self) -> None:
        """Log the view that the last action led to, when no step will: what it did to places would be lost."""
        seen, belief = self.world.record(), self.belief
        if seen["step_id"] == self._logged:
            return
        self._logged = seen["step_id"]
        before = json.loads(json.dumps(belief))
        ran, threshold = bool(tokenize(belief["goal_text"])), self.settings.retrieval.score_threshold
        self.log.step(
            step_record(
                seen,
                sight=self.world.look(belief["goal_text"]),
                before=before,
                belief=belief,
                decision=None,
                call=None,
                dc_queue=self._dc_queue(),
                moved=Moved(action="none"),
                meta={
                    **retrieval_meta(belief["candidate_nodes"], ran=ran, threshold=threshold),
                    **planner_meta(None, None),
                    "tried": sorted(self.attempts.tried),
                },
            )
        )

    def _log_call(self, step_id: int, call: PlannerCall | None) -> None:
        """Log that the planner was asked, and why it fell back if it did."""
        if call is None or not call.asked:
            return
        called = {"event": "planner_called", "step_id": step_id, "calls": self.calls, "retries": call.retries}
        self.log.events([called])
        if call.fallback and call.reason is not None:
            self._fallbacks[call.reason] += 1
            fallback = {"event": "fallback", "step_id": step_id, "reason": call.reason}
            message = call.errors[-1] if call.errors else ""
            self.log.events([{**fallback, "message": message, "count": self._fallbacks[call.reason]}])

    def _decide(
        self, sight: Sight, before: BeliefState
    ) -> tuple[Decision | None, PlannerCall | None, Verdict | None]:
        """The decision to act on now: the one still being followed, or a new one; None to look once more."""
        belief = self.belief
        if unconfirmed(belief, self.settings.search):
            belief["next_action"] = "rotate"
            return None, None, None
        just_seen = (
            belief["target_status"] in {"visible", "done"} and belief["target_status"] != before["target_status"]
        )
        if not sight.ready and belief["target_status"] not in {"visible", "done"}:
            belief["next_action"] = "rotate"
            return None, None, None
        if self._decision is not None and not sight.idle and not just_seen:
            return self._decision, None, None
        decision, call = self._planner().decide(
            Situation(
                step=self.steps,
                belief=json.loads(json.dumps(belief)),
                images=sight.images,
                context={
                    **sight.context,
                    "nodes": tuple(self.store.get_node(each["node_id"]) for each in belief["candidate_nodes"]),
                    "tried": sorted({*self.attempts.tried, *self.attempts.own}),
                },
            )
        )
        self.calls += call.asked
        if call.hypothesis is not None:
            belief["last_hypothesis"] = call.hypothesis
        belief["next_action"] = _action_of(decision, call, belief)
        verdict = self._check(decision, call)
        self._path = verdict.path
        belief["rejection_reason"] = verdict.reason
        if verdict.reason is not None:
            decision = self._instead(decision, verdict.reason)
        if decision.stop:
            self._end(decision, call)
        self._decision = decision
        return decision, call, verdict

    def _planner(self) -> Planner:
        """The planner, unless the goal is reached or the calls are used up: then the rule, which asks no model."""
        spent = self.calls >= self.settings.planner.max_calls
        return self._rules if spent or self.belief["target_status"] == "done" else self.planner

    def _check(self, decision: Decision, call: PlannerCall) -> Verdict:
        """Judge a proposal: a stop before its time, a node once more, or a way that is not there is refused."""
        belief = self.belief
        if decision.stop and belief["next_action"] == "stop" and belief["target_status"] != "done":
            left = self.attempts.left(belief)
            if belief["target_status"] == "visible":
                return Verdict(False, "stop: the goal is in view and not yet reached")
            if left:
                return Verdict(False, f"stop: node {left[0]} has not been tried")
        if decision.node_id is None:
            return Verdict(True)
        if decision.node_id in self.attempts.tried:
            return Verdict(False, f"node {decision.node_id}: tried already")
        proposed = () if call.hypothesis is None else call.hypothesis.get("constraints", ())
        return self._way_to(decision.node_id, proposed)

    def _way_to(self, node_id: int, proposed: Iterable[str] = ()) -> Verdict:
        return check_way(
            self.ways,
            start=self.belief["current_node_id"],
            goal=node_id,
            active_constraints=self.belief["active_constraints"],
            proposed_constraints=proposed,
        )

    def _instead(self, refused: Decision, reason: str) -> Decision:
        """In place of a refused proposal: what is in view, the next candidate with a way to it, or explore."""
        belief, attempts = self.belief, self.attempts
        why = f"instead of: {reason}"
        if belief["target_status"] == "visible":
            belief["next_action"] = "approach"
            return Decision.turn_to(0.0, why=why, source="fallback", goal_flag=True)
        if belief["current_node_id"] is not None:
            if refused.node_id is not None and not self._way_to(refused.node_id).reachable:
                attempts.block(refused.node_id)
            for node_id in attempts.left(belief):
                if (verdict := self._way_to(node_id)).reachable:
                    self._path = verdict.path
                    belief["next_action"] = "goto_node"
                    return Decision.go_to(node_id, why=why, source="fallback")
                attempts.block(node_id)
        attempts.failures += 1
        return self._explore_or_stop(why)

    def _explore_or_stop(self, why: str) -> Decision:
        if self.attempts.failures < self.settings.search.max_failures:
            self.belief["next_action"] = "explore"
            return Decision.turn_to(0.0, why=why, source="fallback")
        self.belief["next_action"] = "stop"
        if self.attempts.all_blocked(self.belief):
            self.belief["target_status"] = "unreachable"
        return Decision.halt(why=f"{self.attempts.failures} failures in a row; {why}", source="fallback")

    def _act(self, decision: Decision | None) -> Moved:
        if decision is None:
            return self.world.confirm()
        if decision.stop:
            return Moved(action="stop")
        moved = self.world.follow(decision, self._path)
        if moved.failed is None:
            if self.belief["rejection_reason"] is None:
                self.attempts.failures = 0
            return moved
        self.belief["rejection_reason"] = moved.failed
        self.attempts.failures += 1
        if decision.node_id is not None:
            self.attempts.block(decision.node_id)
        self._decision = None
        if self.attempts.failures >= self.settings.search.max_failures:
            self._end(self._explore_or_stop(moved.failed), None)
        return moved

    def _end(self, decision: Decision, call: PlannerCall | None) -> None:
        belief = self.belief
        hypothesis = None if call is None else call.hypothesis
        end = functools.partial(SearchResult, steps=self.steps + 1, belief=belief, answer=self.answer)
        if belief["target_status"] == "done":
            self.result = end("found", "seen, approached and within reach")
        elif belief["next_action"] == "ask_clarification" and hypothesis is not None:
            question = hypothesis.get("clarification_question")
            self.result = end("asked", "a question comes first", question=question)
        else:
            self.result = end("not_found", decision.why)


def _action_of(decision: Decision, call: PlannerCall, belief: BeliefState) -> NextAction:
    """The belief's word for a decision; a hypothesis brings its own."""
    if call.hypothesis is not None:
        return call.hypothesis["action"]
    if decision.stop:
        return "stop"
    if decision.node_id is not None:
        return "goto_node"
    if decision.turn_only:
        return "rotate"
    return "approach" if decision.goal_flag and belief["target_status"] == "visible" else "explore"
