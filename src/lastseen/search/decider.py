"""What the robot does next: go on with the decision it follows, or take a new one; every proposal is checked.

The model proposes, this verifies: a stop before its time, a node that was tried, or a node without a path is refused,
and the next candidate, or exploring, takes its place. Every candidate is tried once at most and failures in a row are
counted, so that a search ends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lastseen.belief import BeliefState, NextAction
from lastseen.config import Settings
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.search.belief_update import unconfirmed
from lastseen.search.planning.decision import Decision, Planner, PlannerCall, Situation
from lastseen.search.planning.hypothesis import HypothesisPlanner
from lastseen.search.planning.node_graph import Map, NodePath, Verdict, check_path
from lastseen.search.world import Sight


@dataclass(frozen=True, slots=True)
class Decided:
    """What to do now: ``decision`` is None to look once more; ``call`` and ``verdict`` are there where it is new."""

    decision: Decision | None
    call: PlannerCall | None = None
    verdict: Verdict | None = None


class Attempts:
    """Which candidates were tried, which have no path to them, and how often in a row nothing worked."""

    def __init__(self) -> None:
        self.tried: set[int] = set()
        self.own: Collection[int] = ()
        """Nodes that this walk made: nothing new is to be seen from there."""
        self.blocked: set[int] = set()
        self.failures = 0

    def block(self, node_id: int) -> None:
        """There is no path to this node, or none that is allowed."""
        if node_id not in self.tried:
            self.blocked.add(node_id)
            self.tried.add(node_id)

    def left(self, belief: BeliefState) -> list[int]:
        """Candidates not yet tried, best first."""
        ids = [candidate["node_id"] for candidate in belief["candidate_nodes"]]
        return [node_id for node_id in ids if node_id not in self.tried and node_id not in self.own]

    def all_blocked(self, belief: BeliefState) -> bool:
        """Whether there are candidates and no path to any of them."""
        ids = {candidate["node_id"] for candidate in belief["candidate_nodes"]} - set(self.own)
        return bool(ids) and ids <= self.blocked


class Decider:
    """The decisions of one search; ``path`` is the checked path of the one that is followed, where it has one."""

    def __init__(self, planner: Planner, paths: Map, store: SemanticMemoryStore, settings: Settings) -> None:
        self.planner, self.paths, self.store, self.settings = planner, paths, store, settings
        self.attempts = Attempts()
        self.calls = 0
        self.following: Decision | None = None
        self.path: NodePath | None = None
        self._rules = HypothesisPlanner(None, settings)

    def enter_map(self, store: SemanticMemoryStore, paths: Map) -> None:
        """Go on in another map: what was tried and followed was in the one before."""
        self.store, self.paths = store, paths
        self.attempts, self.following, self.path = Attempts(), None, None

    def mark_tried(self, belief: BeliefState, sight: Sight) -> None:
        """Note what this look is the end of: from where nothing was seen, there is no second visit."""
        self.attempts.own = sight.own_nodes
        if sight.idle and sight.ready and belief["visible_streak"] == 0:
            # the node that was walked to is done with, even where the robot stopped nearer to another one
            aimed = None if self.following is None else self.following.node_id
            self.attempts.tried.update(each for each in (sight.node_id, aimed) if each is not None)

    def decide(self, belief: BeliefState, before: BeliefState, sight: Sight, *, step: int) -> Decided:
        """The decision still being followed, or a new one; changes the belief's action, hypothesis and refusal."""
        in_view = belief["target_status"] in {"visible", "done"}
        if unconfirmed(belief, self.settings.search) or not (sight.ready or in_view):
            belief["next_action"] = "rotate"
            return Decided(None)
        just_seen = in_view and belief["target_status"] != before["target_status"]
        if self.following is not None and not sight.idle and not just_seen:
            return Decided(self.following)
        decision, call = self._planner(belief).decide(self._situation(belief, sight, step))
        self.calls += call.asked
        if call.hypothesis is not None:
            belief["last_hypothesis"] = call.hypothesis
        belief["next_action"] = _action_of(decision, call, belief)
        verdict = self._check(decision, call, belief)
        self.path = verdict.path
        belief["rejection_reason"] = verdict.reason
        if verdict.reason is not None:
            decision = self._instead(decision, verdict.reason, belief)
        self.following = decision
        return Decided(decision, call, verdict)

    def moved(self, belief: BeliefState, failed: str | None) -> Decision | None:
        """Note how the last action went; a stop when too many failed in a row, else None."""
        attempts = self.attempts
        if failed is None:
            if belief["rejection_reason"] is None:
                attempts.failures = 0
            return None
        belief["rejection_reason"] = failed
        attempts.failures += 1
        if self.following is not None and self.following.node_id is not None:
            attempts.block(self.following.node_id)
        self.following = None
        over = attempts.failures >= self.settings.search.max_failures
        return self._explore_or_stop(failed, belief) if over else None

    def _planner(self, belief: BeliefState) -> Planner:
        """The planner, unless the goal is reached or the calls are used up: then the rule, which asks no model."""
        spent = self.calls >= self.settings.planner.max_calls
        return self._rules if spent or belief["target_status"] == "done" else self.planner

    def _situation(self, belief: BeliefState, sight: Sight, step: int) -> Situation:
        return Situation(
            step=step,
            belief=json.loads(json.dumps(belief)),
            images=sight.images,
            around=sight.around,
            nodes=tuple(self.store.get_node(each["node_id"]) for each in belief["candidate_nodes"]),
            tried=sorted({*self.attempts.tried, *self.attempts.own}),
        )

    def _check(self, decision: Decision, call: PlannerCall, belief: BeliefState) -> Verdict:
        """Judge a proposal: a stop before its time, a node once more, or a path that is not there is refused."""
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
        return self._path_to(decision.node_id, belief, proposed)

    def _path_to(self, node_id: int, belief: BeliefState, proposed: Iterable[str] = ()) -> Verdict:
        return check_path(
            self.paths,
            start=belief["current_node_id"],
            goal=node_id,
            active_constraints=belief["active_constraints"],
            proposed_constraints=proposed,
        )

    def _instead(self, refused: Decision, reason: str, belief: BeliefState) -> Decision:
        """In place of a refused proposal: what is in view, the next candidate with a path to it, or explore."""
        attempts, why = self.attempts, f"instead of: {reason}"
        if belief["target_status"] == "visible":
            belief["next_action"] = "approach"
            return Decision(heading=0.0, why=why, source="rules", goal_flag=True)
        if belief["current_node_id"] is not None:
            if refused.node_id is not None and not self._path_to(refused.node_id, belief).reachable:
                attempts.block(refused.node_id)
            for node_id in attempts.left(belief):
                if (verdict := self._path_to(node_id, belief)).reachable:
                    self.path = verdict.path
                    belief["next_action"] = "goto_node"
                    return Decision(node_id=node_id, why=why, source="rules")
                attempts.block(node_id)
        attempts.failures += 1
        return self._explore_or_stop(why, belief)

    def _explore_or_stop(self, why: str, belief: BeliefState) -> Decision:
        if self.attempts.failures < self.settings.search.max_failures:
            belief["next_action"] = "explore"
            return Decision(heading=0.0, why=why, source="rules")
        belief["next_action"] = "stop"
        if self.attempts.all_blocked(belief):
            belief["target_status"] = "unreachable"
        return Decision(stop=True, why=f"{self.attempts.failures} failures in a row; {why}", source="rules")


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
