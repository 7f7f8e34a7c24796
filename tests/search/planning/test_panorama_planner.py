"""The panorama planner: when it is called, what it is told, and what becomes of its answer."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from lastseen.action import Action
from lastseen.belief import TargetStatus, new_belief
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import Pose2D
from lastseen.search.explored import Spot
from lastseen.search.planning.decision import Decision, Planner, PlannerCall, Situation, Surroundings
from lastseen.search.planning.panorama_planner import MemoryFirstPlanner, PanoramaPlanner
from lastseen.search.planning.prompt import View
from lastseen.search.recall import Remembered
from lastseen.vlm import EncodedImage
from lastseen.vlm.mock import ScriptedBackend
from tests.search.planning.remembered import PATH, remembered_mug

TILE = EncodedImage.from_rgb(np.zeros((12, 16, 3), np.uint8))


def said(angle: float = 90.0, *, goal_flag: bool = False) -> str:
    context = {"goal_scene_type": "kitchen", "why": "mugs live there"}
    return json.dumps({"goal_flag": goal_flag, "angle": angle, "discovered_context": context})


def planner(*answers: str | Exception, use_context: bool = True) -> tuple[PanoramaPlanner, ScriptedBackend]:
    backend = ScriptedBackend(answers)
    spatial = SpatialMemory()
    spatial.scene_analyzed("bedroom", ["bed"])
    return PanoramaPlanner(backend, spatial, use_context=use_context), backend


def situation(**around: Any) -> Situation:
    return Situation(step=0, belief=new_belief("red mug"), images=(TILE,) * 12, around=Surroundings(**around))


def test_it_is_a_planner_of_the_one_loop() -> None:
    made: Planner = planner(said())[0]
    decision, call = made.decide(situation())
    assert (decision.heading, decision.why, decision.source) == (math.pi / 2, "mugs live there", "panorama")
    assert call.output == json.loads(said())


def test_target_panorama_and_context_are_shown() -> None:
    made, backend = planner(said())
    view = View(30.0, (("sofa", 0.8),), 2.0)
    made.decide(situation(views=[view]))
    assert 'TARGET: "red mug"' in backend.prompts[0]
    assert 'view +30 deg: "sofa" 0.80; free 2.0 m' in backend.prompts[0]
    assert 'place 0: "bedroom", here; objects "bed"' in backend.prompts[0]
    assert len(backend.images[0]) == 1


def test_every_call_leaves_one_record() -> None:
    made, backend = planner(*[said()] * 7)
    for _ in range(7):
        made.decide(situation())
    assert [record["idx"] for record in made.queue.to_list()] == [1, 2, 3, 4, 5]
    assert "discovered 5: goal not seen" in backend.prompts[-1]


def test_the_fallback_leaves_a_record_too() -> None:
    made, _ = planner("nonsense", "nonsense")
    decision, call = made.decide(situation())
    assert (decision.heading, decision.source, call.fallback, call.retries) == (0.0, "fallback", True, 1)
    assert made.queue.to_list() == [{"idx": 1, "goal_flag": False, "goal_scene_type": "corridor", "why": "fallback"}]


def test_the_hint_is_shown_and_stored() -> None:
    made, backend = planner(said())
    for _ in range(10):
        made.spatial.step(Action.TURN_LEFT)
    made.decide(situation())
    assert "avoid: pattern:STUCK" in backend.prompts[0]
    assert made.queue.to_list()[0]["avoid_hint"] == "pattern:STUCK"


def test_a_direction_that_led_nowhere_is_told_at_the_next_call() -> None:
    made, backend = planner(said(90.0), said(0.0))
    made.decide(situation())
    made.spatial.step(Action.TURN_LEFT)
    made.decide(situation())
    assert 'tried +60 deg: for "kitchen", moved 0.0 m, blocked' in backend.prompts[1]


def test_candidates_are_shown_with_their_direction() -> None:
    made, backend = planner(said())
    belief = new_belief("red mug")
    belief["candidate_nodes"] = [{"node_id": 7, "score": 0.8}]
    node = MemoryNode(7, Pose2D(0, -2, 0), None, ["kitchen"], "A kitchen.")
    made.decide(Situation(step=0, belief=belief, nodes=(node,)))
    assert 'candidate node 7: score 0.80, 2.0 m at -90 deg, "kitchen"' in backend.prompts[0]


def test_a_node_that_was_tried_is_no_candidate_any_more() -> None:
    made, backend = planner(said())
    belief = new_belief("red mug")
    belief["candidate_nodes"] = [{"node_id": 7, "score": 0.8}]
    node = MemoryNode(7, Pose2D(0, -2, 0), None, ["kitchen"], "A kitchen.")
    made.decide(Situation(step=0, belief=belief, nodes=(node,), tried=[7]))
    assert "candidate node" not in backend.prompts[0]


def test_without_context_nothing_of_memory_is_shown() -> None:
    made, backend = planner(said(), use_context=False)
    made.decide(situation())
    assert backend.prompts[0].endswith("NAVIGATION CONTEXT\nnone")


@pytest.mark.parametrize("angle", [-180.0, 180.0])
def test_straight_back_is_a_heading(angle: float) -> None:
    made, _ = planner(said(angle))
    heading = made.decide(situation())[0].heading
    assert heading == pytest.approx(math.radians(angle))


class Explorer:
    """The planner that a search would have to ask."""

    def __init__(self) -> None:
        self.asked = 0

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        self.asked += 1
        return Decision(heading=0.0, why="explore", source="panorama"), PlannerCall(backend="explorer")


def decide(
    *offers: Remembered, status: TargetStatus = "searching", **around: Any
) -> tuple[Decision, PlannerCall, int]:
    belief, explorer = new_belief("mug"), Explorer()
    belief["target_status"] = status
    situation = Situation(step=0, belief=belief, around=Surroundings(remembered=offers, **around))
    decision, call = MemoryFirstPlanner(explorer).decide(situation)
    return decision, call, explorer.asked


def test_the_first_object_is_walked_to_along_its_path_without_asking_a_model() -> None:
    decision, call, asked = decide(remembered_mug("7"), remembered_mug("8"))
    assert (decision.source, call.asked, asked) == ("memory", False, 0)
    assert decision.heading == pytest.approx(0.5)
    assert decision.segments == PATH
    assert decision.why == "memory: mug (7) in the kitchen, 3.0 m from here"


@pytest.mark.parametrize(("place", "label"), [(None, "mug"), ("kitchen", None)])
def test_an_object_without_a_name_or_a_place_is_walked_to_all_the_same(place: str | None, label: str | None) -> None:
    decision, _, _ = decide(remembered_mug(place=place, label=label))
    assert decision.source == "memory"
    assert "None" not in decision.why


@pytest.mark.parametrize("status", ["visible", "done"])
def test_a_goal_in_view_is_the_others_business(status: TargetStatus) -> None:
    assert decide(remembered_mug(), status=status)[0].source == "panorama"


def test_what_was_seen_on_this_walk_goes_before_what_is_remembered() -> None:
    assert decide(remembered_mug(), sightings=[Spot(2.0, 0.0, 2.0, ((2.0, 0.0),), 2.0)])[2] == 1
    view = View(0.0, (("mug", 0.6),))
    assert decide(remembered_mug(), views=[view])[2] == 1
    assert decide(remembered_mug(), views=[View(0.0, (("mug", 0.4), ("bed", 0.9)))])[2] == 0


def test_after_an_approach_that_failed_memory_may_know_a_path_round() -> None:
    assert decide(remembered_mug(), status="visible", approach_failed=True)[0].source == "memory"


def test_after_an_approach_that_failed_memory_leads_nowhere_far_from_where_the_goal_was_seen() -> None:
    seen = Spot(1.0, 0.0, 1.0, ((1.0, 0.0),), 2.0)
    assert decide(remembered_mug(metres=3.9), approach_failed=True, sightings=[seen])[0].source == "memory"
    assert decide(remembered_mug(metres=11.0), approach_failed=True, sightings=[seen])[2] == 1


def test_when_memory_has_nothing_more_to_offer_the_planner_is_asked() -> None:
    decision, call, asked = decide()
    assert (decision.source, call.backend, asked) == ("panorama", "explorer", 1)
