"""Nodes from what the robot really saw: anchors, places and objects become the memory that a search retrieves from.

A node is an anchor: one can walk to it. Its words are the kind of place, what was seen from there, and the objects
that stand nearest to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.objects import ObjectState
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.nodes import memory_nodes
from lastseen.pose2d import Pose2D


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

    Where the source gave poses, nodes are in the world frame and their labels are those of remembered objects: each
    adds its own to the nearest node, and to those near it from which that label was seen. What no object stands for
    (a false detection, a thing seen to be gone) is not said. Without poses, nodes are those of the running episode
    in its dead-reckoned frame, and labels are those seen while the anchor was current.
    """
    spatial = memory.spatial
    nodes = memory_nodes(spatial.graph, world=True)
    if nodes:
        nodes = _with_objects(nodes, memory.objects(), near=spatial.settings.search.node_reach)
    else:
        # dead-reckoned poses of another episode mean another place, and objects have none at all
        anchors = spatial.graph.anchors
        nodes = [node for node in memory_nodes(spatial.graph) if anchors[node.node_id].episode == spatial.episode]
    store = SemanticMemoryStore()
    for node in nodes:
        store.add_node(node.pose, None, node.tags, node.summary, node_id=node.node_id)
    return store


def _with_objects(nodes: list[MemoryNode], objects: list[ObjectState], *, near: float) -> list[MemoryNode]:
    """The nodes with the labels of objects in the place of those that were merely detected from them."""
    labels: dict[int, set[str]] = {node.node_id: set() for node in nodes}
    for each in objects:
        if each.label is None:
            continue
        there = Pose2D(float(each.xyz_world[0]), float(each.xyz_world[1]), 0.0)
        apart = sorted((node.pose.distance_to(there), node.node_id) for node in nodes)
        seen_from = {node.node_id for node in nodes if each.label in node.tags[1:]}
        labels[apart[0][1]].add(each.label)
        for distance, node_id in apart:
            if distance <= near and node_id in seen_from:
                labels[node_id].add(each.label)
    return [replace(node, tags=[node.tags[0], *sorted(labels[node.node_id])]) for node in nodes]
