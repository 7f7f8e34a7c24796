from __future__ import annotations

from lastseen.action import Action
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import Pose2D
from lastseen.runtime.anchor_memory import AnchorMemory

F = Action.FORWARD


def walked(*, world: bool = False) -> tuple[SpatialMemory, AnchorMemory]:
    spatial = SpatialMemory()
    memory = AnchorMemory(spatial, SemanticMemoryStore(), world=world)
    spatial.scene_analyzed("kitchen", ["stove"], "A kitchen.", world_pose=Pose2D(5, 5, 0))
    memory.sync()
    for step in range(1, 5):
        spatial.step(F, world_pose=Pose2D(5 + 0.25 * step, 5, 0))
        memory.sync()
    return spatial, memory


def test_every_anchor_becomes_a_node_once() -> None:
    spatial, memory = walked()
    memory.sync()
    assert len(memory.store) == len(spatial.graph.anchors) == 3
    assert memory.current_node_id == 3


def test_a_node_grows_with_what_is_seen_from_its_anchor() -> None:
    spatial, memory = walked()
    spatial.saw(["mug"])
    memory.sync()
    assert memory.store.get_node(3).tags == ["kitchen", "mug"]
    assert memory.store.get_node(1).tags == ["kitchen"]


def test_ways_are_those_that_were_travelled() -> None:
    _, memory = walked()
    path = memory.shortest_path(1, 3)
    assert path is not None
    assert (path.nodes, path.length) == ((1, 2, 3), 1.0)
    assert memory.shortest_path(1, 3, closed=lambda node: node.node_id == 2) is None


def test_world_nodes_outlive_the_episode_and_are_joined_by_nearness() -> None:
    spatial, memory = walked(world=True)
    spatial.begin_episode()
    again = AnchorMemory(spatial, memory.store, world=True)
    spatial.scene_analyzed("kitchen", world_pose=Pose2D(5, 6, 0))
    again.sync()
    assert len(memory.store) == 4
    assert again.pose_of(4) == Pose2D(5, 6, 0)
    assert again.shortest_path(4, 1) is not None
    assert again.pose_of(99) is None
