"""The arms: what each may read, and the two baselines in the planner's place."""

from __future__ import annotations

import json
import math

import pytest

from lastseen.belief import new_belief
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.evaluation.arms import (
    ALL_PARTS,
    ARMS,
    Context,
    FrontierBackend,
    RandomBackend,
    arm_of,
    arms_of,
    blanked,
    editor,
)
from lastseen.memory.places import SpatialMemory
from lastseen.search.explored import Spot
from lastseen.search.planning.context import build_context, render
from lastseen.search.planning.decision import Situation, Surroundings
from lastseen.search.planning.history import DiscoveredContextQueue
from lastseen.search.planning.plan import PLAN_SCHEMA
from lastseen.search.planning.prompt import View, planner_prompt

VIEWS = [View(0.0, (("chair", 0.9),), 3.0), View(90.0, (), 2.0), View(180.0, (), 0.2)]
EDGES = "unexplored -70 deg: 5.0 m of path, 1.0 m wide\nunexplored +85 deg: 2.5 m of path, 0.8 m wide"


def plan(backend: FrontierBackend | RandomBackend, context: str, target: str = "bed") -> dict[str, object]:
    answer: dict[str, object] = json.loads(
        backend.complete(planner_prompt(target, context, VIEWS), schema=PLAN_SCHEMA)
    )
    return answer


def test_the_frontier_takes_the_shortest_way_to_an_edge() -> None:
    assert plan(FrontierBackend(), EDGES)["angle"] == 85.0


def test_without_an_edge_it_takes_open_floor() -> None:
    assert plan(FrontierBackend(), "none")["angle"] in (0.0, 90.0)


def test_random_draws_among_open_views_and_the_same_for_the_same_prompt() -> None:
    drawn = {plan(RandomBackend(seed=seed), "none")["angle"] for seed in range(20)}
    assert drawn == {0.0, 90.0}
    assert plan(RandomBackend(seed=3), "none") == plan(RandomBackend(seed=3), "none")


def test_both_flag_a_goal_that_the_detector_named() -> None:
    for backend in (FrontierBackend(), RandomBackend()):
        answer = plan(backend, EDGES, target="chair")
        assert answer["goal_flag"] is True
        assert answer["angle"] == 0.0


@pytest.fixture
def context() -> Context:
    spatial, queue = SpatialMemory(Settings()), DiscoveredContextQueue()
    spatial.scene_analyzed("kitchen", ["stove"])
    queue.push(goal_flag=False, goal_scene_type="kitchen", why="mugs live there", avoid_hint="pattern:STUCK")
    edge = Spot(2.5, 2.1, 3.2, ((3.2, math.radians(40.0)),), 1.0, (("stove", 0.8),))
    around = Surroundings(unexplored=[edge])
    return build_context(spatial, queue, Situation(step=0, belief=new_belief("mug"), around=around))


def test_the_context_has_the_parts_that_arms_choose_from(context: Context) -> None:
    assert set(context) >= ALL_PARTS


def test_all_parts_kept_is_the_same_text(context: Context) -> None:
    assert render(blanked(context, ALL_PARTS)) == render(context)


def test_the_frontier_arm_reads_edges_and_nothing_of_places(context: Context) -> None:
    text = render(editor(ARMS["frontier"])(context))
    assert "unexplored +40 deg: 3.2 m of path" in text
    assert "place 0:" not in text
    assert "discovered" not in text


def test_an_ablation_is_the_context_without_one_part(context: Context) -> None:
    texts = {arm.name: render(editor(arm)(context)) for arm in ARMS.values() if arm.ablation}
    assert "progress:" not in texts["context_no_hint"]
    assert "discovered" not in texts["context_no_queue"]
    assert "place 0:" not in texts["context_no_places"]
    assert "unexplored" not in texts["context_no_edges"]
    assert "STUCK" not in texts["context_no_hint"]
    assert "STUCK" in texts["context_no_places"]
    assert all("progress:" in text for name, text in texts.items() if name != "context_no_hint")


def test_all_leaves_the_ablations_out_and_ablation_is_context_with_them() -> None:
    assert not any(arm.ablation for arm in arms_of(["all"]))
    assert next(arm.name for arm in arms_of(["ablation"])) == "context"
    assert sum(arm.ablation for arm in arms_of(["ablation"])) == 4


def test_blanking_leaves_the_original_alone(context: Context) -> None:
    before = json.dumps(context)
    blanked(context, frozenset())
    assert json.dumps(context) == before


def test_a_shuffled_arm_reads_the_donor_call_by_call(context: Context) -> None:
    donors = [{**context, "avoid_hint": f"hint {k}"} for k in range(2)]
    edit = editor(ARMS["context_shuffled"], donors)
    assert [edit(context)["avoid_hint"] for _ in range(3)] == ["hint 0", "hint 1", "hint 0"]


def test_a_shuffled_arm_without_a_donor_is_refused(context: Context) -> None:
    with pytest.raises(InvalidValue, match="donor"):
        editor(ARMS["context_shuffled"])(context)


def test_only_the_named_baselines_have_another_chooser() -> None:
    assert {arm.name for arm in ARMS.values() if arm.chooser != "backend"} == {"frontier", "random", "oracle"}
    assert not ARMS["no_context"].reads_context


def test_an_unknown_arm_names_those_there_are() -> None:
    with pytest.raises(InvalidValue, match="no_context"):
        arm_of("clairvoyant")
    assert [arm.name for arm in arms_of(["context", "random", "context"])] == ["random", "context"]
