from __future__ import annotations

import json
import math

import numpy as np
import pytest

from lastseen.action import Action
from lastseen.belief import new_belief
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import Pose2D
from lastseen.search.planning.decision import Planner, Situation
from lastseen.search.planning.panorama_planner import PanoramaPlanner, view_to_dict
from lastseen.search.planning.prompt import View
from lastseen.vlm import EncodedImage
from lastseen.vlm.mock import ScriptedBackend

TILE = EncodedImage.from_rgb(np.zeros((12, 16, 3), np.uint8))


def said(angle: float = 90.0, *, goal_flag: bool = False) -> str:
    context = {"goal_scene_type": "kitchen", "why": "mugs live there"}
    return json.dumps({"goal_flag": goal_flag, "angle": angle, "discovered_context": context})


def planner(*answers: str | Exception, use_context: bool = True) -> tuple[PanoramaPlanner, ScriptedBackend]:
    backend = ScriptedBackend(answers)
    spatial = SpatialMemory()
    spatial.scene_analyzed("bedroom", ["bed"])
    return PanoramaPlanner(backend, spatial, use_context=use_context), backend


def situation(**context: object) -> Situation:
    return Situation(step=0, belief=new_belief("red mug"), images=(TILE,) * 12, context=context)


def test_it_is_a_planner_of_the_one_loop() -> None:
    made: Planner = planner(said())[0]
    decision, call = made.decide(situation())
    assert (decision.heading, decision.why, decision.source) == (math.pi / 2, "mugs live there", "panorama")
    assert call.output == json.loads(said())


def test_section_5_1_target_panorama_and_context_are_shown() -> None:
    made, backend = planner(said())
    view = View(30.0, (("sofa", 0.8),), 2.0)
    made.decide(situation(views=[view_to_dict(view)]))
    assert 'TARGET: "red mug"' in backend.prompts[0]
    assert 'view +30 deg: "sofa" 0.80; free 2.0 m' in backend.prompts[0]
    assert 'place 0: "bedroom", here; objects "bed"' in backend.prompts[0]
    assert len(backend.images[0]) == 1


def test_section_10_2_every_call_leaves_one_record() -> None:
    made, backend = planner(*[said()] * 7)
    for _ in range(7):
        made.decide(situation())
    assert [record.idx for record in made.queue.records] == [1, 2, 3, 4, 5]
    assert "discovered 5: goal not seen" in backend.prompts[-1]


def test_section_11_3_the_fallback_leaves_a_record_too() -> None:
    made, _ = planner("nonsense", "nonsense")
    decision, call = made.decide(situation())
    assert (decision.heading, decision.source, call.fallback, call.retries) == (0.0, "fallback", True, 1)
    assert made.queue.to_list() == [{"idx": 1, "goal_flag": False, "goal_scene_type": "corridor", "why": "fallback"}]


def test_section_10_5_the_hint_is_shown_and_stored() -> None:
    made, backend = planner(said())
    for _ in range(10):
        made.spatial.step(Action.TURN_LEFT)
    made.decide(situation())
    assert "avoid: pattern:STUCK" in backend.prompts[0]
    assert made.queue.records[0].avoid_hint == "pattern:STUCK"


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
    made.decide(Situation(step=0, belief=belief, context={"nodes": {7: node}}))
    assert 'candidate node 7: score 0.80, 2.0 m at -90 deg, "kitchen"' in backend.prompts[0]


def test_a_node_that_was_tried_is_no_candidate_any_more() -> None:
    made, backend = planner(said())
    belief = new_belief("red mug")
    belief["candidate_nodes"] = [{"node_id": 7, "score": 0.8}]
    node = MemoryNode(7, Pose2D(0, -2, 0), None, ["kitchen"], "A kitchen.")
    made.decide(Situation(step=0, belief=belief, context={"nodes": {7: node}, "tried": [7]}))
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
