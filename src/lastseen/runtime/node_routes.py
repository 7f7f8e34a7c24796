"""Walking to remembered nodes: which node the robot is at, and the points to pass on a checked way.

Poses are in the source's world frame, the one frame that means the same on every visit.
"""

from __future__ import annotations

from lastseen.config.seeking import Search
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.planning.node_graph import Path
from lastseen.pose2d import Pose2D


class NodeRoutes:
    """The nodes of one store as places to be at and to walk to."""

    def __init__(self, store: SemanticMemoryStore, settings: Search | None = None) -> None:
        self.store = store
        self.settings = settings or Search()

    def node_at(self, pose: Pose2D) -> int | None:
        """The nearest node (ties: the lower id), None where none is near enough to walk to in a straight line."""
        near = [
            (distance, node_id)
            for node_id, node in self.store.nodes.items()
            if (distance := node.pose.distance_to(pose)) <= self.settings.node_reach
        ]
        return min(near)[1] if near else None

    def waypoints(self, goal: int, path: Path | None) -> list[Pose2D]:
        """The poses to pass in order, the goal's last; nodes closer together than a stride are passed over."""
        nodes = [self.store.get_node(each).pose for each in (path.nodes if path is not None else (goal,))]
        kept: list[Pose2D] = []
        last = nodes[0]
        for pose in nodes[:-1]:
            if last.distance_to(pose) >= self.settings.waypoint_spacing:
                kept.append(pose)
                last = pose
        return [*kept, nodes[-1]]
