"""Which path a plan takes: one that the context, as the model read it, begins at the plan's angle."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lastseen.search.planning.context_text import Context
from lastseen.search.planning.paths import path_at, rounded_path, simplified


def edge(angle: int, distance: float, *path: list[float]) -> dict[str, Any]:
    return {"angle": angle, "distance": distance, "path": list(path)}


def context(**parts: Any) -> Context:
    return {"sightings": [], "remembered": [], "unexplored": [], "belief": {"candidates": []}, **parts}


def test_a_plan_at_the_angle_of_an_edge_takes_the_way_to_it() -> None:
    told = context(unexplored=[edge(90, 3.0, [2.0, 90], [1.0, 0]), edge(-30, 1.0, [1.0, -30])])
    assert path_at(told, 90.0) == ((2.0, math.radians(90)), (1.0, 0.0))


def test_a_plan_at_another_angle_walks_straight_on() -> None:
    assert path_at(context(unexplored=[edge(90, 3.0, [2.0, 90])]), 60.0) == ()
    assert path_at(context(), 60.0) == ()


def test_straight_back_is_one_direction_from_either_side() -> None:
    assert path_at(context(unexplored=[edge(-180, 3.0, [2.0, -180])]), 180.0)


def test_of_ways_that_begin_alike_the_shortest_is_meant() -> None:
    told = context(unexplored=[edge(90, 9.0, [4.0, 90]), edge(90, 3.0, [2.0, 90])])
    assert path_at(told, 90.0)[0][0] == 2.0


def test_the_target_itself_comes_before_what_memory_offers_and_both_before_edges() -> None:
    seen, node = edge(90, 9.0, [1.0, 90]), {**edge(90, 5.0, [2.0, 90]), "score": 0.7}
    told = context(sightings=[seen], belief={"candidates": [node]}, unexplored=[edge(90, 1.0, [3.0, 90])])
    assert path_at(told, 90.0)[0][0] == 1.0
    assert path_at({**told, "sightings": []}, 90.0)[0][0] == 2.0
    weak = {"candidates": [{**node, "score": 0.4}]}
    assert path_at({**told, "sightings": [], "belief": weak}, 90.0)[0][0] == 3.0


@pytest.mark.parametrize(("longest", "count"), [(10.0, 3), (4.5, 2), (0.0, 0)])
def test_a_way_is_told_as_far_as_it_is_trusted(longest: float, count: int) -> None:
    told = rounded_path([(3.0, 0.0), (2.0, math.pi / 2), (4.0, math.pi)], longest=longest)
    assert len(told) == count
    assert sum(metres for metres, _ in told) <= longest


def test_a_winding_way_becomes_few_stretches_and_keeps_its_corners() -> None:
    winding = [(0.2 * k, 0.1 * (k % 2)) for k in range(11)] + [(2.0, 0.2 * k) for k in range(1, 6)]
    stretches = simplified(winding, yaw=math.pi / 2, off=0.3)
    assert [round(math.degrees(bearing) / 30) * 30 for _, bearing in stretches] == [-90, 0]
    assert sum(metres for metres, _ in stretches) == pytest.approx(3.0, abs=0.3)


def test_a_way_there_and_back_is_not_cut_short() -> None:
    assert len(simplified([(0.0, 0.0), (3.0, 0.0), (1.0, 0.1)], yaw=0.0, off=0.3)) == 2
