"""A world to search in by moving: an environment, a detector and a pixel policy behind the loop's ``World``.

It runs the two loops of section 5 one step at a time: every action moves the robot and the spatial memory alike, a
look around is eleven real turns, and when the policy stops the next look around begins. Perception stays here: the
loop is told what the detector saw and how far away depth says it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.branch import is_branch
from lastseen.memory.places.events import SpatialEvent
from lastseen.planning.call_rule import CallRule
from lastseen.planning.decision import Decision
from lastseen.planning.node_graph import Path
from lastseen.planning.panorama_planner import PanoramaPlanner, view_to_dict
from lastseen.planning.scene import SceneAnalyzer
from lastseen.policy.goal_pixel import (
    GoalPixel,
    choose_goal_pixel,
    target_detection,
    view_of_angle,
    waypoint_pixel,
)
from lastseen.policy.protocol import PixelPolicy
from lastseen.policy.stop_check import StopCheck
from lastseen.pose2d import Pose2D
from lastseen.protocols import Detector, Environment
from lastseen.runtime.known_map import KnownMap
from lastseen.runtime.log import RunLog
from lastseen.runtime.look_around import LookAround, view_of
from lastseen.runtime.node_routes import NodeRoutes
from lastseen.runtime.surveying import Survey
from lastseen.runtime.world import Moved, Sight
from lastseen.vlm.protocol import EncodedImage


class EnvironmentWorld:
    """One robot looking for one target; implements ``lastseen.runtime.world.World``.

    ``known`` is the map of an earlier visit, told to the planner as ways to its nodes. With ``routes`` the robot
    knows at which remembered node it is and can walk to others. ``with_images`` encodes the panorama for models
    that look at pictures; rules over detections do without.
    """

    def __init__(
        self,
        environment: Environment,
        detector: Detector,
        policy: PixelPolicy,
        *,
        target: str,
        planner: PanoramaPlanner,
        analyzer: SceneAnalyzer,
        settings: Settings | None = None,
        log: RunLog | None = None,
        known: KnownMap | None = None,
        with_images: bool = False,
        routes: NodeRoutes | None = None,
    ) -> None:
        self.environment, self.detector, self.policy = environment, detector, policy
        self.target = target
        self.planner, self.analyzer = planner, analyzer
        self.settings = settings or planner.settings
        self.log = log or RunLog()
        self.routes = routes
        self.with_images = with_images
        self._waypoints: list[Pose2D] = []
        self.check = StopCheck(target, self.settings.stop)
        self.rule = CallRule(self.settings.planner)
        self.rule.due(stopped=False, goal_flag=False)
        self.survey = Survey(target, self.settings, known=known)
        self._around = LookAround(self.settings)
        self._following: Decision | None = None
        self._turns = 0
        self._rest = 0.0
        self._way: list[Pose2D] = []
        self._walking = self._walked = False
        self._rejected = False
        self._confirming = 0
        self._pending: dict[str, Any] | None = None
        self._logged_calls = 0
        self._see(environment.reset(), action=None, collided=False)

    @property
    def spatial(self) -> SpatialMemory:
        """The memory of places that the actions feed."""
        return self.planner.spatial

    @property
    def confirmed(self) -> bool:
        """Whether the target was ever seen often enough in a row to count as seen."""
        return self.check.longest >= self.settings.stop.views

    def look(self, goal_text: str) -> Sight:
        """What the newest view shows; ``ready`` once a look around is complete."""
        del goal_text
        # section 6 asks at the start; where memory knows the way already, that is before the first look around
        first = self.spatial.step_id == 0 and self.planner.vlm.calls == 0
        complete = self._around.complete or (first and self.survey.remembers())
        idle = self._following is None
        here = self.frame.floor_pose
        return Sight(
            stamp=self.frame.stamp,
            visible=self.check.streak > 0 and not self._rejected,
            rejected=self._rejected,
            distance=self.check.distance,
            node_id=None if self.routes is None else self.routes.node_at(here),
            idle=idle,
            fresh=self._fresh,
            ready=not idle or complete,
            images=self._around.images() if self.with_images and idle and complete else (),
            context=self._told(here) if idle and complete else {},
            log={"pose": [self.spatial.pose.x, self.spatial.pose.y, self.spatial.pose.yaw]},
        )

    def follow(self, decision: Decision, path: Path | None = None) -> Moved:
        """Do one action of what was decided: turn to the view and walk to its goal pixel, or walk to a node."""
        if decision is not self._following:
            self._take_up(decision, path)
        return self._go_on()

    def confirm(self) -> Moved:
        """Look once more: the next turn of the look around, or the next action of the walk."""
        return self._go_on()

    def finish(self) -> None:
        """Write what is still to be logged; the search is over."""
        self._flush()

    def _told(self, here: Pose2D) -> dict[str, Any]:
        """What the planner may read; ``here`` is in the frame of the nodes, which is not the dead-reckoned one."""
        told = {
            "views": [view_to_dict(view) for view in self._around.views()],
            **self.survey.told(self.spatial.step_id, all_around=self._around.complete),
        }
        if self.survey.known is None and self.routes is not None:
            told["here"] = here
        return told

    def _take_up(self, decision: Decision, path: Path | None) -> None:
        self._following, self._rejected, self._confirming = decision, False, 0
        self.survey.chose(decision.heading or 0.0)
        self._walking = self._walked = False
        self._waypoints = []
        self._way = _corners(self.survey.explored.pose, decision.way)
        if decision.node_id is not None:
            self._turns = 0
            if self.routes is not None:
                self._waypoints = self.routes.waypoints(decision.node_id, path)
            return
        here = target_detection(self.detections, self.target) if decision.goal_flag else None
        if here is not None:
            self._turns, self._rest = 0, 0.0
            return
        self._turn_by(decision.heading or 0.0)

    def _turn_by(self, heading: float) -> None:
        """Turn to the view of a heading, and leave the rest of the angle to the goal pixel."""
        views = self.settings.panorama.views
        index, self._rest = view_of_angle(math.degrees(heading), views=views)
        turns = index if index <= views // 2 else index - views
        self._turns = turns * round(360.0 / views / self.settings.dead_reckoning.turn_angle)

    def _next_stretch(self) -> bool:
        """Turn to the next stretch of the way that is followed; False when it is at its end."""
        pose, near = self.survey.explored.pose, self.settings.policy.waypoint_reached
        self._way = list(itertools.dropwhile(lambda corner: pose.distance_to(corner) <= near, self._way[1:]))
        if not self._way:
            return False
        self._turn_by(pose.bearing_to(self._way[0]))
        self._walking = False
        return True

    def _go_on(self) -> Moved:
        if self._following is None:
            return self._do(Action.TURN_LEFT, panorama=True)
        if self._turns:
            left = self._turns > 0
            self._turns -= 1 if left else -1
            return self._do(Action.TURN_LEFT if left else Action.TURN_RIGHT, panorama=True)
        if self._following.node_id is not None:
            return self._walk(self._following.node_id)
        self._aim()
        action = self.policy.act()
        if action is not Action.STOP:
            return self._do(action)
        if (turn := self._look_again()) is not None:
            return self._do(turn)
        if self.policy.stop_reason == "reached" and self._next_stretch():
            return self._go_on()
        self._rejected = self._following.goal_flag and not self._at_target()
        return self._stopped()

    def _walk(self, node_id: int) -> Moved:
        """One action towards the next waypoint; one that is barred is passed by, the last must be reached."""
        while self._waypoints:
            if not self._walking:
                local = self._waypoints[0].relative_to(self.frame.floor_pose)
                self.policy.follow(GoalPixel(0, 0, "floor", (local.x, local.y, 0.0)))
                self._walking = True
            action = self.policy.act()
            if action is not Action.STOP:
                return self._do(action)
            self._waypoints.pop(0)
            self._walking = False
        barred = self.policy.stop_reason != "reached"
        return self._stopped(f"node {node_id}: the way there is barred" if barred else None)

    def _stopped(self, failed: str | None = None) -> Moved:
        """End what was followed; the look around that comes next begins with this view (section 6).

        The stop is no action of the robot and costs no step, unless nothing was walked since the last call: then it
        costs one, so that no cycle of plan and stop is free. A goal that was reached ends the search instead.
        """
        self.rule.due(stopped=True, goal_flag=False)
        free = self._walked and not self._at_target()
        self._look_around()
        if free:
            return replace(self._do(Action.TURN_LEFT, panorama=True), failed=failed)
        self._fresh = False
        return Moved(action=Action.STOP.value, failed=failed)

    def _look_around(self) -> None:
        """Give up what is being followed and begin a look around with this view."""
        self._following = None
        self._waypoints = []
        self._around.begin(self.frame, self.detections)
        self.policy.reset()
        self.policy.see(self.frame)

    def _recall(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Ask anew when the robot begins to go in circles, where the settings say so (section 6, an extension)."""
        decision = self._following
        pattern = any(event["event"] in {"stuck", "ababa"} for event in events)
        if (
            decision is not None
            and pattern
            and self.rule.due(stopped=False, goal_flag=decision.goal_flag, pattern=not decision.goal_flag)
        ):
            self._look_around()

    def _at_target(self) -> bool:
        """Whether the loop will take this for the end of the search: seen often enough, and within reach."""
        search = self.settings.search
        return self.check.streak >= search.visible_streak and self.check.believed(within=search.success_distance)

    def _look_again(self) -> Action | None:
        """A turn that keeps a target in view which was seen too few times to stop at; None when it is no use."""
        found = target_detection(self.detections, self.target)
        seen = self.check.streak
        if found is None or not 0 < seen < self.settings.stop.views or self._confirming >= self.settings.stop.views:
            return None
        self._confirming += 1
        middle = 0.5 * (found.box[0] + found.box[2])
        return Action.TURN_LEFT if middle < 0.5 * self.frame.intrinsics.width else Action.TURN_RIGHT

    def _aim(self) -> None:
        """Set the goal pixel when the walk begins, and again whenever the target is seen anew."""
        decision = self._following
        assert decision is not None
        seen = decision.goal_flag and target_detection(self.detections, self.target) is not None
        if self._walking and not seen:
            return
        pixel = self._goal_pixel(decision)
        if self._walking:
            self.policy.refine(pixel)
        else:
            self.policy.follow(pixel)
        self._walking = True

    def _goal_pixel(self, decision: Decision) -> GoalPixel:
        if self._way:
            metres = self.survey.explored.pose.distance_to(self._way[0])
            return waypoint_pixel(self.frame, rest_deg=self._rest, metres=metres, settings=self.settings.policy)
        return choose_goal_pixel(
            self.frame,
            self.detections,
            target=self.target,
            goal_flag=decision.goal_flag,
            rest_deg=self._rest,
            settings=self.settings.policy,
        )

    def _do(self, action: Action, *, panorama: bool = False) -> Moved:
        self._flush()
        result = self.environment.step(action)
        self._walked |= action is Action.FORWARD
        self._see(result.frame, action=action, collided=result.collided, panorama=panorama)
        return Moved(action=action.value)

    def _see(self, frame: Frame, *, action: Action | None, collided: bool, panorama: bool = False) -> None:
        """Everything that happens on a new view, in the order of the data: moving first, then seeing."""
        self.frame, self._fresh = frame, True
        world_pose = frame.floor_pose
        branch = self.settings.places.detect_branches and is_branch(
            frame.depth, frame.camera_of_depth, settings=self.settings.branches
        )
        events: list[SpatialEvent] = []
        if action is not None:
            events = self.spatial.step(
                action, collided=collided, branch=branch, panorama=panorama, world_pose=world_pose
            )
            self.log.events(events)
            self.policy.moved(action, collided=collided)
            self.survey.explored.moved(action, collided=collided)
        self.detections = self.detector.detect(frame, (self.target,))
        self.check.see(frame, self.detections)
        seen = _labels(self.detections)
        self.spatial.saw(seen)
        if self._following is None:
            self._around.add(frame, self.detections)
        self.policy.see(frame)
        self.survey.see(frame, self.detections)
        self._recall(events)
        scene = self._analyze(world_pose)
        self._pending = {
            "action": action,
            "collided": collided,
            "branch": branch and action is not None,
            "panorama": panorama,
            "world_pose": world_pose,
            "seen": seen,
            **scene,
        }

    def _analyze(self, world_pose: Pose2D) -> dict[str, Any]:
        if not self.spatial.needs_scene_analysis:
            return {"scene_analyzed": False, "scene": None}
        images = (EncodedImage.from_rgb(self.frame.rgb),) if self.with_images else ()
        found = self.analyzer.analyze([view_of(self.frame, self.detections, self.settings)], images).scene
        self.log.events(
            self.spatial.scene_analyzed(
                None if found is None else found.scene_type,
                () if found is None else found.objects,
                "" if found is None else found.description,
                world_pose=world_pose,
            )
        )
        return {"scene_analyzed": True, "scene": None if found is None else found.to_dict()}

    def _flush(self) -> None:
        """Log the step that ended, with the planner call that followed it if one did."""
        if self._pending is None:
            return
        called = self.planner.vlm.calls > self._logged_calls
        if called:
            self._logged_calls = self.planner.vlm.calls
            self.log.events(self.planner.events(self.spatial.step_id))
        last = self.planner.last
        self.log.step(
            self.spatial,
            **self._pending,
            planner_called=called,
            planner_output=last.plan.to_dict() if called and last is not None else None,
            dc_queue=self.planner.queue.to_list(),
        )
        self._pending = None


def _corners(start: Pose2D, way: Sequence[tuple[float, float]]) -> list[Pose2D]:
    """The ends of a way's stretches in the frame of the start; their headings mean nothing."""
    corners: list[Pose2D] = []
    x, y = start.x, start.y
    for metres, bearing in way:
        x += metres * math.cos(start.yaw + bearing)
        y += metres * math.sin(start.yaw + bearing)
        corners.append(Pose2D(x, y, 0.0))
    return corners


def _labels(detections: Sequence[Detection]) -> list[str]:
    """What the detections most likely are, the unnamed left out."""
    return [detection.label for detection in detections if detection.label is not None]
