from __future__ import annotations

import math
from typing import Any

import pytest

from lastseen.belief import TargetStatus, new_belief
from lastseen.search.planning.decision import Decision, PlannerCall, Situation
from lastseen.search.planning.memory_first import MemoryFirstPlanner


def offer(object_id: str = "7", **fields: Any) -> dict[str, Any]:
    """A remembered mug, 3 m off: two ahead, then one to the left."""
    path = ((2.0, 0.5), (1.0, 0.5 + math.pi / 2))
    return {
        "angle": math.degrees(0.5),
        "distance": 3.0,
        "segments": path,
        "id": object_id,
        "label": "mug",
        "place": "kitchen",
        **fields,
    }


class Explorer:
    """The planner that a search would have to ask."""

    def __init__(self) -> None:
        self.asked = 0

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        self.asked += 1
        return Decision.turn_to(0.0, why="explore", source="panorama"), PlannerCall(backend="explorer")


def decide(
    *offers: dict[str, Any], status: TargetStatus = "searching", **context: Any
) -> tuple[Decision, PlannerCall, int]:
    belief, explorer = new_belief("mug"), Explorer()
    belief["target_status"] = status
    situation = Situation(step=0, belief=belief, context={"remembered": list(offers), **context})
    decision, call = MemoryFirstPlanner(explorer).decide(situation)
    return decision, call, explorer.asked


def test_the_first_object_is_walked_to_along_its_path_without_asking_a_model() -> None:
    decision, call, asked = decide(offer("7"), offer("8"))
    assert (decision.source, call.asked, asked) == ("memory", False, 0)
    assert decision.heading == pytest.approx(0.5)
    assert decision.segments == offer()["segments"]
    assert decision.why == "memory: mug (7) in the kitchen, 3.0 m from here"


@pytest.mark.parametrize(("place", "label"), [(None, "mug"), ("kitchen", None)])
def test_an_object_without_a_name_or_a_place_is_walked_to_all_the_same(place: str | None, label: str | None) -> None:
    decision, _, _ = decide(offer(place=place, label=label))
    assert decision.source == "memory"
    assert "None" not in decision.why


@pytest.mark.parametrize("status", ["visible", "done"])
def test_a_goal_in_view_is_the_others_business(status: TargetStatus) -> None:
    assert decide(offer(), status=status)[0].source == "panorama"


def test_what_was_seen_on_this_walk_goes_before_what_is_remembered() -> None:
    assert decide(offer(), sightings=[{"angle": 0.0}])[2] == 1
    view = {"angle": 0.0, "labels": [["mug", 0.6]], "free": None}
    assert decide(offer(), views=[view])[2] == 1
    assert decide(offer(), views=[{**view, "labels": [["mug", 0.4], ["bed", 0.9]]}])[2] == 0


def test_after_an_approach_that_failed_memory_may_know_a_path_round() -> None:
    assert decide(offer(), status="visible", approach_failed=True)[0].source == "memory"


def test_when_memory_has_nothing_more_to_offer_the_planner_is_asked() -> None:
    decision, call, asked = decide()
    assert (decision.source, call.backend, asked) == ("panorama", "explorer", 1)
