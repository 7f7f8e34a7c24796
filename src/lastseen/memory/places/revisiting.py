"""Coming back to a map that was walked before: which anchors and places are those of the earlier walks.

Dead reckoning alone merges nothing. A robot whose poses are given in one map is surer: an anchor at the same spot is
the same anchor, so that a home walked every day does not grow another copy of itself every day.
"""

from __future__ import annotations

from lastseen.memory.places.anchor import Anchor
from lastseen.memory.places.graph import PlaceGraph
from lastseen.pose2d import Pose2D


class EarlierWalks:
    """The anchors of a graph that were made before the running walk, in the frame of its episode."""

    def __init__(self, graph: PlaceGraph, *, episode: int, count: int = 0) -> None:
        self._graph, self._episode = graph, episode
        self.count = count
        """How many of the graph's anchors are earlier ones: those with the lowest ids."""

    def origin(self) -> Pose2D | None:
        """Where the episode's (0, 0, 0) lies in the world; None where no anchor says so."""
        for anchor in reversed(self._graph.anchors.values()):
            if anchor.episode == self._episode and anchor.world_pose is not None:
                return anchor.world_pose.compose(anchor.pose.inverse())
        return None

    def near(self, world_pose: Pose2D | None, *, radius: float) -> list[tuple[float, Anchor]]:
        """The anchors within a radius with their distances, nearest first; none without a pose."""
        if world_pose is None or not self.count:
            return []
        found = [
            (anchor.world_pose.distance_to(world_pose), anchor)
            for anchor in self._graph.anchors.values()
            if anchor.anchor_id < self.count and anchor.episode == self._episode and anchor.world_pose is not None
        ]
        return sorted((pair for pair in found if pair[0] <= radius), key=lambda pair: (pair[0], pair[1].anchor_id))
