"""The coarse map of a walk: edges of what was seen, and where the target was."""

from __future__ import annotations

import math

import pytest

from lastseen.action import Action
from lastseen.body import body_points
from lastseen.config.search import Policy
from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import Pose2D
from lastseen.search.explored import ExploredMap
from tests.search.policy.box_world import Box, BoxWorld

# a wall across the room with a door in it, 1 m wide, at y from 0.5 to 1.5
WALL: list[Box] = [((2.0, -4.0, 0.0), (2.2, 0.5, 2.0)), ((2.0, 1.5, 0.0), (2.2, 4.0, 2.0))]


def turn_around(room: BoxWorld, explored: ExploredMap) -> None:
    for _ in range(12):
        explored.see(body_points(room.look()))
        room.step(Action.TURN_LEFT)
        explored.moved_to(room.pose, collided=False)
    explored.looked_around()


@pytest.fixture
def looked() -> ExploredMap:
    room, explored = BoxWorld(boxes=WALL), ExploredMap()
    turn_around(room, explored)
    return explored


def test_a_door_is_an_edge_and_the_way_to_it_is_told(looked: ExploredMap) -> None:
    edges, _ = looked.survey("mug")
    beyond = [each for each in edges if each.x > 1.8 and 0.0 < each.y < 3.5]
    assert beyond
    assert all(0.0 < math.degrees(each.heading) < 60.0 for each in beyond)
    assert [each.metres for each in edges] == sorted(each.metres for each in edges)


def test_what_was_seen_before_the_search_is_not_unexplored() -> None:
    room, before = BoxWorld(boxes=WALL), FloorGrid(Policy())
    for _ in range(12):
        before.add(body_points(room.look()), room.pose)
        room.step(Action.TURN_LEFT)
    room.pose = Pose2D(3.0, 1.0, 0.0)
    for _ in range(12):
        before.add(body_points(room.look()), room.pose)
        room.step(Action.TURN_LEFT)
    fresh, known = ExploredMap(), ExploredMap(seen_before=before)
    for explored in (fresh, known):
        turn_around(BoxWorld(boxes=WALL), explored)
    through_the_door = [
        [each for each in explored.survey("bed")[0] if 1.8 < each.x < 3.2 and 0.3 < each.y < 1.7]
        for explored in (fresh, known)
    ]
    assert through_the_door[0]
    assert not through_the_door[1]


def test_where_all_was_seen_before_only_this_walk_counts() -> None:
    room, before = BoxWorld(boxes=WALL), FloorGrid(Policy())
    for x, y in ((0.0, 0.0), (3.0, 1.0), (3.0, -2.5), (3.0, 3.0), (-2.5, -2.5), (-2.5, 2.5), (0.0, 3.0), (0.0, -3.0)):
        room.pose = Pose2D(x, y, 0.0)
        for _ in range(12):
            before.add(body_points(room.look()), room.pose)
            room.step(Action.TURN_LEFT)
    fresh, known = ExploredMap(), ExploredMap(seen_before=before)
    for explored in (fresh, known):
        turn_around(BoxWorld(boxes=WALL), explored)
    assert known.survey("bed") == fresh.survey("bed")


def test_the_segments_of_a_way_lead_to_its_edge() -> None:
    # a screen in front of the robot: what is behind it is reached past one of its ends
    room, explored = BoxWorld(boxes=[((1.2, -1.5, 0.0), (1.4, 1.5, 2.0))]), ExploredMap()
    turn_around(room, explored)
    edges = explored.survey("mug")[0]
    assert edges
    for spot in edges:
        x = sum(metres * math.cos(bearing) for metres, bearing in spot.segments)
        y = sum(metres * math.sin(bearing) for metres, bearing in spot.segments)
        assert math.hypot(x - spot.x, y - spot.y) < 1.5
        assert spot.heading == spot.segments[0][1]


def test_a_closed_room_seen_in_full_has_no_edge_but_its_corners() -> None:
    room, explored = BoxWorld(size=2.0), ExploredMap()
    turn_around(room, explored)
    edges, _ = explored.survey("mug")
    assert not [each for each in edges if max(abs(each.x), abs(each.y)) < 1.0]


def test_an_edge_that_never_comes_nearer_is_given_up(looked: ExploredMap) -> None:
    edge = next(each for each in looked.survey("mug")[0] if each.x > 1.8)
    for _ in range(4):
        looked.chose(edge.heading)
    left = looked.survey("mug")[0]
    assert not [each for each in left if math.hypot(each.x - edge.x, each.y - edge.y) < 0.5]


def test_a_target_seen_twice_at_one_spot_is_remembered(looked: ExploredMap) -> None:
    looked.saw("mug", 0.8, x=1.5, y=0.0)
    assert looked.survey("mug")[1] == []
    looked.saw("mug", 0.7, x=1.6, y=0.1)
    (seen,) = looked.survey("mug")[1]
    assert (seen.x, seen.y) == pytest.approx((1.5, 0.0))
    assert seen.size == 2
    assert looked.survey("cup")[1] == []


def test_a_later_look_from_close_by_that_saw_nothing_ends_a_sighting(looked: ExploredMap) -> None:
    for x in (1.5, 1.6):
        looked.saw("mug", 0.8, x=x, y=0.0)
    looked.looked_around()
    looked.looked_around()
    assert looked.survey("mug")[1] == []


def test_things_near_an_edge_are_named_with_it(looked: ExploredMap) -> None:
    looked.saw("stove", 0.9, x=2.5, y=1.5)
    edges, _ = looked.survey("mug")
    assert any(("stove", 0.9) in each.labels for each in edges)


def test_a_bump_closes_the_floor_ahead() -> None:
    room, explored = BoxWorld(), ExploredMap()
    explored.see(body_points(room.look()))
    ahead = explored._map.cell_of(0.35, 0.0)
    assert ahead is not None
    assert not explored._map.occupied[ahead]
    explored.moved_to(room.pose, collided=True)
    assert explored.pose == room.pose
    assert explored._map.occupied[ahead]


def test_outside_its_map_it_has_nothing_to_say() -> None:
    explored = ExploredMap()
    explored.pose = Pose2D(100.0, 0.0, 0.0)
    assert explored.survey("mug") == ([], [])
