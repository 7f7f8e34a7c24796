"""The map of an earlier visit, for a search that starts somewhere in it: nodes, ways between them, and the pose.

Dead reckoning starts at zero in every episode, so the old map is of use only with a start pose in it. Whoever
localizes the robot gives that pose; from there the actions carry it along, errors included.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from lastseen.config.seeking import Context
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.planning.directions import Where
from lastseen.planning.node_graph import NodeGraph
from lastseen.planning.ways import straightened, told_way
from lastseen.pose2d import Pose2D

_ENTRY = 1.5
"""Metres within which the robot can step onto a way of the old map: the localization radius of section 15."""
_ENTERED = -1
_OFF = 0.3
"""Metres that a straight stretch may lie off the nodes it stands for: less than half a doorway."""


class KnownMap:
    """Nodes in the frame of the earlier visit and the robot's start pose in that frame."""

    def __init__(
        self, store: SemanticMemoryStore, ways: NodeGraph, start: Pose2D, settings: Context | None = None
    ) -> None:
        self.store, self.ways, self.start = store, ways, start
        self.settings = settings or Context()
        self._looked: list[Pose2D] = []

    def here(self, moved: Pose2D) -> Pose2D:
        """Where the robot is in the old map after a motion since the start."""
        return self.start.compose(moved)

    def looked_around(self, here: Pose2D) -> None:
        """A full turn was made here: what is at the nodes around would have been seen."""
        self._looked.append(here)

    def looked_at(self, *, within: float) -> set[int]:
        """Nodes from about which the robot has looked around in this search."""
        return {
            node_id
            for node_id, node in self.store.nodes.items()
            if any(node.pose.distance_to(pose) <= within for pose in self._looked)
        }

    def ways_from(self, here: Pose2D) -> dict[int, Where]:
        """For every node the metres of way from here, the angle at which that way begins, and its stretches.

        A way is entered at any node close by; where there is none, at the nearest node in a straight line.
        """
        nodes = self.ways.nodes
        if not nodes:
            return {}
        entries = sorted((node.pose.distance_to(here), node_id) for node_id, node in nodes.items())
        near = [entry for entry in entries if entry[0] <= _ENTRY] or entries[:1]
        queue = [(distance, node_id, _ENTERED) for distance, node_id in near]
        length: dict[int, float] = {}
        came: dict[int, int] = {}
        while queue:
            so_far, node_id, before = heapq.heappop(queue)
            if node_id in length:
                continue
            length[node_id], came[node_id] = so_far, before
            for other in self.ways.neighbors(node_id):
                if other not in length:
                    step = nodes[node_id].pose.distance_to(nodes[other].pose)
                    heapq.heappush(queue, (so_far + step, other, node_id))
        return {node_id: self._where(here, node_id, metres, came) for node_id, metres in sorted(length.items())}

    def _where(self, here: Pose2D, node_id: int, metres: float, came: Mapping[int, int]) -> Where:
        passed = [node_id]
        while came[passed[-1]] != _ENTERED:
            passed.append(came[passed[-1]])
        poses = [here, *(self.ways.nodes[each].pose for each in reversed(passed))]
        stretches = straightened([(pose.x, pose.y) for pose in poses], yaw=here.yaw, off=_OFF)
        way = told_way(stretches, longest=self.settings.max_way)
        return {"distance": round(metres, 2), "angle": way[0][1], "way": way}
