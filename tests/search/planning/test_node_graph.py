from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.memory.nodes import MemoryNode, Pose2D, SemanticMemoryStore, seed_demo_store
from lastseen.search.planning.node_graph import NodeGraph, check_path, judgeable, parse_constraint


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


KITCHEN = MemoryNode(3, Pose2D(0, 0, 0), None, ["red mug"], "Kitchen counter")


@pytest.mark.parametrize("text", ["avoid: kitchen", "avoid:KITCHEN!", "avoid: red kitchen", "avoid_node: 3"])
def test_a_node_it_names_is_forbidden(text: str) -> None:
    assert parse_constraint(text).forbids(KITCHEN)


@pytest.mark.parametrize("text", ["avoid: bedroom", "avoid: kitchen stairs", "avoid_node: 4", "max_path: 0"])
def test_any_other_node_is_not(text: str) -> None:
    assert not parse_constraint(text).forbids(KITCHEN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "avoid",
        "avoid:",
        "avoid: !!!",
        "avoid_node: x",
        "avoid_node: -1",
        "max_path: nan",
        "max_path: -1",
        "be nice",
    ],
)
def test_what_no_rule_can_judge_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="cannot be judged"):
        parse_constraint(text)


def test_texts_are_sorted_into_constraints_and_others() -> None:
    read, unread = judgeable(["avoid: stairs", "keep warm", "max_path: 3"])
    assert [constraint.kind for constraint in read] == ["avoid", "max_path"]
    assert unread == ["keep warm"]


@given(st.lists(st.text()))
def test_no_text_breaks_the_reader(texts: list[str]) -> None:
    read, unread = judgeable(texts)
    assert sorted([constraint.text for constraint in read] + unread) == sorted(texts)


GRAPH = NodeGraph.from_store(seed_demo_store())


def test_an_open_way_is_given_back() -> None:
    verdict = check_path(GRAPH, start=2, goal=4)
    assert verdict.reachable
    assert verdict.reason is None
    assert verdict.path is not None
    assert verdict.path.nodes == (2, 1, 4)


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        ("avoid: corridor", "every path breaks a constraint"),
        ("avoid_node: 1", "every path breaks a constraint"),
        ("avoid: bedroom", "every path breaks a constraint"),
        ("max_path: 2", "beyond max_path 2"),
    ],
)
def test_a_broken_constraint_is_the_reason(constraint: str, reason: str) -> None:
    for active, proposed in ([[constraint], []], [[], [constraint]]):
        verdict = check_path(GRAPH, start=2, goal=4, active_constraints=active, proposed_constraints=proposed)
        assert not verdict.reachable
        assert verdict.path is None
        assert reason in str(verdict.reason)


def test_kept_constraints_let_the_way_pass() -> None:
    assert check_path(GRAPH, start=2, goal=4, active_constraints=["avoid: sofa", "max_path: 20"]).reachable


def test_a_robot_may_leave_what_it_should_avoid() -> None:
    assert check_path(GRAPH, start=2, goal=1, active_constraints=["avoid: kitchen"]).reachable


def test_the_longer_way_round_is_measured_against_the_limit() -> None:
    direct = check_path(GRAPH, start=1, goal=3, active_constraints=["max_path: 3.6"])
    assert direct.reachable
    around = check_path(GRAPH, start=2, goal=1, active_constraints=["max_path: 3"])
    assert not around.reachable


@pytest.mark.parametrize(
    ("start", "goal", "reason"), [(None, 1, "not known"), (2, 77, "no path"), (77, 2, "no path")]
)
def test_without_start_or_goal_there_is_no_path(start: int | None, goal: int, reason: str) -> None:
    assert reason in str(check_path(GRAPH, start=start, goal=goal).reason)


def test_texts_that_no_rule_can_judge_are_told_and_stop_nothing() -> None:
    verdict = check_path(GRAPH, start=2, goal=1, proposed_constraints=["walk softly"])
    assert verdict.reachable
    assert verdict.unchecked == ("walk softly",)
