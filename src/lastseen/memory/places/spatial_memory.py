"""The spatial memory update loop (docs/places.md): actions in, places and anchors out, one step at a time.

It knows no camera and no model. After each step ``needs_scene_analysis`` says whether the scene should be looked
at; whoever can look hands the answer to ``scene_analyzed``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from lastseen.action import Action, apply
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.places.anchor import Anchor, AnchorReason, AnchorRule, pose_to_list
from lastseen.memory.places.events import EventName, SpatialEvent, event
from lastseen.memory.places.graph import PlaceGraph, nearby_anchors
from lastseen.memory.places.place import UNKNOWN, Dwell, Place, normalize_scene_type
from lastseen.memory.places.progress import Progress
from lastseen.pose2d import ORIGIN, Pose2D

STATE_VERSION = 1
SAME_ANCHOR = 0.25
"""Metres, half the way between two anchors: nearer, an anchor of an earlier walk in the same map is this one."""


class SpatialMemory:
    """Dead-reckoned pose, anchors, places and patterns of one robot; ``revision`` grows with every change.

    >>> memory = SpatialMemory()
    >>> memory.scene_analyzed("kitchen", ["stove"])[0]["event"]
    'place_created'
    >>> [made["event"] for action in [Action.FORWARD] * 2 for made in memory.step(action)]
    ['anchor_created']
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.graph = PlaceGraph()
        self.episode = 0
        self.revision = 0
        self.recent_places: list[int] = []
        self.path: list[int] = []
        self._frame: tuple[int, Pose2D] | None = None
        self.on_other_storey: Callable[[int], bool] = lambda _: False
        """Whether an anchor, given by id, is on another storey than the robot: above a spot is not that spot."""
        self._begin()

    def _begin(self) -> None:
        self.step_id = 0
        self.current_place_id: int | None = None
        self.current_anchor_id: int | None = None
        self.progress = Progress(self.settings.patterns)
        self.progress.policy_poses.append(ORIGIN)
        self.pose = ORIGIN
        """Where the actions of this episode lead, added up: it drifts, and nothing here corrects it."""
        self._rule = AnchorRule(self.settings.places.anchor_forward_steps)
        self._dwell = Dwell(self.settings.places.dwell)
        self._analyzed_at: int | None = None
        self.awaits_scene = False
        """Whether an analysis was asked for and has yet to come: until then none is due and none is missed."""
        self._unnamed: int | None = None
        self._settled = False
        self._earlier_anchors = 0
        self.path.clear()
        self.recent_places.clear()

    def at_frame(self, frame_id: int, world_pose: Pose2D) -> None:
        """Say which frame is looked at and where it was taken: anchors made now follow its pose when it is corrected.

        Ids that start again are another session's, and no pose reaches the anchors of the one before.
        """
        last = self.graph.newest_frame() if self._frame is None else self._frame[0]
        if frame_id <= last:
            self.retire_frames()
        self._frame = frame_id, world_pose

    def retire_frames(self) -> None:
        """Let no new pose reach the anchors made so far."""
        self._frame = None
        self.revision += self.graph.retire_frames()

    def correct_poses(self, poses: Mapping[int, Pose2D]) -> list[int]:
        """Move the anchors made at these frames with the frames' new poses; the ids of those that moved."""
        moved = self.graph.correct_poses(poses)
        self.revision += bool(moved)
        return moved

    def begin_episode(self) -> None:
        """Start again at (0, 0, 0): places and anchors stay, but no edge and no distance crosses episodes."""
        self.episode = max(self.episode, self.graph.newest_episode()) + 1
        self.revision += 1
        self._begin()

    def take_in(self, graph: PlaceGraph, origin: Pose2D) -> None:
        """Put the places and anchors of another memory beside these; see ``PlaceGraph.take_in``."""
        self.graph.take_in(graph, origin, episode=max(self.episode, self.graph.newest_episode()) + 1)
        self.revision += 1

    def begin_walk(self, world_pose: Pose2D) -> Pose2D:
        """Begin at a pose of the map that earlier walks of this episode were in; returns the episode's origin there.

        Anchors and places of those walks are recognised where this one comes by again. A memory whose anchors have
        no poses in a map begins another episode.
        """
        if not self.graph.anchors:
            return world_pose
        origin = self.graph.origin_of(self.episode)
        if origin is None:
            self.begin_episode()
            return world_pose
        self.revision += 1
        self._begin()
        self.pose = world_pose.relative_to(origin)
        self.progress.policy_poses.clear()
        self.progress.policy_poses.append(self.pose)
        self._earlier_anchors = len(self.graph.anchors)
        return origin

    @property
    def current_place(self) -> Place | None:
        """The place the robot is in; None before the first analysis or step."""
        return None if self.current_place_id is None else self.graph.place(self.current_place_id)

    @property
    def current_anchor(self) -> Anchor | None:
        """The anchor made last; None before the first analysis or step."""
        return None if self.current_anchor_id is None else self.graph.anchor(self.current_anchor_id)

    @property
    def needs_scene_analysis(self) -> bool:
        """Whether the scene should be analyzed now: at step 0, every period, and while a change is unconfirmed.

        Not while an analysis is awaited: a slow model is asked one thing at a time.
        """
        if self.awaits_scene or self._analyzed_at == self.step_id:
            return False
        return self.step_id % self.settings.places.update_period == 0 or self._dwell.pending is not None

    @property
    def at_branch(self) -> bool:
        """Whether the last step ended at a door or a fork."""
        return self._rule.at_branch

    def step(
        self,
        action: Action,
        *,
        collided: bool = False,
        branch: bool = False,
        panorama: bool = False,
        world_pose: Pose2D | None = None,
        pose: Pose2D | None = None,
    ) -> list[SpatialEvent]:
        """Take one action that was done; ``panorama`` marks the turns of a look around, ``branch`` a door or fork.

        ``pose`` is where it led since the episode began, where somebody knows better than dead reckoning. An
        analysis that was due and did not come is an event, and it ends a change that waited for it.
        """
        self.revision += 1
        events: list[SpatialEvent] = []
        if self.current_place_id is None:
            events += self._arrive(UNKNOWN, (), "", None)
        if self.needs_scene_analysis:
            self._dwell.pending = None
            events.append(event("scene_missed", self.step_id))
        if not self._settled:
            events += self._settle()
        self.step_id += 1
        motion = self.settings.dead_reckoning
        # every forward counts, unless reported bumps are trusted
        stopped = action is Action.FORWARD and collided and motion.trust_collisions
        if pose is not None:
            self.pose = pose
        elif not stopped:
            self.pose = apply(self.pose, action, motion=motion)
        if not panorama:
            self.progress.policy_poses.append(self.pose)
        assert self.current_place_id is not None
        self.progress.place_by_step.append(self.current_place_id)
        moved = action is Action.FORWARD and not stopped
        reasons = self._rule.reasons(action, moved=moved, branch=branch)
        if reasons:
            events.append(self._add_anchor(reasons, world_pose))
        self._settled = False
        if not self.needs_scene_analysis:
            events += self._settle()
        return events

    def arrive(self, world_pose: Pose2D) -> list[SpatialEvent]:
        """Enter an unknown place here, unless the robot is in a place already: whoever names scenes may be slow.

        A place that is made so takes the name that the next analysis gives it.
        """
        if self.current_place_id is not None:
            return []
        self.revision += 1
        events = self._arrive(UNKNOWN, (), "", world_pose)
        self._unnamed = self.current_place_id if events[0]["event"] == "place_created" else None
        return events

    def scene_analyzed(
        self,
        scene_type: str | None,
        objects: Iterable[str] = (),
        description: str = "",
        *,
        world_pose: Pose2D | None = None,
    ) -> list[SpatialEvent]:
        """Take what the scene analyzer said about this step; None, blank or ``unknown`` when it could not."""
        if self._analyzed_at == self.step_id:
            raise InvalidValue(
                "scene_type", scene_type, f"comes second in step {self.step_id}", remedy="analyze once per step"
            )
        self._analyzed_at, self.awaits_scene = self.step_id, False
        self.revision += 1
        known = scene_type is not None and normalize_scene_type(scene_type) not in ("", UNKNOWN)
        named = scene_type.strip() if known and scene_type is not None else UNKNOWN
        events: list[SpatialEvent] = []
        place = self.current_place
        if place is None:
            events += self._arrive(named, objects, description, world_pose)
        elif not known:
            self._dwell.pending = None
        elif place.place_id == self._unnamed:
            # made before anybody could name it: it is of the kind of the spot it was made at
            place.place_type = named
            place.learn(objects, description)
            self._visited(place)
        else:
            objects = list(objects)
            if place.scene_type == normalize_scene_type(named):
                place.learn(objects, description)
            new = self._dwell.analyzed(named, current=place.place_type, objects=objects, description=description)
            if new is not None:
                events += self._arrive(new.scene_type, new.objects, new.description, world_pose)
        self._unnamed = None
        if known and self.current_anchor is not None:
            self.current_anchor.scenes[named] = self.current_anchor.scenes.get(named, 0) + 1
        return events + self._settle()

    def saw(self, labels: Iterable[str]) -> None:
        """Attach the labels of things seen now to the current anchor."""
        new = set(labels)
        if self.current_anchor is not None and not new <= self.current_anchor.labels:
            self.current_anchor.labels |= new
            self.revision += 1

    def forget_labels(self, labels: Collection[str]) -> None:
        """Let no anchor and no place name these any more; a description that tells of one goes whole."""
        if not labels:
            return
        self.graph.forget_labels(labels)
        # what was seen of a next place is soon seen again
        self._dwell.pending = None
        self.revision += 1

    def nearby(self) -> list[Anchor]:
        """Anchors of the same scene type on this storey near enough to be this spot, nearest first."""
        if self.current_anchor_id is None:
            return []
        near = nearby_anchors(self.graph, self.current_anchor_id, radius=self.settings.localization.radius)
        return [one for one in near if not self.on_other_storey(one.anchor_id)]

    def _arrive(
        self, scene_type: str, objects: Iterable[str], description: str, world_pose: Pose2D | None
    ) -> list[SpatialEvent]:
        """Enter a place of this type, a known one or a new one, and make its first anchor here."""
        came_from = self.current_place_id
        place = self._place_to_reenter(scene_type) or self._place_walked_before(scene_type, world_pose)
        made = place is None
        if place is None:
            place = self.graph.add_place(scene_type, episode=self.episode)
        place.learn(objects, description)
        self.current_place_id = place.place_id
        if self.progress.place_by_step:
            self.progress.place_by_step[-1] = place.place_id
        self._visited(place)
        if place.place_id in self.recent_places:
            self.recent_places.remove(place.place_id)
        self.recent_places.append(place.place_id)
        entered = event(
            "place_created" if made else "place_entered",
            self.step_id,
            place_id=place.place_id,
            place_type=place.place_type,
            from_place_id=came_from,
        )
        return [entered, self._add_anchor(["place"], world_pose)]

    def _visited(self, place: Place) -> None:
        self.progress.visited(place.place_id if self.settings.places.reenter else place.scene_type)

    def _place_to_reenter(self, scene_type: str) -> Place | None:
        """The recent place of this type with the nearest anchor within reach, unless it is a corridor."""
        if not self.settings.places.reenter:
            return None
        others = [place_id for place_id in self.recent_places if place_id != self.current_place_id]
        recent = others[-self.settings.places.reenter_window :]
        return self.graph.nearest_place(
            recent,
            scene_type,
            self.pose,
            radius=self.settings.localization.radius,
            elsewhere=self.on_other_storey,
        )

    def _place_walked_before(self, scene_type: str, world_pose: Pose2D | None) -> Place | None:
        """The place of an earlier walk at this spot: of this type, or of any while nobody knows the type yet."""
        wanted = normalize_scene_type(scene_type)
        for anchor in self._walked_near(world_pose, radius=self.settings.localization.radius):
            place = self.graph.place(anchor.place_id)
            if place.place_id != self.current_place_id and wanted in (place.scene_type, UNKNOWN):
                return place
        return None

    def _walked_near(self, world_pose: Pose2D | None, *, radius: float) -> list[Anchor]:
        """The anchors of earlier walks in this map within a radius, on the storey of the robot, nearest first.

        Dead reckoning alone merges nothing; poses in one map do: a home walked every day grows no copy every day.
        """
        if world_pose is None:
            return []
        near = self.graph.anchors_near(world_pose, radius=radius, episode=self.episode, before=self._earlier_anchors)
        return [anchor for anchor in near if not self.on_other_storey(anchor.anchor_id)]

    def _add_anchor(self, reasons: list[AnchorReason], world_pose: Pose2D | None) -> SpatialEvent:
        assert self.current_place_id is not None
        for known in self._walked_near(world_pose, radius=SAME_ANCHOR):
            # one of another place is another anchor: what is seen here belongs to the place the robot is in
            if known.place_id == self.current_place_id:
                if self.current_anchor_id is not None:
                    # the way there is an edge like any other
                    self.graph.join(self.current_anchor_id, known.anchor_id)
                return self._stand_at(known, "anchor_reached", reasons)
        frame = None
        if self._frame is not None and world_pose is not None:
            frame = self._frame[0], world_pose.relative_to(self._frame[1])
        anchor = self.graph.add_anchor(
            self.pose,
            place_id=self.current_place_id,
            step=self.step_id,
            episode=self.episode,
            reached_from=self.current_anchor_id,
            world_pose=world_pose,
            frame=frame,
        )
        return self._stand_at(anchor, "anchor_created", reasons)

    def _stand_at(self, anchor: Anchor, name: EventName, reasons: list[AnchorReason]) -> SpatialEvent:
        self.current_anchor_id = anchor.anchor_id
        self.path.append(anchor.anchor_id)
        self._rule.anchored()
        return event(
            name,
            self.step_id,
            anchor_id=anchor.anchor_id,
            place_id=anchor.place_id,
            pose=pose_to_list(anchor.pose),
            reasons=list(reasons),
        )

    def _settle(self) -> list[SpatialEvent]:
        """Judge the patterns once the place of this step is certain."""
        self._settled = True
        return [event(name, self.step_id, place_id=self.current_place_id) for name in self.progress.new_onsets()]

    def to_dict(self) -> dict[str, Any]:
        """The whole state in plain JSON values: a memory restored from it goes on as if it had never stopped."""
        return {
            "version": STATE_VERSION,
            "graph": self.graph.to_dict(),
            "episode": self.episode,
            "step_id": self.step_id,
            "pose": pose_to_list(self.pose),
            "current_place_id": self.current_place_id,
            "current_anchor_id": self.current_anchor_id,
            "recent_places": list(self.recent_places),
            "path": list(self.path),
            "progress": self.progress.to_dict(),
            "rule": [self._rule.forwards, self._rule.rotated, self._rule.at_branch],
            "dwell": self._dwell.to_dict(),
            "analyzed_at": self._analyzed_at,
            "settled": self._settled,
            "earlier_anchors": self._earlier_anchors,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, settings: Settings | None = None) -> SpatialMemory:
        """The memory that ``to_dict`` wrote."""
        if values.get("version") != STATE_VERSION:
            raise InvalidValue(
                "spatial_memory.version",
                values.get("version"),
                f"is not {STATE_VERSION}",
                remedy="write the state again with this version",
            )
        memory = cls(settings)
        memory.graph = PlaceGraph.from_dict(values["graph"])
        memory.episode = values["episode"]
        memory.step_id = values["step_id"]
        memory.pose = Pose2D(*values["pose"])
        memory.current_place_id = values["current_place_id"]
        memory.current_anchor_id = values["current_anchor_id"]
        memory.recent_places = list(values["recent_places"])
        memory.path = list(values["path"])
        memory.progress.restore(values["progress"])
        memory._rule.forwards, memory._rule.rotated, memory._rule.at_branch = values["rule"]
        memory._dwell.restore(values["dwell"])
        memory._analyzed_at = values["analyzed_at"]
        memory._settled = values["settled"]
        # files of before know no earlier walks
        memory._earlier_anchors = values.get("earlier_anchors", 0)
        return memory
