"""A world to search in by moving: a robot, its detector, a pixel policy and the memory behind the loop's ``World``.

One step is one action. Every action moves the robot, every new view goes into the memory, a look around is eleven
real turns, and when the policy stops the next look around begins. Perception stays here: the loop is told what the
detector saw and how far away depth says it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lastseen.action import Action
from lastseen.body import body_points
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.places.tracker import Step
from lastseen.pose2d import Pose2D
from lastseen.protocols import Detector, Environment
from lastseen.search.explored import ExploredMap, Spot
from lastseen.search.goal import Goal
from lastseen.search.log import RunLog
from lastseen.search.panorama import LookAround
from lastseen.search.planning.decision import Decision
from lastseen.search.planning.node_graph import NodePath
from lastseen.search.planning.panorama_planner import CallRule, PanoramaPlanner, view_to_dict
from lastseen.search.policy.goal_pixel import (
    GoalPixel,
    choose_goal_pixel,
    detection_mask,
    target_detection,
    view_of_angle,
    waypoint_pixel,
)
from lastseen.search.policy.protocol import PixelPolicy, allow, needs_depth
from lastseen.search.policy.stop_check import StopCheck
from lastseen.search.recall import Recall, Remembered
from lastseen.search.step_record import view_record
from lastseen.search.world import Moved, Sight

_TILTED = math.radians(10.0)
"""Radians from level that are a tilt: more than the noise of a localizer, less than one look up or down."""


class RobotWorld:
    """One robot looking for one goal; implements ``lastseen.search.world.World``.

    Making it resets the robot, looks once, and begins a walk in the memory. ``with_images`` encodes the panorama for
    models that look at pictures; rules over detections do without.
    """

    def __init__(
        self,
        robot: Environment,
        detector: Detector,
        policy: PixelPolicy,
        *,
        goal: Goal,
        memory: Memory,
        recall: Recall,
        planner: PanoramaPlanner,
        settings: Settings,
        log: RunLog,
        with_images: bool = False,
    ) -> None:
        self.robot, self.detector, self.policy = robot, detector, policy
        self.goal, self.memory, self.recall = goal, memory, recall
        self.planner, self.settings, self.log = planner, settings, log
        self.with_images, self._trust = with_images, settings.stop.trust_planner
        actions = getattr(robot, "possible_actions", tuple(Action))
        allow(policy, actions)
        self._tilts = Action.LOOK_UP in actions and Action.LOOK_DOWN in actions
        self.check = StopCheck(goal.text, settings.stop)
        self.rule = CallRule(settings.planner)
        self.rule.due(stopped=False, goal_flag=False)
        self._around = LookAround(settings)
        self._following: Decision | None = None
        self._decided = False
        self._turns = 0
        self._rest = 0.0
        self._path: list[Pose2D] = []
        self._walking = self._walked = False
        self._rejected = self._trusted_stop = self._flagged = False
        self._any_depth = False
        self._approach_failed = False
        self._confirming = 0
        self._context: tuple[int, dict[str, Any]] | None = None
        self._place: int | None = None
        self._steps_here = 0
        self.metres = 0.0
        self._record: dict[str, Any] = {}
        frame = robot.reset()
        self._level = _pitch(frame)
        self.explored = ExploredMap(settings.explored, policy=settings.policy, start=frame.floor_pose)
        self._see(frame, Step())

    @property
    def confirmed(self) -> bool:
        """Whether the goal was ever seen often enough in a row to count as seen."""
        return self.check.longest >= self.settings.stop.views

    def look(self, goal_text: str) -> Sight:
        """What the newest view shows; ``ready`` once a look around is complete."""
        del goal_text
        # the planner is asked at the start; where memory knows a path already, that is before the first look around
        complete = self._around.complete or (not self._decided and bool(self.recall.remembered(self.pose)))
        idle = self._following is None
        spatial = self.memory.spatial
        return Sight(
            stamp=self.frame.stamp,
            visible=self.check.streak > 0 and not self._rejected and not self._trust,
            rejected=self._rejected,
            trusted_stop=self._trusted_stop,
            distance=self.check.distance,
            node_id=self.recall.node_at(self.pose),
            own_nodes=self.recall.own_nodes(),
            idle=idle,
            fresh=self._fresh,
            ready=not idle or complete,
            images=self._around.images() if self.with_images and idle and complete else (),
            context=self._told() if idle and complete else {},
            log={"pose": [spatial.pose.x, spatial.pose.y, spatial.pose.yaw]},
        )

    @property
    def pose(self) -> Pose2D:
        """Where the robot stands, in the frame of its poses."""
        return self.frame.floor_pose

    def follow(self, decision: Decision, path: NodePath | None = None) -> Moved:
        """Do one action of what was decided: turn to the view and walk to its goal pixel, or along a known path."""
        if decision is not self._following:
            self._take_up(decision, path)
        return self._go_on()

    def confirm(self) -> Moved:
        """Look once more: the next turn of the look around, or the next action of the walk."""
        return self._go_on()

    def record(self) -> dict[str, Any]:
        """What the log says of the newest view besides the loop's own part: the action that led to it, and places."""
        return dict(self._record)

    def _told(self) -> dict[str, Any]:
        """What the planner may read; asked again at the same step, it says the same."""
        step_id = self.memory.spatial.step_id
        if self._context is None or self._context[0] != step_id:
            if self._around.complete:
                self.explored.looked_around()
                self.recall.looked_around(self.pose)
            edges, sightings = self.explored.survey(self.goal.text)
            self.recall.refresh()
            self._context = (
                step_id,
                {
                    "views": [view_to_dict(view) for view in self._around.views()],
                    "unexplored": [_edge(each) for each in edges],
                    "sightings": [_sighting(each) for each in sightings],
                    "here": self.pose,
                    "paths": self.recall.paths_from(self.pose),
                    "looked_at": self.recall.looked_at(),
                    "remembered": [_remembered(each) for each in self.recall.remembered(self.pose)],
                    "approach_failed": self._approach_failed,
                    "steps_here": self._steps_here,
                },
            )
        return dict(self._context[1])

    def _take_up(self, decision: Decision, path: NodePath | None) -> None:
        self._following, self._rejected, self._confirming = decision, False, 0
        self._decided = True
        segments, heading = decision.segments, decision.heading or 0.0
        if decision.node_id is not None and path is not None:
            segments = tuple(self.recall.segments_along(path, self.pose))
            heading = segments[0][1]
        self.explored.chose(heading)
        self.recall.chose(heading)
        self._walking = self._walked = False
        self._path = _corners(self.pose, segments)
        self._check_depth()
        if decision.goal_flag and not self._trust and target_detection(self.marked, self.goal.text) is not None:
            self._turns, self._rest = 0, 0.0
            return
        self._turn_by(heading)

    def _turn_by(self, heading: float) -> None:
        """Turn to the view of a heading, and leave the rest of the angle to the goal pixel."""
        views = self.settings.panorama.views
        index, self._rest = view_of_angle(math.degrees(heading), views=views)
        turns = index if index <= views // 2 else index - views
        self._turns = turns * round(360.0 / views / self.settings.dead_reckoning.turn_angle)

    def _next_segment(self) -> bool:
        """Turn to the next segment of the path that is followed; False when it is at its end."""
        pose, near = self.pose, self.settings.policy.waypoint_reached
        self._path = list(itertools.dropwhile(lambda corner: pose.distance_to(corner) <= near, self._path[1:]))
        if not self._path:
            return False
        self._turn_by(pose.bearing_to(self._path[0]))
        self._walking = False
        return True

    def _go_on(self) -> Moved:
        if self._following is None:
            return self._do(self._level_camera() or Action.TURN_LEFT, panorama=True)
        if self._turns:
            left = self._turns > 0
            self._turns -= 1 if left else -1
            return self._do(Action.TURN_LEFT if left else Action.TURN_RIGHT, panorama=True)
        self._aim()
        action = self.policy.act()
        if action is not Action.STOP:
            return self._do(action)
        self._trusted_stop = self._trust and self._flagged
        if self._trusted_stop:
            return self._stopped()
        if not self._trust and (turn := self._look_again()) is not None:
            return self._do(turn)
        if self.policy.stop_reason == "reached" and self._next_segment():
            return self._go_on()
        self._rejected = self._approach_failed = self._flagged and not self._trust and not self._at_goal()
        return self._stopped()

    def _stopped(self) -> Moved:
        """End what was followed; the look around that comes next begins with this view.

        The stop is no action of the robot and costs no step, unless nothing was walked since the last call: then it
        costs one, so that no cycle of plan and stop is free. A goal that was reached ends the search instead.
        """
        self.rule.due(stopped=True, goal_flag=False)
        free = self._walked and not (self._at_goal() or self._trusted_stop)
        self._look_around()
        if free:
            return self._do(self._level_camera() or Action.TURN_LEFT, panorama=True)
        self._fresh = False
        self._record = {**self._record, "action": None, "scene_analyzed": False, "scene": None}
        return Moved(action=Action.STOP.value)

    def _look_around(self) -> None:
        """Give up what is being followed and begin a look around with this view."""
        self._following = None
        self._around.clear()
        if self._level_camera() is None:
            self._around.add(self.frame, self.marked)
        self.policy.reset()
        self.policy.see(self.frame)

    def _level_camera(self) -> Action | None:
        """The look that brings a camera back which a policy tilted: the views of a look around are level."""
        tilt = _pitch(self.frame) - self._level
        if not self._tilts or abs(tilt) < _TILTED:
            return None
        return Action.LOOK_DOWN if tilt > 0.0 else Action.LOOK_UP

    def _recall_planner(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Ask anew when the robot begins to go in circles, where the settings say so."""
        decision = self._following
        pattern = any(event["event"] in {"stuck", "ababa"} for event in events)
        if (
            decision is not None
            and pattern
            and self.rule.due(stopped=False, goal_flag=decision.goal_flag, pattern=not decision.goal_flag)
        ):
            self._look_around()

    def _at_goal(self) -> bool:
        """Whether the loop will take this for the end of the search: seen often enough, and within reach."""
        search = self.settings.search
        if self._trust:
            return False
        return self.check.streak >= search.visible_streak and self.check.believed(within=search.success_distance)

    def _look_again(self) -> Action | None:
        """A turn that keeps a goal in view which was seen too few times to stop at; None when it is no use."""
        found = target_detection(self.marked, self.goal.text)
        seen = self.check.streak
        if found is None or not 0 < seen < self.settings.stop.views or self._confirming >= self.settings.stop.views:
            return None
        self._confirming += 1
        middle = 0.5 * (found.box[0] + found.box[2])
        return Action.TURN_LEFT if middle < 0.5 * self.frame.intrinsics.width else Action.TURN_RIGHT

    def _aim(self) -> None:
        """Set the goal pixel when the walk begins, and again whenever the goal is seen anew."""
        decision = self._following
        assert decision is not None
        seen = decision.goal_flag and target_detection(self.marked, self.goal.text) is not None
        if self._walking and (self._trust or not seen):
            return
        if not self._walking:
            self._flagged = decision.goal_flag and (seen or not self.settings.stop.confirm_flag)
        pixel = self._goal_pixel(decision)
        if self._walking:
            self.policy.refine(pixel)
        else:
            self.policy.follow(pixel)
        self._walking = True

    def _goal_pixel(self, decision: Decision) -> GoalPixel:
        if self._path:
            metres = self.pose.distance_to(self._path[0])
            return waypoint_pixel(self.frame, rest_deg=self._rest, metres=metres, settings=self.settings.policy)
        return choose_goal_pixel(
            self.frame,
            self.marked,
            target=self.goal.text,
            goal_flag=decision.goal_flag,
            rest_deg=self._rest,
            settings=self.settings.policy,
        )

    def _do(self, action: Action, *, panorama: bool = False) -> Moved:
        before = self.pose
        result = self.robot.step(action)
        self._walked |= action is Action.FORWARD
        self._see(result.frame, Step(action=action, collided=result.collided, panorama=panorama))
        self.metres += before.distance_to(self.pose)
        return Moved(action=action.value)

    def _see(self, frame: Frame, step: Step) -> None:
        """Everything that happens on a new view, in the order of the data: detect, remember, then what uses both."""
        self.frame, self._fresh = frame, True
        self._any_depth = self._any_depth or bool(np.isfinite(frame.depth).any())
        detections = self.detector.detect(frame, (self.goal.text,))
        self.marked = self.goal.marked(frame, detections)
        self.memory.observe(frame, detections=detections, step=step)
        events = self.memory.place_events
        self.log.events(events)
        place = self.memory.spatial.current_place_id
        self._place, self._steps_here = place, self._steps_here + 1 if place == self._place else 0
        self.check.see(frame, self.marked)
        if step.action is not None:
            self.policy.moved(step.action, collided=step.collided)
        self.explored.moved_to(frame.floor_pose, collided=step.collided)
        if self._following is None and self._level_camera() is None:
            self._around.add(frame, self.marked)
        self.policy.see(frame)
        self._see_explored(frame)
        self._recall_planner(events)
        self._record = view_record(self.memory, frame, step, detections)

    def _check_depth(self) -> None:
        """Refuse to go on without any depth where the policy walks by it, or a stop is checked by it."""
        if not self._any_depth and (needs_depth(self.policy) or not self._trust):
            remedy = "use --policy pixelnav:CHECKPOINT with stop.trust_planner = true, or a depth camera"
            raise InvalidValue("depth", None, "is needed to walk by it, or to check a stop", remedy=remedy)

    def _see_explored(self, frame: Frame) -> None:
        """Put the view on the map of this search: what is floor, and about where which thing stands."""
        points = body_points(frame)
        self.explored.see(points)
        for detection in self.marked:
            if detection.label is None:
                continue
            spots = points[detection_mask(detection, frame)][:, :2]
            spots = spots[np.isfinite(spots[:, 0])]
            if len(spots):
                x, y = (float(value) for value in np.median(spots, axis=0))
                self.explored.saw(detection.label, detection.score * detection.labels[detection.label], x=x, y=y)


def _pitch(frame: Frame) -> float:
    """Radians that the camera looks up, by the frame's pose."""
    return math.asin(max(-1.0, min(1.0, float(frame.T_world_camera.matrix[2, 2]))))


def _corners(start: Pose2D, segments: Sequence[tuple[float, float]]) -> list[Pose2D]:
    """The ends of a path's segments in the frame of the start; their headings mean nothing."""
    corners: list[Pose2D] = []
    x, y = start.x, start.y
    for metres, bearing in segments:
        x += metres * math.cos(start.yaw + bearing)
        y += metres * math.sin(start.yaw + bearing)
        corners.append(Pose2D(x, y, 0.0))
    return corners


def _toward(spot: Spot) -> dict[str, Any]:
    return {"angle": math.degrees(spot.heading), "distance": spot.metres, "segments": spot.segments}


def _edge(spot: Spot) -> dict[str, Any]:
    return {**_toward(spot), "width": spot.size, "labels": [list(label) for label in spot.labels]}


def _sighting(spot: Spot) -> dict[str, Any]:
    return {**_toward(spot), "views": round(spot.size)}


def _remembered(offer: Remembered) -> dict[str, Any]:
    found = offer.object
    return {**_toward(offer.spot), "id": found.id, "label": found.label, "place": found.place}
