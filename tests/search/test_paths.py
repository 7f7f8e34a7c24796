"""Paths over a floor map and in the context: never through an obstacle, unless the map is one that drifts."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.body import body_points
from lastseen.config.search import Explored, Policy
from lastseen.memory.space.floor import TILE, FloorGrid
from lastseen.pose2d import Pose2D
from lastseen.search.explored import coarse_map
from lastseen.search.paths import FloorPaths, rounded_path, simplified
from lastseen.search.planning.context import Context
from lastseen.search.planning.panorama_planner import path_at
from tests.search.policy.box_world import Box, BoxWorld

HERE = Pose2D(0.0, 0.0, 0.0)


def floor_of(*boxes: Box, spots: tuple[tuple[float, float], ...] = ((0.0, 0.0),)) -> FloorGrid:
    """The floor of a room, looked over from some spots in it."""
    room, floor = BoxWorld(boxes=list(boxes)), coarse_map(Explored(), Policy())
    for x, y in spots:
        for turn in range(12):
            room.pose = Pose2D(x, y, math.radians(30.0 * turn))
            floor.add(body_points(room.look()), room.pose)
    return floor


def paths(floor: FloorGrid, *, smeared: bool) -> FloorPaths:
    cell = floor.cell_of(0.0, 0.0)
    assert cell is not None
    return FloorPaths(floor, HERE, cell, smeared=smeared)


WALL: list[Box] = [((1.5, -4.0, 0.0), (1.7, 4.0, 2.0))]


def test_a_wall_without_a_door_closes_a_clear_path_and_only_lengthens_a_smeared_one() -> None:
    floor = floor_of(*WALL, spots=((0.0, 0.0), (2.8, 0.0)))
    beyond = floor.cell_of(2.8, 0.0)
    assert beyond is not None
    assert math.isinf(paths(floor, smeared=False).lengths[beyond])
    assert 3.0 < paths(floor, smeared=True).lengths[beyond] < 30.0


@given(st.integers(0, 10_000))
def test_a_clear_path_never_crosses_an_obstacle(seed: int) -> None:
    """Over floors with obstacles strewn at random, to some forty of the cells that can be reached."""
    rng = np.random.default_rng(seed)
    evidence = np.full((TILE, TILE), -4, dtype=np.int8)
    evidence[rng.random((TILE, TILE)) < 0.12] = 6
    floor = FloorGrid(Policy(cell=0.2))
    floor.restore({(0, 0): zlib.compress(evidence.tobytes())})
    start = (20, 20)
    near_start = np.zeros_like(floor.occupied)
    near_start[19:22, 19:22] = True  # the robot stands there, whatever the map says
    pose = Pose2D(*floor.point_of(start), float(rng.uniform(-3.0, 3.0)))
    clear = FloorPaths(floor, pose, start, smeared=False)
    wall = floor.occupied & ~near_start
    for cell in np.argwhere(np.isfinite(clear.lengths))[:: max(1, TILE * TILE // 40)]:
        x, y = pose.x, pose.y
        for metres, bearing in clear.segments((int(cell[0]), int(cell[1]))):
            end = (x + metres * math.cos(pose.yaw + bearing), y + metres * math.sin(pose.yaw + bearing))
            assert floor.straight((x, y), end, through=~wall)
            x, y = end


def test_a_path_is_as_long_as_its_segments_where_nothing_is_in_the_path() -> None:
    found = paths(floor_of(), smeared=False)
    cell = found.nearest_cell(2.0, 1.0)
    assert cell is not None
    segments = found.segments(cell)
    assert sum(metres for metres, _ in segments) == pytest.approx(math.hypot(2.0, 1.0), abs=0.3)
    assert segments[0][1] == pytest.approx(math.atan2(1.0, 2.0), abs=0.2)


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
