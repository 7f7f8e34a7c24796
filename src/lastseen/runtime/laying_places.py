"""Anchors and places from a stream of frames with poses, so that what was recorded can be searched by walking.

It is the second loop of section 5 for a robot that somebody else drives: poses become steps, labels are attached to
the anchor they were seen from, and the scene is named from the things seen since it was named last.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastseen.frame import Frame
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.posed_walk import PosedWalk
from lastseen.observation import Observation
from lastseen.planning.prompt import View
from lastseen.planning.scene import SceneAnalyzer
from lastseen.pose2d import ORIGIN, Pose2D


class PlaceLayer:
    """Feeds one spatial memory; one that was walked before knows the places and anchors it comes by again."""

    def __init__(self, spatial: SpatialMemory, analyzer: SceneAnalyzer) -> None:
        self.spatial, self.analyzer = spatial, analyzer
        self._walk = PosedWalk(spatial.settings)
        self._origin = ORIGIN
        self._seen: dict[str, float] = {}

    def see(self, frame: Frame, observations: Sequence[Observation]) -> None:
        """Take one frame: where it was taken, and what was seen in it."""
        world_pose = frame.floor_pose
        self.spatial.at_frame(frame.id, world_pose)
        labels = [each.label for each in observations if each.label is not None]
        for each in observations:
            if each.label is not None:
                self._seen[each.label] = max(self._seen.get(each.label, 0.0), each.labels[each.label])
        moved = self._walk.move_to(world_pose)
        if moved.began:
            self._origin = self.spatial.begin_walk(world_pose)
        self._name_the_scene(world_pose)
        for step in moved.steps:
            pose = step.world_pose.relative_to(self._origin)
            self.spatial.step(step.action, world_pose=step.world_pose, pose=pose)
            self._name_the_scene(step.world_pose)
        self.spatial.saw(labels)

    def _name_the_scene(self, world_pose: Pose2D) -> None:
        if not self.spatial.needs_scene_analysis:
            return
        told = tuple(sorted(self._seen.items(), key=lambda item: (-item[1], item[0])))
        self._seen = {}
        scene = self.analyzer.analyze([View(0.0, told)]).scene
        self.spatial.scene_analyzed(
            None if scene is None else scene.scene_type,
            () if scene is None else scene.objects,
            "" if scene is None else scene.description,
            world_pose=world_pose,
        )
