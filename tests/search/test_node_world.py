"""A world made of memory nodes: what it is made from, and how a search walks it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastseen import Memory
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.nodes import SemanticMemoryStore, seed_demo_store
from lastseen.pose2d import Pose2D
from lastseen.runtime.loop import said, search_nodes
from lastseen.search.node_world import NodeWorld, SearchedNodes, open_nodes
from lastseen.search.planning.decision import Decision
from lastseen.search.planning.node_graph import NodeGraph
from tests.memory.objects.scenes import frame_at, seen


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A walk from a kitchen into a room, past a sofa."""
    file = tmp_path_factory.mktemp("home") / "home.lastseen"
    with Memory.open(file) as memory:
        for number in range(40):
            eye = (-6.0 + 0.25 * number, 2.5, 1.4)
            stove, sofa = {"stove": (-5.0, 4.0, 0.8)}, {"sofa": (2.0, 2.0, 0.4)}
            items = stove if eye[0] < -1.0 else sofa
            memory.observe(
                frame_at(number, eye=eye, target=(eye[0] + 2.0, 2.5, 1.0)),
                [seen(xyz, eye=eye, stamp=number, labels={label: 0.9}) for label, xyz in items.items()],
            )
    return file


@pytest.fixture
def remembered(home: Path) -> Iterator[SearchedNodes]:
    with open_nodes(home, Settings()) as held:
        yield held


def test_a_nodes_file_gives_its_nodes_and_no_answer(tmp_path: Path) -> None:
    seed_demo_store().save_json(tmp_path / "nodes.json")
    with open_nodes(tmp_path / "nodes.json", Settings()) as held:
        assert len(held.store) == len(seed_demo_store())
        assert held.find is None


def test_the_memory_of_a_robot_that_walked_gives_its_anchors_and_the_ways_between(remembered: SearchedNodes) -> None:
    assert any("kitchen" in node.tags for node in remembered.store.all_nodes())
    assert remembered.paths.reachable_from(0) == set(remembered.store.nodes)


def test_a_search_ends_with_the_answer_of_the_memory(home: Path) -> None:
    result = search_nodes("sofa", memory=home)
    assert result.status == "found"
    assert result.answer is not None
    assert result.answer.status == "found"
    assert said(result)[1] == f"memory says found: {result.answer.reason}"


def test_what_memory_does_not_hold_is_not_found_and_said_so(home: Path) -> None:
    result = search_nodes("piano", memory=home)
    assert result.answer is not None
    assert (result.status, result.answer.status) == ("not_found", "not_found")


def test_a_paraphrase_is_walked_to_by_what_memory_takes_it_for(home: Path) -> None:
    result = search_nodes("couch", memory=home)
    assert result.answer is not None
    assert (result.status, result.answer.status) == ("found", "found")
    node = result.belief["last_seen_node_id"]
    with open_nodes(home, Settings()) as held:
        assert node is not None
        assert "sofa" in held.store.get_node(node).tags
        assert held.store.get_node(node).pose.distance_to(Pose2D(2.0, 2.0, 0.0)) < Settings().search.node_reach


@pytest.mark.parametrize("goal", ["", "!!!"])
def test_a_goal_without_words_is_no_question(goal: str, home: Path) -> None:
    assert search_nodes(goal, memory=home, steps=3).status == "not_found"


def test_a_memory_without_walked_places_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    Memory.open(file).close()
    with pytest.raises(InvalidValue, match="no walked places; make it anew with `lastseen run`"):
        search_nodes("mug", memory=file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        search_nodes("mug", memory=tmp_path / "none.json")


GRAPH = NodeGraph.from_store(seed_demo_store())


def go(node_id: int) -> Decision:
    return Decision(node_id=node_id, why="", source="fallback")


def head(heading: float = 0.0, *, goal_flag: bool = False, turn_only: bool = False) -> Decision:
    return Decision(heading=heading, why="", source="fallback", goal_flag=goal_flag, turn_only=turn_only)


def test_a_goal_is_seen_where_a_node_holds_all_its_words() -> None:
    world = NodeWorld(GRAPH, start=2)
    assert world.look("Red mug!").visible
    assert not world.look("red sofa").visible
    assert not world.look("!!!").visible


def test_a_walk_goes_node_by_node_and_is_idle_on_arrival() -> None:
    world, path = NodeWorld(GRAPH, start=2), GRAPH.shortest_path(2, 4)
    world.follow(go(4), path)
    assert (world.at, world.look("x").idle) == (1, False)
    world.follow(go(4), path)
    assert (world.at, world.look("x").idle) == (4, True)


def test_an_approach_brings_what_is_seen_nearer() -> None:
    world = NodeWorld(GRAPH, start=2)
    before = world.look("red mug").distance
    world.follow(head(goal_flag=True), None)
    after = world.look("red mug").distance
    assert before is not None
    assert after is not None
    assert after < before


def test_exploring_goes_where_it_is_told_among_the_least_visited() -> None:
    world = NodeWorld(GRAPH, start=1)
    world.follow(head(math.pi * 0.9), None)
    assert world.at == 4


def test_exploring_ends_when_everything_in_reach_was_seen() -> None:
    world = NodeWorld(GRAPH, start=1)
    moves = [world.follow(head(), None) for _ in range(30)]
    assert moves[-1].failed == "every node in reach has been visited"


def test_closed_nodes_are_not_explored() -> None:
    world = NodeWorld(GRAPH, start=2, closed=lambda node: node.node_id == 1)
    moves = [world.follow(head(), None) for _ in range(3)]
    assert world.at == 3
    assert moves[-1].failed == "every node in reach has been visited"


def test_turning_and_looking_do_not_walk_but_time_passes() -> None:
    world = NodeWorld(GRAPH, start=2)
    first = world.look("x").stamp
    world.follow(head(turn_only=True), None)
    world.confirm()
    assert world.at == 2
    assert world.look("x").stamp == first + 2.0


def test_no_way_is_a_failure_with_its_reason() -> None:
    assert NodeWorld(GRAPH, start=2).follow(go(77), None).failed == "node 77: no path there"


def test_an_empty_memory_is_an_empty_world() -> None:
    world = NodeWorld(NodeGraph.from_store(SemanticMemoryStore()))
    assert world.look("mug").node_id is None
    assert world.follow(head(), None).failed
    assert world.follow(go(1), None).failed


def test_the_seed_chooses_the_start() -> None:
    starts = {NodeWorld(GRAPH, seed=seed).at for seed in range(40)}
    assert starts == {1, 2, 3, 4, 5}
    assert NodeWorld(GRAPH, seed=3).at == NodeWorld(GRAPH, seed=3).at
