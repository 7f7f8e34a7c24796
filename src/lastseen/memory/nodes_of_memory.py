"""The nodes that a search retrieves from, made from what the robot really saw: one per anchor it can walk to.

A node's words are the kind of its place, what stands near it, and what was seen from there. ``NodesOfMemory`` keeps
a store of them up to date while the memory grows; unchanged nodes stay the same objects, so that nothing is embedded
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.objects import ObjectState
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.graph import memory_nodes


class NumbersStoreys(Protocol):
    """The storeys of a building."""

    def numbers(self, heights: NDArray[np.float64], /) -> NDArray[np.int64]:
        """The number of the storey that things at these heights stand on."""


class KnowsStoreys(Protocol):
    """Which anchor and which height is on which storey."""

    storey_of_anchor: dict[int, int]

    @property
    def storeys(self) -> NumbersStoreys:
        """The storeys."""


class RemembersPlaces(Protocol):
    """What a memory must hold to be searched by nodes."""

    @property
    def spatial(self) -> SpatialMemory:
        """The places and anchors."""

    @property
    def space(self) -> KnowsStoreys:
        """The storeys that anchors and things are on."""

    def states(self) -> list[ObjectState]:
        """The confirmed objects, in the order of their ids."""


class NodesOfMemory:
    """A node store that follows a memory; node ids are anchor ids, poses are in the world frame."""

    def __init__(self, memory: RemembersPlaces) -> None:
        self._memory = memory
        self.store = SemanticMemoryStore()
        self.refresh()

    def refresh(self) -> None:
        """Bring the store up to what the memory holds now.

        Each object adds its label to the node nearest to it, and to those near it from which that label was seen, all
        of its own storey: one on a storey that has no node is told at none.
        What no object stands for (a false detection, a thing seen to be gone) is not said.
        """
        spatial = self._memory.spatial
        nodes = memory_nodes(spatial.graph, world=True)
        near = spatial.settings.search.node_reach
        labels = _labels_of_objects(nodes, self._memory.states(), self._memory.space, near=near)
        for node in nodes:
            tags = [node.tags[0], *sorted(labels[node.node_id])]
            known = self.store.nodes.get(node.node_id)
            if known is None:
                self.store.add_node(node.pose, None, tags, node.summary, node_id=node.node_id)
            elif (known.pose, known.tags, known.summary) != (node.pose, tags, node.summary):
                self.store.replace_node(MemoryNode(node.node_id, node.pose, None, tags, node.summary))


def _labels_of_objects(
    nodes: Sequence[MemoryNode], objects: Sequence[ObjectState], space: KnowsStoreys, *, near: float
) -> dict[int, set[str]]:
    """The labels of objects by the node they are told at."""
    labels: dict[int, set[str]] = {node.node_id: set() for node in nodes}
    named = [(each.label, each.xyz_world) for each in objects if each.label is not None]
    if not nodes or not named:
        return labels
    spots = np.array([(node.pose.x, node.pose.y) for node in nodes])
    seen_from = [set(node.tags[1:]) for node in nodes]
    node_storeys = np.array([space.storey_of_anchor.get(node.node_id, 0) for node in nodes])
    storeys = space.storeys.numbers(np.array([position[2] for _, position in named]))
    for (label, position), storey in zip(named, storeys.tolist(), strict=True):
        apart = np.where(node_storeys == storey, np.hypot(*(spots - position[:2]).T), np.inf)
        nearest = int(np.argmin(apart))
        if apart[nearest] == np.inf:
            continue
        labels[nodes[nearest].node_id].add(label)
        for index in np.flatnonzero(apart <= near).tolist():
            if label in seen_from[index]:
                labels[nodes[index].node_id].add(label)
    return labels
