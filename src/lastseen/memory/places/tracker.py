"""Anchors and places from what a memory observes: each frame becomes the steps that the place rules count in.

A robot that says what it did is followed action by action, in the dead-reckoned frame. For everyone else (a
recording, a robot that somebody drives) the steps follow from the frames' poses. Where the pose jumps, the walk ends
and another begins: no edge is made that was not travelled; see docs/places.md.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import LastseenError
from lastseen.frame import Frame
from lastseen.memory.places.anchor import pose_to_list
from lastseen.memory.places.branch import is_branch
from lastseen.memory.places.events import SpatialEvent, event
from lastseen.memory.places.graph import plain_label
from lastseen.memory.places.spatial_memory import SpatialMemory
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle
from lastseen.protocols import Scene, SceneAnalyzer

_log = logging.getLogger(__name__)

LONGEST_STEP = 2.0
"""Metres between two frames of a recording: farther is a lost pose or a cut, and no way that was walked."""

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


@dataclass(slots=True)
class _Question:
    """A scene that an analyzer was asked to name; ``withdrawn`` when the walk it belongs to has ended."""

    frame_id: int
    answer: Future[Scene | None]
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class PosedStep:
    """One step: what an agent would have done, and where in the world it led."""

    action: Action
    world_pose: Pose2D


class PosedWalk:
    """The steps between the poses of a recording: a forward per step length, a turn per turn angle.

    Small motions add up until they are a step. ``pose`` is where the last step ended; without one the next pose
    begins a walk.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.pose: Pose2D | None = None

    def move_to(self, world_pose: Pose2D) -> list[PosedStep] | None:
        """The steps that lead here from the last pose at which a step ended; None where another walk begins here."""
        motion = self.settings.dead_reckoning
        last = self.pose
        if last is None or last.distance_to(world_pose) > LONGEST_STEP:
            self.pose = world_pose
            return None
        steps: list[PosedStep] = []
        turned = wrap_angle(world_pose.yaw - last.yaw)
        if abs(turned) >= math.radians(motion.turn_angle):
            action = Action.TURN_LEFT if turned > 0 else Action.TURN_RIGHT
            steps.append(PosedStep(action, Pose2D(last.x, last.y, world_pose.yaw)))
        gap = last.distance_to(world_pose)
        count = int(gap / motion.forward_step + 1e-9) if motion.forward_step > 0 else 0
        for number in range(1, count + 1):
            share = number / count
            between = Pose2D(
                last.x + share * (world_pose.x - last.x),
                last.y + share * (world_pose.y - last.y),
                world_pose.yaw,
            )
            steps.append(PosedStep(Action.FORWARD, between))
        if steps:
            self.pose = steps[-1].world_pose
        return steps


class PlaceTracker:
    """Feeds one spatial memory frame by frame; ``analyzer`` names the scenes, None leaves them unknown."""

    def __init__(self, spatial: SpatialMemory, analyzer: SceneAnalyzer | None = None) -> None:
        self.spatial, self.analyzer = spatial, analyzer
        self._walk = PosedWalk(spatial.settings)
        self._origin = ORIGIN
        self._seen: dict[str, float] = {}
        self._question: _Question | None = None
        self._frame_id: int | None = None
        self._resumed = False
        self._failing = False

    def observe(self, frame: Frame, seen: Seen, step: Step | None = None) -> list[SpatialEvent]:
        """Take one frame: where it was taken, what was seen in it, and what led to it where that is known.

        Returns what happened to places and anchors, in the order it happened.
        """
        if self._resumed and self._frame_id is not None and frame.id <= self._frame_id:
            # ids that start again after a restart are those of another recording or another run
            self.end_walk()
        self._resumed, self._frame_id = False, frame.id
        world_pose = frame.floor_pose
        self.spatial.at_frame(frame.id, world_pose)
        labels = [label for label, _ in seen]
        if step is not None:
            events = self._follow_action(frame, world_pose, step)
            self.spatial.saw(labels)
            events += self._take_answer(world_pose) + self._analyze(frame, seen, world_pose)
            return events + self.spatial.arrive(world_pose)
        events = self._follow_pose(frame, seen, world_pose) + self.spatial.arrive(world_pose)
        self.spatial.saw(labels)
        return events

    def forget_labels(self, labels: Collection[str]) -> None:
        """Let the scene not be named by these any more."""
        self._seen = {label: score for label, score in self._seen.items() if plain_label(label) not in labels}

    def end_walk(self) -> None:
        """Let the next frame begin a walk: no way leads to it from here."""
        self._walk.pose = None
        self._seen = {}
        self.spatial.retire_frames()

    def to_dict(self) -> dict[str, Any]:
        """What a tracker of the same spatial memory needs to go on with the walk, in plain JSON values."""
        return {
            "frame_id": self._frame_id,
            "pose": None if self._walk.pose is None else pose_to_list(self._walk.pose),
            "origin": pose_to_list(self._origin),
            "seen": dict(sorted(self._seen.items())),
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take up the walk that ``to_dict`` wrote, unless the ids of the frames start again."""
        self._frame_id, pose = values["frame_id"], values["pose"]
        if pose is not None:
            self._walk.pose = Pose2D(*pose)
        self._origin = Pose2D(*values["origin"])
        self._seen = {str(label): float(score) for label, score in values["seen"].items()}
        self._resumed = True

    def _follow_action(self, frame: Frame, world_pose: Pose2D, step: Step) -> list[SpatialEvent]:
        self._walk.pose = world_pose
        if step.action is None:
            self._begin_walk(world_pose)
            return []
        settings = self.spatial.settings
        branch = settings.places.detect_branches and is_branch(frame.depth, frame.camera_of_depth)
        return self.spatial.step(
            step.action, collided=step.collided, branch=branch, panorama=step.panorama, world_pose=world_pose
        )

    def _follow_pose(self, frame: Frame, seen: Seen, world_pose: Pose2D) -> list[SpatialEvent]:
        steps = self._walk.move_to(world_pose)
        if steps is None:
            self._begin_walk(world_pose)
        for label, score in seen:
            self._seen[label] = max(self._seen.get(label, 0.0), score)
        events = self._name_by_all_seen(frame, world_pose)
        for step in steps or ():
            pose = step.world_pose.relative_to(self._origin)
            events += self.spatial.step(step.action, world_pose=step.world_pose, pose=pose)
            events += self._name_by_all_seen(frame, step.world_pose)
        return events

    def _begin_walk(self, world_pose: Pose2D) -> None:
        self._seen = {}
        self._origin = self.spatial.begin_walk(world_pose)
        if self._question is not None:
            # what was seen in the walk before names nothing in this one; the analyzer is busy with it all the same
            self._question.withdrawn = True
            self.spatial.awaits_scene = True

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
        answer: Future[Scene | None]
        try:
            answer = self.analyzer.submit(frame, seen)
        except LastseenError as error:
            answer = Future()
            answer.set_exception(error)
        self.spatial.awaits_scene = True
        self._question = _Question(frame.id, answer)
        return self._take_answer(world_pose)

    def _take_answer(self, world_pose: Pose2D) -> list[SpatialEvent]:
        """Take the analyzer's answer into account if it came; it applies from this frame on."""
        if self._question is None or not self._question.answer.done():
            return []
        question, self._question = self._question, None
        self.spatial.awaits_scene = False
        scene = self._result(question.answer)
        if question.withdrawn:
            return []
        told = event(
            "scene_analyzed",
            self.spatial.step_id,
            frame_id=question.frame_id,
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

    def _result(self, answer: Future[Scene | None]) -> Scene | None:
        """The answer; None, and a warning the first time in a row, where the analyzer could not give one.

        An error of another kind than ours is a mistake in the analyzer and is raised.
        """
        try:
            scene = answer.result()
        except (LastseenError, CancelledError) as error:
            if not self._failing:
                _log.warning("the scene could not be named, the place stays as it is: %s", str(error) or "cancelled")
            self._failing = True
            return None
        self._failing = False
        return scene
