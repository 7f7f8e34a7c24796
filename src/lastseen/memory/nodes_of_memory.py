"""The nodes that a search retrieves from, made from what the robot really saw: one per anchor it can walk to.

A node's words are the kind of its place, what stands near it, and what was seen from there. ``NodesOfMemory`` keeps
a store of them up to date while the memory grows; unchanged nodes stay the same objects, so that nothing is embedded
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.pose2d import Pose2D

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory


class NodesOfMemory:
    """A node store that follows a memory; node ids are anchor ids, poses are in the world frame.

    Anchors that were made without such a pose are left out: poses of two episodes mean nothing to each other.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.store = SemanticMemoryStore()
        self.refresh()

    def refresh(self) -> None:
        """Bring the store up to what the memory holds now."""
        graph = self._memory.spatial.graph
        anchors = [(one, one.world_pose) for one in graph.anchors.values() if one.world_pose is not None]
        told = self._labels([(one.anchor_id, pose, one.labels) for one, pose in anchors])
        for (anchor, pose), labels in zip(anchors, told, strict=True):
            place = graph.place(anchor.place_id)
            tags = [place.scene_type, *sorted(labels)]
            node = MemoryNode(anchor.anchor_id, pose, None, tags, place.semantic_description)
            known = self.store.nodes.get(node.node_id)
            if known is None:
                self.store.add_node(node.pose, None, tags, node.summary, node_id=node.node_id)
            elif known != node:
                self.store.replace_node(node)

    def _labels(self, nodes: Sequence[tuple[int, Pose2D, set[str]]]) -> list[set[str]]:
        """The labels that each node, given by id, pose and what was seen from it, is told with.

        Each object adds its label to the node nearest to it, and to those near it from which that label was seen, all
        of its own storey: one on a storey that has no node is told at none.
        What no object stands for (a false detection, a thing seen to be gone) is not said.
        """
        labels: list[set[str]] = [set() for _ in nodes]
        named = [(each.label, each.xyz_world) for each in self._memory.states() if each.label is not None]
        if not nodes or not named:
            return labels
        space, near = self._memory.space, self._memory.spatial.settings.search.node_reach
        spots = np.array([(pose.x, pose.y) for _, pose, _ in nodes])
        node_storeys = np.array([space.storey_of_anchor.get(node_id, 0) for node_id, _, _ in nodes])
        storeys = space.storeys.numbers([float(position[2]) for _, position in named])
        for (label, position), storey in zip(named, storeys.tolist(), strict=True):
            apart = np.where(node_storeys == storey, np.hypot(*(spots - position[:2]).T), np.inf)
            nearest = int(np.argmin(apart))
            if apart[nearest] == np.inf:
                continue
            labels[nearest].add(label)
            for index in np.flatnonzero(apart <= near).tolist():
                if label in nodes[index][2]:
                    labels[index].add(label)
        return labels
