from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action
from lastseen.memory.memory import Memory
from lastseen.memory.nodes import DeterministicEmbedder, SemanticMemoryStore, retrieve_candidates
from lastseen.memory.nodes_of_memory import NodesOfMemory
from lastseen.memory.objects import ObjectState
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import Pose2D
from lastseen.search.planning.node_graph import NodeGraph


def thing(number: int, label: str, x: float, *, z: float = 0.8, state: str = "confirmed") -> ObjectState:
    return ObjectState(
        id=f"o{number}",
        xyz_world=np.array([x, 0.5, z]),
        emb_mean=None,
        emb_gallery=None,
        view_bins=frozenset(),
        label_scores={label: 0.9},
        stability=1.0,
        hits=3,
        confirmed=True,
        image_crops=(),
        last_seen=1.0,
        first_seen=0.0,
        state=state,
        stale=False,
        extent=np.ones(3),
        detection_rate=1.0,
        kind="object",
    )


class TwoStoreys:
    """A building whose upper floor begins at 2.5 m."""

    def numbers(self, heights: NDArray[np.float64], /) -> NDArray[np.int64]:
        return (np.asarray(heights) >= 2.5).astype(np.int64)


@dataclass
class Building:
    """Which storey each anchor is on."""

    storeys: TwoStoreys = field(default_factory=TwoStoreys)
    storey_of_anchor: dict[int, int] = field(default_factory=dict)


@dataclass
class Remembered:
    """A memory of places and objects, as the facade will be."""

    spatial: SpatialMemory = field(default_factory=SpatialMemory)
    space: Building = field(default_factory=Building)
    things: list[ObjectState] = field(default_factory=list)

    def states(self) -> list[ObjectState]:
        return [each for each in self.things if each.state == "confirmed"]


def store_of(memory: Remembered) -> SemanticMemoryStore:
    return NodesOfMemory(cast("Memory", memory)).store


def walk(spatial: SpatialMemory, *, world: bool, start: float = 0.0) -> None:
    """From a kitchen straight into a bedroom, two forwards to an anchor."""
    x = start
    spatial.scene_analyzed("kitchen", ["stove"], "a bright kitchen", world_pose=Pose2D(x, 0, 0) if world else None)
    spatial.saw(["mug"])
    for step in range(1, 25):
        x += 0.25
        pose = Pose2D(x, 0, 0) if world else None
        spatial.step(Action.FORWARD, world_pose=pose)
        if spatial.needs_scene_analysis:
            spatial.scene_analyzed("bedroom", ["bed"], "a dark bedroom", world_pose=pose)
        if step == 24:
            spatial.saw(["book"])


def test_a_node_is_an_anchor_with_its_place_and_what_was_seen_from_it() -> None:
    memory = Remembered(things=[thing(1, "mug", 1.0), thing(2, "book", 6.0)])
    walk(memory.spatial, world=True)
    store = store_of(memory)
    assert sorted(store.nodes) == sorted(memory.spatial.graph.anchors)
    first = store.get_node(0)
    assert (first.pose, first.tags, first.summary) == (Pose2D(0, 0, 0), ["kitchen", "mug"], "a bright kitchen")
    last = store.get_node(max(store.nodes))
    assert last.tags == ["bedroom", "book"]


def test_an_object_adds_its_label_to_the_nearest_node() -> None:
    memory = Remembered(things=[thing(1, "kettle", 0.1), thing(2, "lamp", 99.0)])
    walk(memory.spatial, world=True)
    store = store_of(memory)
    assert store.get_node(0).tags == ["kitchen", "kettle"]
    assert [node.node_id for node in store.all_nodes() if "lamp" in node.tags] == [max(store.nodes)]


def test_an_object_is_also_said_where_it_was_seen_from_near_by() -> None:
    memory = Remembered(things=[thing(1, "mug", 2.0)])
    walk(memory.spatial, world=True)
    assert [node.node_id for node in store_of(memory).all_nodes() if "mug" in node.tags] == [0, 4]
    memory.things = [thing(1, "mug", 4.0)]
    assert [node.node_id for node in store_of(memory).all_nodes() if "mug" in node.tags] == [8]


def test_a_label_is_told_on_its_own_storey_alone() -> None:
    memory = Remembered(things=[thing(1, "mug", 0.0, z=3.4), thing(2, "kettle", 0.0)])
    walk(memory.spatial, world=True)
    top = max(memory.spatial.graph.anchors)
    memory.space.storey_of_anchor = {top: 1}
    told = {node.node_id: set(node.tags[1:]) for node in store_of(memory).all_nodes()}
    assert {node: tags for node, tags in told.items() if tags} == {0: {"kettle"}, top: {"mug"}}
    memory.space.storey_of_anchor = {}
    assert not any("mug" in node.tags for node in store_of(memory).all_nodes())


def test_what_no_object_stands_for_is_not_said() -> None:
    memory = Remembered(things=[thing(1, "mug", 0.1, state="removed"), thing(2, "book", 0.1, state="missing")])
    walk(memory.spatial, world=True)
    assert all(len(node.tags) == 1 for node in store_of(memory).all_nodes())


def test_retrieval_runs_over_what_was_seen() -> None:
    memory = Remembered(things=[thing(1, "kettle", 0.1)])
    walk(memory.spatial, world=True)
    store = store_of(memory)
    assert retrieve_candidates("kettle", store, DeterministicEmbedder())[0]["node_id"] == 0
    assert store_of(memory).all_nodes() == store.all_nodes()


def test_an_empty_memory_gives_an_empty_store() -> None:
    assert len(store_of(Remembered(things=[thing(1, "mug", 0.0)]))) == 0


def test_the_ways_are_those_that_were_walked() -> None:
    memory = Remembered()
    walk(memory.spatial, world=True)
    store = store_of(memory)
    graph = NodeGraph.from_anchors(store, memory.spatial.graph)
    assert graph.neighbors(1) == (0, 2)
    path = graph.shortest_path(0, max(store.nodes))
    assert path is not None
    assert path.nodes == tuple(sorted(store.nodes))


def test_visits_are_joined_where_they_met() -> None:
    memory = Remembered()
    walk(memory.spatial, world=True)
    count = len(memory.spatial.graph.anchors)
    memory.spatial.begin_episode()
    walk(memory.spatial, world=True, start=5.6)
    store = store_of(memory)
    graph = NodeGraph.from_anchors(store, memory.spatial.graph)
    assert graph.shortest_path(0, max(store.nodes)) is not None
    apart = NodeGraph.from_anchors(store, memory.spatial.graph, same_spot=0.05)
    assert apart.shortest_path(0, count) is None


def test_anchors_without_a_pose_in_the_world_make_no_node() -> None:
    memory = Remembered()
    walk(memory.spatial, world=False)
    assert memory.spatial.graph.anchors
    assert len(store_of(memory)) == 0
