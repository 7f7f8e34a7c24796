"""A world to search in by moving: a robot, its detector, a pixel policy and the memory behind the loop's ``World``.

One step is one action. Every action moves the robot, every new view goes into the memory, a look around is eleven
real turns, and when the policy stops the next look around begins. Perception stays here: the loop is told what the
detector saw and how far away depth says it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lastseen.action import Action
from lastseen.body import body_points
from lastseen.config import Settings
from lastseen.detection import Box, people_in
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.objects.snapshot import ObjectState
from lastseen.memory.places.tracker import Step
from lastseen.pose2d import Pose2D
from lastseen.protocols import Detector, Environment
from lastseen.search.drift import DriftCorrection
from lastseen.search.explored import ExploredMap, Spot
from lastseen.search.goal import Goal, Names, StopCheck
from lastseen.search.log import RunLog, view_record
from lastseen.search.panorama import LookAround
from lastseen.search.planning.decision import Decision, Surroundings
from lastseen.search.planning.node_graph import NodePath
from lastseen.search.policy.goal_pixel import detection_mask, target_detection
from lastseen.search.policy.protocol import PixelPolicy, allow, needs_depth
from lastseen.search.recall import Recall
from lastseen.search.route import Route, waypoints
from lastseen.search.world import Moved, Sight

_TILTED = math.radians(10.0)
"""Radians from level that are a tilt: more than the noise of a localizer, less than one look up or down."""

_NEARBY, _IN_VAIN = 3.0, 4
"""Metres around the robot, and bumps within them, from which it has to come at a goal from elsewhere."""


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
        settings: Settings,
        log: RunLog,
        with_images: bool = False,
    ) -> None:
        self.robot, self.detector, self.policy = robot, detector, policy
        self.goal, self.memory, self.recall = goal, memory, recall
        self.settings, self.log, self.with_images = settings, log, with_images
        self._trust = settings.stop.trust_planner
        actions = getattr(robot, "possible_actions", tuple(Action))
        allow(policy, actions)
        self._tilts = Action.LOOK_UP in actions and Action.LOOK_DOWN in actions
        self.check, self._names = StopCheck(goal.text, settings.stop), Names(goal)
        self.looks_around = 1
        """Looks around so far, each of which ends in a question to the planner."""
        self._around = LookAround(settings)
        self._route: Route | None = None
        """What is being followed; None while the robot looks around."""
        self._set_out = False
        """Whether anything was ever followed."""
        self._rejected = False
        """Whether the last stop at a flagged goal failed its check."""
        self._trusted_stop = False
        """Whether the policy stopped at a flagged goal and the settings take the planner's word for it."""
        self._any_depth = False
        self._bumped: list[Pose2D] = []
        """Where something was in the way to what was taken for the goal."""
        self._surroundings: tuple[int, Surroundings] | None = None
        self._steps_here = -1
        self.metres = 0.0
        self._record: dict[str, Any] = {}
        self._map = memory.current, memory.frame
        self.maps_entered = 0
        """How often the robot turned out to be in another map than it said."""
        self._drift = DriftCorrection(memory.space.walls)
        frame = self.frame = robot.reset()
        self.people: tuple[Box, ...] | None = None
        """Where people are in the newest image; None where nobody looked for them."""
        self._level = _pitch(frame)
        self.explored = self._new_map(frame.floor_pose)
        self._observe(frame, Step())

    @property
    def confirmed(self) -> bool:
        """Whether the goal was ever seen often enough in a row to count as seen."""
        return self.check.longest >= self.settings.stop.views

    @property
    def pose(self) -> Pose2D:
        """Where the robot stands, in the frame of its poses."""
        return self.frame.floor_pose

    def look(self, goal_text: str) -> Sight:
        """What the newest view shows; ``ready`` once a look around is complete."""
        del goal_text
        # the planner is asked at the start; where memory knows a path already, that is before the first look around
        # but by a pose that nothing speaks for yet it does not set out
        begins = not self._set_out and not self.memory.pose_uncertain
        complete = self._around.complete or (begins and bool(self.recall.remembered(self.pose)))
        idle = self._route is None
        return Sight(
            stamp=self.frame.stamp,
            visible=self.check.streak > 0 and not self._rejected and not self._trust,
            rejected=self._rejected,
            trusted_stop=self._trusted_stop,
            sure=self.check.sure,
            distance=self.check.distance,
            node_id=self.recall.node_at(self.pose),
            own_nodes=self.recall.own_nodes(),
            idle=idle,
            fresh=self._fresh,
            ready=not idle or complete,
            images=self._around.images() if self.with_images and idle and complete else (),
            around=self._look_at_surroundings() if idle and complete else Surroundings(),
        )

    @property
    def path(self) -> tuple[Pose2D, ...]:
        """The corners that are left of the path being walked; empty where none was planned."""
        return () if self._route is None else tuple(self._route.waypoints)

    def follow(self, decision: Decision, path: NodePath | None = None) -> Moved:
        """Do one action of what was decided: turn to the view and walk to its goal pixel, or along a known path."""
        if self._route is None or decision is not self._route.decision:
            self._route = self._begin(decision, path)
        return self._act()

    def confirm(self) -> Moved:
        """Look once more: the next turn of the look around, or the next action of the walk."""
        return self._act()

    def record(self) -> dict[str, Any]:
        """What the log says of the newest view besides the loop's own part: the action that led to it, and places."""
        return dict(self._record)

    def _look_at_surroundings(self) -> Surroundings:
        """What the planner may read; asked again at the same step, it says the same."""
        step_id = self.memory.current.spatial.step_id
        if self._surroundings is None or self._surroundings[0] != step_id:
            if self._around.complete:
                self.explored.looked_around()
                self.recall.looked_around(self.pose)
            edges, sightings = self.explored.survey(self.goal.text)
            self.recall.refresh()
            found = Surroundings(
                views=self._around.views(),
                unexplored=edges,
                sightings=sightings,
                remembered=self.recall.remembered(self.pose),
                rooms=self.memory.rooms(),
                here=self.pose,
                paths=self.recall.paths_from(self.pose),
                exhausted=self.recall.exhausted(),
                approach_failed=self._rejected,
                steps_here=self._steps_here,
            )
            self._surroundings = step_id, found
        return self._surroundings[1]

    def _begin(self, decision: Decision, path: NodePath | None) -> Route:
        """Begin to follow a decision: to the view of its heading, and along the path where one is known."""
        self._set_out, self._rejected = True, False
        segments, heading = decision.segments, decision.heading or 0.0
        if decision.node_id is not None and path is not None:
            segments = tuple(self.recall.segments_along(path, self.pose))
            heading = segments[0][1]
        flag = decision.goal_flag and not self._trust
        face = None
        if flag and not segments and (known := self._known_path()) is not None:
            segments, heading, face = known.segments, known.heading, Pose2D(known.x, known.y, 0.0)
        self.explored.chose(heading)
        self.recall.chose(heading)
        self._check_depth()
        route = Route(decision, self.settings, waypoints(self.pose, segments), face=face)
        # what is flagged and in this view already is walked to as it is seen
        if segments or not flag or target_detection(self.marked, self.goal.text) is None:
            route.turn_by(heading)
        return route

    def _known_path(self) -> Spot | None:
        """The path to the goal in view where one is known, and round what the robot ran into again and again."""
        vain = [pose for pose in self._bumped if pose.distance_to(self.pose) <= _NEARBY]
        if len(vain) >= _IN_VAIN:
            return self.recall.way_round(self._goals_in_view, self.pose, vain)
        return self.recall.approach(self._goals_in_view, self.pose)

    def _act(self) -> Moved:
        """One action: of the look around, of the turn to the chosen view, or of the policy that walks."""
        route = self._route
        if route is None:
            return self._do(self._level_camera() or Action.TURN_LEFT, panorama=True)
        if route.turns:
            return self._do(route.next_turn(), panorama=True)
        self._aim(route)
        action = self.policy.act()
        return self._policy_stopped(route) if action is Action.STOP else self._do(action)

    def _aim(self, route: Route) -> None:
        """Give the policy its goal pixel when the walk begins, and again whenever the goal is seen anew."""
        flag = route.decision.goal_flag
        seen = flag and target_detection(self.marked, self.goal.text) is not None
        if route.aimed and (self._trust or not seen):
            return
        pixel = route.goal_pixel(self.frame, self.marked, self.goal.text)
        if route.aimed:
            self.policy.refine(pixel)
        else:
            route.flagged = flag and (seen or not self.settings.stop.confirm_flag)
            self.policy.follow(pixel)
        route.aimed = True

    def _policy_stopped(self, route: Route) -> Moved:
        """The policy says stop: believe it, look again, go on to the next waypoint, or look around."""
        if self._trust:
            self._trusted_stop = route.flagged
        elif (turn := self._look_again(route)) is not None:
            return self._do(turn)
        if not self._trusted_stop:
            if self.policy.stop_reason == "reached" and route.next_segment(self.pose):
                return self._act()
            self._rejected = route.flagged and not self._trust and not self._at_goal()
        # the stop is no action of the robot and costs no step, unless nothing was walked since the last call: then it
        # costs one, so that no cycle of plan and stop is free; a goal that was reached ends the search instead
        free = route.walked and not (self._at_goal() or self._trusted_stop)
        self._look_around()
        if free:
            return self._act()
        self._fresh = False
        self._record = {**self._record, "action": None, "scene_analyzed": False, "scene": None}
        return Moved(action=Action.STOP.value)

    def _look_again(self, route: Route) -> Action | None:
        """A turn that keeps a goal in view which was seen too few times to stop at; None when it is no use."""
        found = target_detection(self.marked, self.goal.text)
        views, check = self.settings.stop.views, self.check
        enough = check.streak >= views and check.sure
        if found is None or check.streak == 0 or enough or route.looked_again >= views:
            return None
        route.looked_again += 1
        middle = 0.5 * (found.box[0] + found.box[2])
        return Action.TURN_LEFT if middle < 0.5 * self.frame.intrinsics.width else Action.TURN_RIGHT

    def _at_goal(self) -> bool:
        """Whether the loop will take this for the end of the search: seen often enough, and within reach."""
        search = self.settings.search
        if self._trust:
            return False
        return self.check.streak >= search.visible_streak and self.check.believed(within=search.success_distance)

    def _look_around(self) -> None:
        """Give up what is being followed and begin a look around with this view."""
        self._route = None
        self.looks_around += 1
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

    def _do(self, action: Action, *, panorama: bool = False) -> Moved:
        """Let the robot do one action, and take in the view that it leads to."""
        before = self._told_pose
        result = self.robot.step(action)
        if self._route is not None:
            self._route.walked |= action is Action.FORWARD
            if result.collided and self._route.decision.goal_flag:
                self._bumped.append(self.pose)
        self._observe(result.frame, Step(action=action, collided=result.collided, panorama=panorama))
        self.metres += before.distance_to(self._told_pose)
        return Moved(action=action.value)

    def _observe(self, frame: Frame, step: Step) -> None:
        """Everything that happens on a new view, in the order of the data: detect, remember, then what uses both."""
        self._fresh, self._told_pose = True, frame.floor_pose
        # walls that the robot may not be among, or of another map, say nothing of where it is
        lost = self.maps_entered > 0 or self.memory.pose_uncertain
        frame = self._drift.corrected(frame, update=not lost)
        self._any_depth = self._any_depth or bool(np.isfinite(frame.depth).any())
        detections = self.detector.detect(frame, (self.goal.text,))
        place = self.memory.current.spatial.current_place_id
        self.people = people_in(detections, self.detector, names=self.settings.labels.ignore)
        self.memory.observe(frame, detections=detections, step=step, people=self.people)
        # its poses may be of another map than the one that it is searched in
        self.frame = frame = self.memory.in_map(frame)
        if (self.memory.current, self.memory.frame) != self._map:
            self._enter_map()
        here = self.memory.current
        things = _things(here, len(detections))
        self.marked = self._names.vote(self.goal.marked(frame, detections), things)
        self._goals_in_view = [
            thing for one, thing in zip(self.marked, things, strict=True) if thing and one.label == self.goal.text
        ]
        self._steps_here = self._steps_here + 1 if place == here.spatial.current_place_id else 0
        self.log.events(here.place_events)
        self.check.see(frame, self.marked, self._names)
        if step.action is not None:
            self.policy.moved(step.action, collided=step.collided)
        if self._route is None and self._level_camera() is None:
            self._around.add(frame, self.marked)
        self.policy.see(frame)
        self._explore(frame, collided=step.collided)
        self.recall.see(frame, {thing.id for thing in things if thing})
        self._ask_anew(here.place_events)
        self._record = view_record(here, frame, step, detections)

    def _enter_map(self) -> None:
        """Give up what was planned in the map that the robot turned out not to be in; exploring begins anew."""
        self._map = self.memory.current, self.memory.frame
        self.explored = self._new_map(self.pose)
        self._route, self._surroundings, self._set_out = None, None, False
        self._around, self._bumped = LookAround(self.settings), []
        # what was voted on is numbered anew in another memory
        self._names = Names(self.goal)
        self.policy.reset()
        self.maps_entered += 1

    def _new_map(self, start: Pose2D) -> ExploredMap:
        """All is unexplored; where memory knows nothing like the goal, first what nobody has seen yet."""
        before = None if self.recall.known else self.memory.current.floor
        return ExploredMap(self.settings.explored, policy=self.settings.policy, start=start, seen_before=before)

    def _explore(self, frame: Frame, *, collided: bool) -> None:
        """Put the view on the map of this search: what is floor, and about where which thing stands."""
        self.explored.moved_to(frame.floor_pose, collided=collided)
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

    def _ask_anew(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Look around, and ask the planner anew, when the robot begins to go in circles and the settings say so.

        What memory sent the robot to and is seen not to be there is given up at once, for the next that it knows.
        """
        route = self._route
        if route is not None and route.decision.source == "memory" and self.recall.gone_ahead:
            self._look_around()
            self._set_out = False
            return
        if route is None or all(event["event"] not in {"stuck", "ababa"} for event in events):
            return
        planner = self.settings.planner
        if planner.recall_on_pattern and not route.decision.goal_flag and self.looks_around < planner.max_calls:
            self._look_around()

    def _check_depth(self) -> None:
        """Refuse to go on without any depth where the policy walks by it, or a stop is checked by it."""
        if not self._any_depth and (needs_depth(self.policy) or not self._trust):
            remedy = "use --policy pixelnav:CHECKPOINT with stop.trust_planner = true, or a depth camera"
            raise InvalidValue("depth", None, "is needed to walk by it, or to check a stop", remedy=remedy)


def _things(memory: Memory, count: int) -> list[ObjectState | None]:
    """What memory takes each of the detections of the newest view for."""
    ids = memory.matched_detections
    if len(ids) != count:
        # a memory that this view began: it was given it in another form
        return [None] * count
    states = {state.id: state for state in memory.browse.states(sorted({one for one in ids if one is not None}))}
    return [None if one is None else states.get(one) for one in ids]


def _pitch(frame: Frame) -> float:
    """Radians that the camera looks up, by the frame's pose."""
    return math.asin(max(-1.0, min(1.0, float(frame.T_world_camera.matrix[2, 2]))))
