"""The map of an earlier visit, for a search that starts somewhere in it: nodes, ways between them, and the pose.

Dead reckoning starts at zero in every episode, so the old map is of use only with a start pose in it. Whoever
localizes the robot gives that pose; from there the actions carry it along, errors included.
"""

from __future__ import annotations

import heapq

from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.planning.directions import Where, whole_degrees
from lastseen.planning.node_graph import NodeGraph
from lastseen.pose2d import Pose2D

_ENTRY = 1.5
"""Metres within which the robot can step onto a way of the old map: the localization radius of section 15."""
_ENTERED = -1
_HOP = 1.5
"""Metres of way that are taken as one direction: farther on, a way may have turned a corner."""


class KnownMap:
    """Nodes in the frame of the earlier visit and the robot's start pose in that frame."""

    def __init__(self, store: SemanticMemoryStore, ways: NodeGraph, start: Pose2D) -> None:
        self.store, self.ways, self.start = store, ways, start
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
        """For every node the metres of way from here, and the angle in degrees at which that way begins.

        A way is entered at any node close by; where there is none, at the nearest node in a straight line.
        """
        nodes = self.ways.nodes
        if not nodes:
            return {}
        entries = sorted((node.pose.distance_to(here), node_id) for node_id, node in nodes.items())
        near = [entry for entry in entries if entry[0] <= _ENTRY] or entries[:1]
        queue = [(distance, node_id, _ENTERED) for distance, node_id in near]
        length: dict[int, float] = {}
        hop: dict[int, int] = {}
        while queue:
            so_far, node_id, before = heapq.heappop(queue)
            if node_id in length:
                continue
            length[node_id] = so_far
            # the first direction is that of the last node before the hop's length is used up
            hop[node_id] = node_id if before == _ENTERED or so_far <= _HOP else hop[before]
            for other in self.ways.neighbors(node_id):
                if other not in length:
                    step = nodes[node_id].pose.distance_to(nodes[other].pose)
                    heapq.heappush(queue, (so_far + step, other, node_id))
        return {
            node_id: {
                "distance": round(metres, 2),
                "angle": whole_degrees(here.bearing_to(nodes[hop[node_id]].pose)),
            }
            for node_id, metres in sorted(length.items())
        }
