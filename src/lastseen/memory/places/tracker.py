"""Anchors and places from what a memory observes: each frame becomes the steps that the place rules count in.

A robot that says what it did is followed action by action, in the dead-reckoned frame. For everyone else (a
recording, a robot that somebody drives) the steps follow from the frames' poses.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from lastseen.action import Action
from lastseen.frame import Frame
from lastseen.memory.places.branch import is_branch
from lastseen.memory.places.events import SpatialEvent, event
from lastseen.memory.places.posed_walk import PosedWalk
from lastseen.memory.places.spatial_memory import SpatialMemory, plain_label
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.protocols import Scene, SceneAnalyzer

Seen = Sequence[tuple[str, float]]
"""Labels with their scores, the surest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a robot did to come to a frame; ``action=None`` begins a walk there.

    ``collided`` tells that a forward was blocked, ``panorama`` that the turn belongs to a look around.
    """

    action: Action | None = None
    collided: bool = False
    panorama: bool = False


class PlaceTracker:
    """Feeds one spatial memory frame by frame; ``analyzer`` names the scenes, None leaves them unknown."""

    def __init__(self, spatial: SpatialMemory, analyzer: SceneAnalyzer | None = None) -> None:
        self.spatial, self.analyzer = spatial, analyzer
        self._walk = PosedWalk(spatial.settings)
        self._origin = ORIGIN
        self._seen: dict[str, float] = {}
        self._answer: tuple[int, Future[Scene | None]] | None = None

    def observe(self, frame: Frame, seen: Seen, step: Step | None = None) -> list[SpatialEvent]:
        """Take one frame: where it was taken, what was seen in it, and what led to it where that is known.

        Returns what happened to places and anchors, in the order it happened.
        """
        world_pose = frame.floor_pose
        self.spatial.at_frame(frame.id, world_pose)
        labels = [label for label, _ in seen]
        if step is not None:
            events = self._follow_action(frame, world_pose, step)
            self.spatial.saw(labels)
            return events + self._take_answer(world_pose) + self._analyze(frame, seen, world_pose)
        for label, score in seen:
            self._seen[label] = max(self._seen.get(label, 0.0), score)
        events = self._follow_pose(frame, world_pose)
        self.spatial.saw(labels)
        return events

    def forget_labels(self, labels: Collection[str]) -> None:
        """Let the scene not be named by these any more."""
        self._seen = {label: score for label, score in self._seen.items() if plain_label(label) not in labels}

    def end_walk(self) -> None:
        """Let the next frame begin a walk: no way leads to it from here."""
        self._walk.forget()
        self.spatial.retire_frames()

    def _follow_action(self, frame: Frame, world_pose: Pose2D, step: Step) -> list[SpatialEvent]:
        self._walk.stand_at(world_pose)
        if step.action is None:
            self._origin = self.spatial.begin_walk(world_pose)
            return []
        settings = self.spatial.settings
        branch = settings.places.detect_branches and is_branch(
            frame.depth, frame.camera_of_depth, settings=settings.branches
        )
        return self.spatial.step(
            step.action, collided=step.collided, branch=branch, panorama=step.panorama, world_pose=world_pose
        )

    def _follow_pose(self, frame: Frame, world_pose: Pose2D) -> list[SpatialEvent]:
        moved = self._walk.move_to(world_pose)
        if moved.began:
            self._origin = self.spatial.begin_walk(world_pose)
        events = self._name_by_all_seen(frame, world_pose)
        for step in moved.steps:
            pose = step.world_pose.relative_to(self._origin)
            events += self.spatial.step(step.action, world_pose=step.world_pose, pose=pose)
            events += self._name_by_all_seen(frame, step.world_pose)
        return events

    def _name_by_all_seen(self, frame: Frame, world_pose: Pose2D) -> list[SpatialEvent]:
        """Have the scene named by all that was seen since the last time: frames come closer together than steps."""
        events = self._take_answer(world_pose)
        if not self.spatial.needs_scene_analysis:
            return events
        told = sorted(self._seen.items(), key=lambda item: (-item[1], item[0]))
        self._seen = {}
        return events + self._analyze(frame, told, world_pose)

    def _analyze(self, frame: Frame, seen: Seen, world_pose: Pose2D) -> list[SpatialEvent]:
        if not self.spatial.needs_scene_analysis:
            return []
        if self.analyzer is None:
            return self.spatial.scene_analyzed(None, world_pose=world_pose)
        self.spatial.scene_asked()
        self._answer = frame.id, self.analyzer.submit(frame, seen)
        return self._take_answer(world_pose)

    def _take_answer(self, world_pose: Pose2D) -> list[SpatialEvent]:
        """Take the analyzer's answer into account if it came; it applies from this frame on."""
        if self._answer is None or not self._answer[1].done():
            return []
        (frame_id, answer), self._answer = self._answer, None
        scene = answer.result()
        told = event(
            "scene_analyzed",
            self.spatial.step_id,
            frame_id=frame_id,
            scene_type=None if scene is None else scene.scene_type,
            objects=[] if scene is None else list(scene.objects),
            description="" if scene is None else scene.description,
        )
        return [
            told,
            *self.spatial.scene_analyzed(
                None if scene is None else scene.scene_type,
                () if scene is None else scene.objects,
                "" if scene is None else scene.description,
                world_pose=world_pose,
            ),
        ]
