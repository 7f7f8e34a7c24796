from __future__ import annotations

from lastseen.action import Action
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.graph import memory_nodes
from lastseen.pose2d import Pose2D


def walked() -> SpatialMemory:
    memory = SpatialMemory()
    memory.scene_analyzed("Kitchen.", ["stove"], "A small kitchen.", world_pose=Pose2D(5, 5, 0))
    memory.saw(["stove", "mug"])
    memory.step(Action.FORWARD)
    memory.step(Action.FORWARD)
    return memory


def test_an_anchor_becomes_a_node_with_its_place_and_what_was_seen_from_it() -> None:
    first, second = memory_nodes(walked().graph)
    assert (first.node_id, first.pose, first.tags) == (0, Pose2D(0, 0, 0), ["kitchen", "mug", "stove"])
    assert first.summary == second.summary == "A small kitchen."
    assert (second.pose, second.tags) == (Pose2D(0.5, 0, 0), ["kitchen"])


def test_world_nodes_are_those_whose_source_gave_a_pose() -> None:
    (only,) = memory_nodes(walked().graph, world=True)
    assert (only.node_id, only.pose) == (0, Pose2D(5, 5, 0))
