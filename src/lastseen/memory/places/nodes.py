"""Anchors as memory nodes: what retrieval can search and a planner can be sent to."""

from __future__ import annotations

from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.places.graph import PlaceGraph


def memory_nodes(graph: PlaceGraph, *, world: bool = False) -> list[MemoryNode]:
    """One node per anchor, by id: its pose, its place type and the labels seen from it, its place's description.

    With ``world`` the poses are those the source gave, which mean the same in every episode; anchors made without
    one are left out.
    """
    nodes: list[MemoryNode] = []
    for anchor in graph.anchors.values():
        pose = anchor.world_pose if world else anchor.pose
        if pose is None:
            continue
        place = graph.place(anchor.place_id)
        tags = [place.scene_type, *sorted(anchor.labels)]
        nodes.append(MemoryNode(anchor.anchor_id, pose, None, tags, place.semantic_description))
    return nodes
