"""The baselines in the planner's place read the planner's prompt."""

from __future__ import annotations

import json

from lastseen.evaluation.choosers import FrontierBackend, RandomBackend
from lastseen.search.planning.plan import PLAN_SCHEMA
from lastseen.search.planning.prompt import View, planner_prompt

VIEWS = [View(0.0, (("chair", 0.9),), 3.0), View(90.0, (), 2.0), View(180.0, (), 0.2)]
EDGES = "unexplored -70 deg: 5.0 m of way, 1.0 m wide\nunexplored +85 deg: 2.5 m of way, 0.8 m wide"


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
