"""The search: look, retrieve, decide, check, act, log; one step after the other until the goal is reached.

There is one loop. What differs between nodes on paper, a simulator and a robot is the ``World``; what differs between
planners is the ``Planner``. The model proposes, the loop verifies: only perception makes anything visible or done,
nothing moves to a node without a checked path, and candidates are tried in their order, once each.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lastseen.belief import BeliefState, Candidate, new_belief, validate_belief
from lastseen.config import Settings
from lastseen.memory.nodes.embedding import Embedder
from lastseen.memory.nodes.retrieval import retrieve_candidates
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.object import Answer
from lastseen.search.belief_update import MEMORY_SCORE_THRESH, apply_memory_retrieval, perceive
from lastseen.search.decider import Decided, Decider
from lastseen.search.log import RunLog, planner_meta, retrieval_meta, step_record
from lastseen.search.planning.decision import Decision, Planner, PlannerCall
from lastseen.search.planning.node_graph import Map, parse_constraint
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
        paths: Map,
        settings: Settings | None = None,
        constraints: Iterable[str] = (),
        log: RunLog | None = None,
        answer: Answer | None = None,
        dc_queue: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
    ) -> None:
        self.store, self.embedder, self.world = store, embedder, world
        self.settings = settings or Settings()
        self.decider = Decider(planner, paths, store, self.settings)
        self.log, self.answer = log or RunLog(), answer
        self.belief = new_belief(goal_text)
        self.belief["active_constraints"] = [parse_constraint(text).text for text in constraints]
        self.steps = 0
        self.result: SearchResult | None = None
        self._dc_queue = dc_queue
        self._fallbacks: Counter[str] = Counter()
        self._logged: int | None = None

    def enter_map(self, store: SemanticMemoryStore, paths: Map, answer: Answer) -> None:
        """Go on in another map: nodes and paths of the one before lead nowhere from here."""
        self.store, self.answer = store, answer
        self.decider.enter_map(store, paths)

    @property
    def calls(self) -> int:
        """How often a model was asked where to go."""
        return self.decider.calls

    def run(self, max_steps: int | None = None) -> SearchResult:
        """Search until the goal is reached, nothing is left to try, a question comes up, or the steps are spent."""
        limit = self.settings.search.max_steps if max_steps is None else max_steps
        while self.result is None and self.steps < limit:
            self.step()
        return self.result or SearchResult(
            "not_found", f"not found within {self.steps} steps", self.steps, self.belief, answer=self.answer
        )

    def step(self) -> dict[str, Any]:
        """One step of the search, one action of the robot; returns its log record."""
        belief = self.belief
        # what is in view: nothing else may say that the goal is visible or reached
        sight = self.world.look(belief["goal_text"])
        belief_before = json.loads(json.dumps(belief))
        # === Memory retrieval step ===
        # every step anew, because the memory grows while the robot walks
        ran, candidates = self._retrieve()
        apply_memory_retrieval(belief, candidates, self.settings.retrieval.score_threshold)
        # after memory: what is seen outranks what is remembered
        perceive(belief, sight, step=self.steps, settings=self.settings.search)
        # a node from which nothing was seen gets no second visit, or the search would not end
        self.decider.mark_tried(belief, sight)
        # taken before the robot moves: it tells of this view, not of the next
        seen = self.world.record()
        # what is followed already, else memory first, then the planner; a new proposal is checked
        decided = self.decider.decide(belief, belief_before, sight, step=self.steps)
        if decided.call is not None and decided.decision is not None and decided.decision.stop:
            self._end(decided.decision, decided.call)
        # logged before what it leads to
        self._log_call(seen["step_id"], decided.call)
        # one action: turn, walk, look again or stop
        moved = self._act(decided.decision)
        validate_belief(belief)
        self.steps += 1
        return self._log_step(
            seen, sight=sight, before=belief_before, decided=decided, moved=moved, candidates=candidates, ran=ran
        )

    def log_last_view(self) -> None:
        """Log the view that the last action led to, when no step will: what it did to places would be lost."""
        seen, belief = self.world.record(), self.belief
        if seen["step_id"] == self._logged:
            return
        sight, before = self.world.look(belief["goal_text"]), json.loads(json.dumps(belief))
        ran = bool(tokenize(belief["goal_text"]))
        self._log_step(
            seen,
            sight=sight,
            before=before,
            decided=Decided(None),
            moved=Moved(action="none"),
            candidates=belief["candidate_nodes"],
            ran=ran,
        )

    def _retrieve(self) -> tuple[bool, list[Candidate]]:
        """The memory nodes that fit the goal, best first; whether the goal has words to look for at all."""
        goal = self.belief["goal_text"]
        if not tokenize(goal):
            return False, []
        return True, retrieve_candidates(goal, self.store, self.embedder, k=self.settings.retrieval.k)

    def _act(self, decision: Decision | None) -> Moved:
        if decision is None:
            return self.world.confirm()
        if decision.stop:
            return Moved(action="stop")
        moved = self.world.follow(decision, self.decider.path)
        if (stop := self.decider.moved(self.belief, moved.failed)) is not None:
            self._end(stop, None)
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

    def _log_step(
        self,
        seen: dict[str, Any],
        *,
        sight: Sight,
        before: BeliefState,
        decided: Decided,
        moved: Moved,
        candidates: list[Candidate],
        ran: bool,
    ) -> dict[str, Any]:
        threshold = self.settings.retrieval.score_threshold
        record = step_record(
            seen,
            sight=sight,
            before=before,
            belief=self.belief,
            decision=decided.decision,
            call=decided.call,
            dc_queue=self._dc_queue(),
            moved=moved,
            meta={
                **retrieval_meta(candidates, ran=ran, threshold=threshold),
                **planner_meta(decided.call, decided.verdict),
                "tried": sorted(self.decider.attempts.tried),
            },
        )
        self.log.step(record)
        self._logged = record["step_id"]
        return record

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
