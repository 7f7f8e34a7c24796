from __future__ import annotations

from lastseen.belief import new_belief
from lastseen.search.planning.decision import Decision, PlannerCall, Situation
from lastseen.search.planning.memory_first import MemoryFirstPlanner


class Explorer:
    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        return Decision.turn_to(0.0, why="explore", source="panorama"), PlannerCall(backend="explorer")


def decide(
    *scores: float, status: str = "likely_in_memory", at: int | None = 1, tried: tuple[int, ...] = ()
) -> Decision:
    belief = new_belief("mug")
    belief["target_status"] = status  # type: ignore[typeddict-item]
    belief["current_node_id"] = at
    belief["candidate_nodes"] = [{"node_id": 10 + i, "score": score} for i, score in enumerate(scores)]
    situation = Situation(step=0, belief=belief, context={"tried": list(tried)})
    return MemoryFirstPlanner(Explorer()).decide(situation)[0]


def test_the_best_candidate_is_walked_to_without_asking_a_model() -> None:
    decision = decide(0.7, 0.6)
    assert (decision.node_id, decision.source) == (10, "memory")


def test_a_tried_one_is_passed_over() -> None:
    assert decide(0.7, 0.6, tried=(10,)).node_id == 11


def test_what_only_chance_could_have_scored_is_not_walked_to() -> None:
    assert decide(0.54, 0.5).source == "panorama"
    assert decide(0.7, 0.5, tried=(10,)).source == "panorama"


def test_a_goal_in_view_and_a_robot_that_is_lost_are_the_others_business() -> None:
    assert decide(0.9, status="visible").source == "panorama"
    assert decide(0.9, at=None).source == "panorama"


def test_an_empty_memory_leaves_all_to_the_other() -> None:
    assert decide().source == "panorama"
