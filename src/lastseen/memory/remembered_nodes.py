"""Nodes from what the robot really saw: anchors, places and objects become the memory that a search retrieves from.

A node is an anchor: one can walk to it. Its words are the kind of place, what was seen from there, and the objects
that stand nearest to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.objects import ObjectState
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.nodes import memory_nodes
from lastseen.pose2d import Pose2D

_GONE = frozenset({"missing", "removed"})


class RemembersPlaces(Protocol):
    """What a memory must hold to be searched by nodes."""

    @property
    def spatial(self) -> SpatialMemory:
        """The places and anchors."""
        ...

    def objects(
        self, label: str | None = None, *, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """The objects, in the order of their ids."""
        ...


def nodes_from_memory(memory: RemembersPlaces) -> SemanticMemoryStore:
    """A store with one node per anchor; its ids are the anchors'.

    Where the source gave poses, nodes are in the world frame, and each object that is there adds its label to the
    nearest one; a label that only objects seen to be gone have is left out. Without poses, nodes are those of the
    running episode in its dead-reckoned frame, and labels are those seen while the anchor was current.
    """
    spatial = memory.spatial
    nodes = memory_nodes(spatial.graph, world=True)
    objects: list[ObjectState] = []
    if nodes:
        objects = memory.objects(include_absent=True)
    else:
        # dead-reckoned poses of another episode mean another place, and objects have none at all
        anchors = spatial.graph.anchors
        nodes = [node for node in memory_nodes(spatial.graph) if anchors[node.node_id].episode == spatial.episode]
    present = [each for each in objects if each.state not in _GONE]
    gone = _labels(each for each in objects if each.state in _GONE) - _labels(present)
    nearby = _nearest_labels(nodes, present)
    store = SemanticMemoryStore()
    for node in nodes:
        scene_type, *seen = node.tags
        labels = sorted((set(seen) | nearby.get(node.node_id, set())) - gone)
        store.add_node(node.pose, None, [scene_type, *labels], node.summary, node_id=node.node_id)
    return store


def _labels(objects: Iterable[ObjectState]) -> set[str]:
    return {each.label for each in objects if each.label is not None}


def _nearest_labels(nodes: list[MemoryNode], objects: Iterable[ObjectState]) -> dict[int, set[str]]:
    """The labels of the objects that stand nearest to each node; ties go to the lower id."""
    nearest: dict[int, set[str]] = {}
    for each in objects:
        if each.label is not None:
            there = Pose2D(float(each.xyz_world[0]), float(each.xyz_world[1]), 0.0)
            node = min(nodes, key=lambda node: (node.pose.distance_to(there), node.node_id))
            nearest.setdefault(node.node_id, set()).add(each.label)
    return nearest
