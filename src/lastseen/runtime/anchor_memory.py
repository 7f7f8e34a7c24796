"""Anchors kept as memory nodes while a robot walks, so that retrieval and planning share one memory.

The nodes are those that replace the demo store: made where the robot was, from what it saw there.
"""

from __future__ import annotations

from collections.abc import Callable

from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.nodes import memory_nodes
from lastseen.planning.node_graph import NodeGraph, Path
from lastseen.pose2d import Pose2D


class AnchorMemory:
    """Puts the anchors of a spatial memory into a node store, and knows the ways between them.

    With ``world`` the nodes carry world poses and outlive the episode; what was in the store before is then joined
    by nearness, as its travelled edges are not known. Without, poses are dead-reckoned and edges those travelled.
    """

    def __init__(self, spatial: SpatialMemory, store: SemanticMemoryStore, *, world: bool = False) -> None:
        self.spatial = spatial
        self.store = store
        self.world = world
        self._node_of: dict[int, int] = {}

    def sync(self) -> None:
        """Bring the store up to date with the anchors of this episode."""
        for made in memory_nodes(self.spatial.graph, world=self.world):
            anchor = self.spatial.graph.anchor(made.node_id)
            if anchor.episode != self.spatial.episode:
                continue
            node_id = self._node_of.get(anchor.anchor_id)
            if node_id is None:
                self._node_of[anchor.anchor_id] = self.store.add_node(made.pose, None, made.tags, made.summary)
                continue
            node = self.store.nodes[node_id]
            if (node.tags, node.summary) != (made.tags, made.summary):
                self.store.replace_node(MemoryNode(node_id, made.pose, None, made.tags, made.summary))

    @property
    def current_node_id(self) -> int | None:
        """The node of the current anchor; None where it has none."""
        anchor = self.spatial.current_anchor_id
        return None if anchor is None else self._node_of.get(anchor)

    def pose_of(self, node_id: int) -> Pose2D | None:
        """Where a node is; None for one that is not in the store."""
        node = self.store.nodes.get(node_id)
        return None if node is None else node.pose

    def shortest_path(
        self, start: int, goal: int, *, closed: Callable[[MemoryNode], bool] = lambda _: False
    ) -> Path | None:
        """The shortest known way that touches no closed node, or None."""
        return self._graph().shortest_path(start, goal, closed=closed)

    def _graph(self) -> NodeGraph:
        if self.world:
            return NodeGraph.from_store(self.store, link_distance=self.spatial.settings.search.link_distance)
        anchors = self.spatial.graph.anchors
        edges = [
            (node_id, self._node_of[other])
            for anchor_id, node_id in self._node_of.items()
            for other in anchors[anchor_id].neighbors
            if other in self._node_of
        ]
        return NodeGraph(self.store.nodes, edges)
