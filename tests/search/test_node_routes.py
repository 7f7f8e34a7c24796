from __future__ import annotations

import pytest
from lastseen.search.node_routes import NodeRoutes

from lastseen.errors import InvalidValue
from lastseen.memory.nodes import Pose2D, SemanticMemoryStore
from lastseen.search.planning.node_graph import NodeGraph


def corridor(count: int = 6, *, spacing: float = 0.5) -> SemanticMemoryStore:
    store = SemanticMemoryStore()
    for index in range(count):
        store.add_node(Pose2D(index * spacing, 0.0, 0.0), None, [], "", node_id=index)
    return store


def test_the_robot_is_at_the_nearest_node() -> None:
    routes = NodeRoutes(corridor())
    assert routes.node_at(Pose2D(1.1, 0.3, 2.0)) == 2
    assert routes.node_at(Pose2D(0.25, 0.0, 0.0)) == 0


def test_far_from_all_nodes_it_is_at_none() -> None:
    assert NodeRoutes(corridor()).node_at(Pose2D(9.0, 9.0, 0.0)) is None
    assert NodeRoutes(SemanticMemoryStore()).node_at(Pose2D(0.0, 0.0, 0.0)) is None


def test_a_way_passes_every_metre_and_ends_at_the_goal() -> None:
    store = corridor()
    path = NodeGraph.from_store(store, link_distance=0.5).shortest_path(0, 5)
    assert [pose.x for pose in NodeRoutes(store).waypoints(5, path)] == [1.0, 2.0, 2.5]


def test_without_a_path_the_goal_is_the_way() -> None:
    assert [pose.x for pose in NodeRoutes(corridor()).waypoints(3, None)] == [1.5]


def test_the_node_one_is_at_is_a_way_of_one_point() -> None:
    store = corridor()
    path = NodeGraph.from_store(store).shortest_path(2, 2)
    assert [pose.x for pose in NodeRoutes(store).waypoints(2, path)] == [1.0]


def test_a_node_that_is_gone_is_named() -> None:
    with pytest.raises(InvalidValue, match="node_id = 77"):
        NodeRoutes(corridor()).waypoints(77, None)
