from __future__ import annotations

import math

from lastseen.memory.nodes import SemanticMemoryStore, seed_demo_store
from lastseen.search.planning.decision import Decision
from lastseen.search.planning.node_graph import NodeGraph
from lastseen.search.rehearsal import RehearsalWorld

GRAPH = NodeGraph.from_store(seed_demo_store())


def go(node_id: int) -> Decision:
    return Decision.go_to(node_id, why="", source="fallback")


def head(heading: float = 0.0, *, goal_flag: bool = False, turn_only: bool = False) -> Decision:
    return Decision.turn_to(heading, why="", source="fallback", goal_flag=goal_flag, turn_only=turn_only)


def test_a_goal_is_seen_where_a_node_holds_all_its_words() -> None:
    world = RehearsalWorld(GRAPH, start=2)
    assert world.look("Red mug!").visible
    assert not world.look("red sofa").visible
    assert not world.look("!!!").visible


def test_a_walk_goes_node_by_node_and_is_idle_on_arrival() -> None:
    world, path = RehearsalWorld(GRAPH, start=2), GRAPH.shortest_path(2, 4)
    world.follow(go(4), path)
    assert (world.at, world.look("x").idle) == (1, False)
    world.follow(go(4), path)
    assert (world.at, world.look("x").idle) == (4, True)


def test_an_approach_brings_what_is_seen_nearer() -> None:
    world = RehearsalWorld(GRAPH, start=2)
    before = world.look("red mug").distance
    world.follow(head(goal_flag=True), None)
    after = world.look("red mug").distance
    assert before is not None
    assert after is not None
    assert after < before


def test_exploring_goes_where_it_is_told_among_the_least_visited() -> None:
    world = RehearsalWorld(GRAPH, start=1)
    world.follow(head(math.pi * 0.9), None)
    assert world.at == 4


def test_exploring_ends_when_everything_in_reach_was_seen() -> None:
    world = RehearsalWorld(GRAPH, start=1)
    moves = [world.follow(head(), None) for _ in range(30)]
    assert moves[-1].failed == "every node in reach has been visited"


def test_closed_nodes_are_not_explored() -> None:
    world = RehearsalWorld(GRAPH, start=2, closed=lambda node: node.node_id == 1)
    moves = [world.follow(head(), None) for _ in range(3)]
    assert world.at == 3
    assert moves[-1].failed == "every node in reach has been visited"


def test_turning_and_looking_do_not_walk_but_time_passes() -> None:
    world = RehearsalWorld(GRAPH, start=2)
    first = world.look("x").stamp
    world.follow(head(turn_only=True), None)
    world.confirm()
    assert world.at == 2
    assert world.look("x").stamp == first + 2.0


def test_no_way_is_a_failure_with_its_reason() -> None:
    assert RehearsalWorld(GRAPH, start=2).follow(go(77), None).failed == "node 77: no way there"


def test_an_empty_memory_is_an_empty_world() -> None:
    world = RehearsalWorld(NodeGraph.from_store(SemanticMemoryStore()))
    assert world.look("mug").node_id is None
    assert world.follow(head(), None).failed
    assert world.follow(go(1), None).failed


def test_the_seed_chooses_the_start() -> None:
    starts = {RehearsalWorld(GRAPH, seed=seed).at for seed in range(40)}
    assert starts == {1, 2, 3, 4, 5}
    assert RehearsalWorld(GRAPH, seed=3).at == RehearsalWorld(GRAPH, seed=3).at
