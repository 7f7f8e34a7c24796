"""Memory before exploration: walk to what retrieval offers while it is worth the way, then ask another planner.

No model is asked for it. The candidates are taken in the order of their scores, and the loop sees to it that each
is tried once.
"""

from __future__ import annotations

from lastseen.config import Settings
from lastseen.planning.decision import Decision, Planner, PlannerCall, Situation
from lastseen.planning.hypothesis import RULES


class MemoryFirstPlanner:
    """Goes to untried candidates of at least ``search.walk_score``; everything else is the other planner's."""

    def __init__(self, otherwise: Planner, settings: Settings | None = None) -> None:
        self.otherwise = otherwise
        self.settings = settings or Settings()

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        """A walk to the best candidate that is left, when the robot knows where it is and sees nothing yet."""
        belief = situation.belief
        if belief["target_status"] == "likely_in_memory" and belief["current_node_id"] is not None:
            tried = set(situation.context.get("tried", ()))
            for candidate in belief["candidate_nodes"]:
                if candidate["score"] < self.settings.search.walk_score:
                    break
                if candidate["node_id"] not in tried:
                    why = f"memory holds node {candidate['node_id']} at {candidate['score']:.2f}"
                    decision = Decision.go_to(candidate["node_id"], why=why, source="memory")
                    return decision, PlannerCall(backend=RULES, asked=False)
        return self.otherwise.decide(situation)
