from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from lastseen.memory.nodes import MemoryNode, Pose2D, SemanticMemoryStore, seed_demo_store
from lastseen.search.planning.node_graph import NodeGraph


def line(count: int, *, spacing: float = 1.0) -> SemanticMemoryStore:
    store = SemanticMemoryStore()
    for index in range(count):
        store.add_node(Pose2D(index * spacing, 0.0, 0.0), None, [], f"stop {index}", node_id=index)
    return store


def test_nodes_near_each_other_are_joined() -> None:
    graph = NodeGraph.from_store(line(4), link_distance=1.0)
    assert graph.neighbors(1) == (0, 2)
    assert graph.neighbors(99) == ()


@given(st.integers(0, 10**6), st.floats(0.1, 5.0))
def test_nearness_is_found_by_cells_as_by_looking_at_all_pairs(seed: int, reach: float) -> None:
    rng = random.Random(seed)
    store = SemanticMemoryStore()
    for _ in range(25):
        store.add_node(Pose2D(rng.uniform(-6, 6), rng.uniform(-6, 6), 0.0), None, [], "")
    graph = NodeGraph.from_store(store, link_distance=reach)
    for a, b in itertools.combinations(store.all_nodes(), 2):
        assert (b.node_id in graph.neighbors(a.node_id)) == (a.pose.distance_to(b.pose) <= reach)


def test_the_shortest_way_is_found_with_its_length() -> None:
    path = NodeGraph.from_store(line(5), link_distance=1.0).shortest_path(0, 3)
    assert path is not None
    assert (path.nodes, path.length) == ((0, 1, 2, 3), 3.0)


def test_of_two_equal_ways_the_one_over_lower_ids_is_taken() -> None:
    nodes = {
        0: MemoryNode(0, Pose2D(0, 0, 0), None, [], ""),
        1: MemoryNode(1, Pose2D(1, 1, 0), None, [], ""),
        2: MemoryNode(2, Pose2D(1, -1, 0), None, [], ""),
        3: MemoryNode(3, Pose2D(2, 0, 0), None, [], ""),
    }
    path = NodeGraph(nodes, [(2, 3), (0, 2), (1, 3), (0, 1)]).shortest_path(0, 3)
    assert path is not None
    assert path.nodes == (0, 1, 3)


def test_a_way_goes_round_closed_nodes_and_may_start_in_one() -> None:
    graph = NodeGraph.from_store(seed_demo_store())
    direct = graph.shortest_path(2, 3)
    assert direct is not None
    assert direct.nodes == (2, 3)
    assert graph.shortest_path(2, 4, closed=lambda node: node.node_id == 1) is None
    assert graph.shortest_path(1, 4, closed=lambda node: node.node_id == 1) is not None


def test_no_way_and_no_such_node() -> None:
    graph = NodeGraph.from_store(line(2, spacing=9.0))
    assert graph.shortest_path(0, 1) is None
    assert graph.shortest_path(0, 77) is None
    assert graph.shortest_path(77, 0) is None


def test_a_node_is_reached_from_itself() -> None:
    path = NodeGraph.from_store(line(1)).shortest_path(0, 0)
    assert path is not None
    assert (path.nodes, path.length) == ((0,), 0.0)


def test_what_is_reachable_is_the_whole_component() -> None:
    store = line(3)
    store.add_node(Pose2D(50.0, 0.0, 0.0), None, [], "far", node_id=9)
    graph = NodeGraph.from_store(store, link_distance=1.0)
    assert graph.reachable_from(1) == {0, 1, 2}
    assert graph.reachable_from(77) == set()


def test_edges_to_nobody_are_left_out() -> None:
    graph = NodeGraph(line(2).nodes, [(0, 0), (0, 5), (0, 1), (1, 0)])
    assert graph.neighbors(0) == (1,)
