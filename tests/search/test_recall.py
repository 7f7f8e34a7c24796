"""The map of an earlier visit: ways along what was walked, not through walls."""

from __future__ import annotations

import math

import pytest
from lastseen.search.known_map import KnownMap, Thing
from lastseen.search.policy.explored import coarse_map

from lastseen.body import body_points
from lastseen.config.policy import Explored, Policy
from lastseen.config.seeking import Context
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.pose2d import Pose2D
from lastseen.search.planning.node_graph import NodeGraph
from tests.search.policy.box_world import BoxWorld


@pytest.fixture
def known() -> KnownMap:
    """A way that goes 3 m east, then 3 m north; the goal is at its end."""
    store = SemanticMemoryStore()
    spots = [(float(x), 0.0) for x in range(4)] + [(3.0, float(y)) for y in range(1, 4)]
    for node_id, (x, y) in enumerate(spots):
        store.add_node(Pose2D(x, y, 0.0), None, ["corridor"], "", node_id=node_id)
    ways = NodeGraph(store.nodes, [(k, k + 1) for k in range(len(spots) - 1)])
    return KnownMap(store, ways, Pose2D(0.0, 0.0, 0.0))


def test_the_way_to_a_node_begins_along_what_was_walked(known: KnownMap) -> None:
    way = known.ways_from(Pose2D(0.0, 0.0, 0.0))[6]
    assert way["angle"] == 0
    assert way["distance"] == pytest.approx(6.0, abs=0.1)


def test_the_way_to_a_node_tells_its_corners_up_to_where_it_is_trusted(known: KnownMap) -> None:
    way = known.ways_from(Pose2D(0.0, 0.0, 0.0))[6]["way"]
    assert [round(degrees / 30) * 30 for _, degrees in way] == [0, 90]
    assert sum(metres for metres, _ in way) == pytest.approx(6.0, abs=0.3)
    short = KnownMap(known.store, known.ways, known.start, Context(max_way=2.0))
    assert short.ways_from(Pose2D(0.0, 0.0, 0.0))[6]["way"] == [[2.0, 0]]


def test_angles_are_from_where_the_robot_faces(known: KnownMap) -> None:
    assert known.ways_from(Pose2D(0.0, 0.0, math.pi / 2))[6]["angle"] == -90


def test_the_robot_is_carried_along_by_its_motion_since_the_start(known: KnownMap) -> None:
    started = KnownMap(known.store, known.ways, Pose2D(1.0, 0.0, math.pi / 2))
    here = started.here(Pose2D(2.0, 0.0, 0.0))
    assert (here.x, here.y) == pytest.approx((1.0, 2.0))


def test_nodes_around_a_look_are_looked_at(known: KnownMap) -> None:
    known.looked_around(Pose2D(3.0, 2.9, 0.0))
    assert known.looked_at("mug") == {5, 6}


def test_far_from_every_node_the_nearest_is_entered(known: KnownMap) -> None:
    assert known.ways_from(Pose2D(-5.0, 0.0, 0.0))[0]["distance"] == pytest.approx(5.0)


def test_without_nodes_there_are_no_ways() -> None:
    empty = SemanticMemoryStore()
    assert KnownMap(empty, NodeGraph(empty.nodes, ()), Pose2D(0.0, 0.0, 0.0)).ways_from(Pose2D(0, 0, 0)) == {}


HERE = Pose2D(0.0, 0.0, 0.0)


def thing(label: str, x: float, y: float) -> Thing:
    """A thing that was seen from 1.2 m before it on the way from the middle of the floor."""
    share = 1.0 - 1.2 / math.hypot(x, y)
    return Thing(label, x, y, ((share * x, share * y),))


def walked(*things: Thing) -> KnownMap:
    """An open floor that was looked over from its middle, with a node where each thing was seen from."""
    room = BoxWorld()
    floor = coarse_map(Explored(), Policy())
    for turn in range(12):
        room.pose = Pose2D(0.0, 0.0, math.radians(30.0 * turn))
        floor.add(body_points(room.look()), room.pose)
    store = SemanticMemoryStore()
    for each in things:
        store.add_node(Pose2D(*each.seen_from[0], 0.0), None, ["room", each.label], "")
    return KnownMap(store, NodeGraph.from_store(store), HERE, things=things, floor=floor)


def test_the_nearest_thing_of_the_kind_is_told_first_with_the_way_to_it() -> None:
    known = walked(thing("mug", 0.0, -3.0), thing("mug", 2.0, 0.0), thing("bed", 1.0, 1.0))
    near, far = known.remembered("mug", HERE)
    assert (near.x, far.y) == (2.0, -3.0)
    assert near.way == pytest.approx(2.0, abs=0.3)
    assert math.degrees(far.heading) == pytest.approx(-90.0, abs=10.0)
    assert known.remembered("sofa", HERE) == []


def test_a_thing_that_was_looked_for_is_not_told_again_and_neither_are_its_nodes() -> None:
    known = walked(thing("mug", 2.5, 0.0), thing("mug", -3.0, 0.0))
    known.looked_around(Pose2D(1.4, 0.9, 0.0))
    assert [spot.x for spot in known.remembered("mug", HERE)] == [-3.0]
    assert known.looked_at("mug") == {1}


def test_a_thing_that_no_try_brings_nearer_is_given_up() -> None:
    known = walked(thing("mug", 2.5, 0.0))
    for _ in range(3):
        (spot,) = known.remembered("mug", HERE)
        known.chose(spot.heading)
    assert known.remembered("mug", HERE) == []


def test_off_the_old_floor_nothing_is_told() -> None:
    known = walked(thing("mug", 2.5, 0.0))
    assert known.remembered("mug", Pose2D(500.0, 0.0, 0.0)) == []


def test_a_look_from_behind_the_wall_says_nothing_of_a_thing() -> None:
    known = walked(thing("mug", 2.5, 0.0))
    known.looked_around(Pose2D(3.2, 0.0, 0.0))
    assert len(known.remembered("mug", HERE)) == 1
