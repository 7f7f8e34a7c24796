"""What a robot follows until the next look around: a decision as turns, waypoints and a goal pixel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.pose2d import Pose2D
from lastseen.search.paths import Segment
from lastseen.search.planning.decision import Decision
from lastseen.search.policy.goal_pixel import GoalPixel, choose_goal_pixel, view_of_angle, waypoint_pixel


@dataclass(slots=True)
class Route:
    """One decision being followed.

    ``turns`` are the turns left before the walk, positive to the left; ``rest`` is what remains of the wanted angle
    then, in degrees. ``aimed`` tells that the policy was given its goal pixel, ``flagged`` that it walks to what the
    planner took for the goal, ``walked`` that the robot went forward at all, and ``looked_again`` counts the extra
    looks at a goal that was seen too few times to stop at. ``face`` is what to turn to at the end of the waypoints.
    """

    decision: Decision
    settings: Settings
    waypoints: list[Pose2D] = field(default_factory=list)
    turns: int = 0
    rest: float = 0.0
    aimed: bool = False
    flagged: bool = False
    walked: bool = False
    looked_again: int = 0
    face: Pose2D | None = None

    def turn_by(self, heading: float) -> None:
        """Turn to the view of a heading in radians, and leave the rest of the angle to the goal pixel."""
        views = self.settings.panorama.views
        index, self.rest = view_of_angle(math.degrees(heading), views=views)
        turns = index if index <= views // 2 else index - views
        self.turns = turns * round(360.0 / views / self.settings.dead_reckoning.turn_angle)

    def next_turn(self) -> Action:
        """The next of the turns that are left."""
        left = self.turns > 0
        self.turns -= 1 if left else -1
        return Action.TURN_LEFT if left else Action.TURN_RIGHT

    def next_segment(self, pose: Pose2D) -> bool:
        """Turn to the next waypoint that is not reached yet; False at the end of the path."""
        near = self.settings.policy.waypoint_reached
        ahead = itertools.dropwhile(lambda waypoint: pose.distance_to(waypoint) <= near, self.waypoints[1:])
        self.waypoints = list(ahead)
        there = self.waypoints[0] if self.waypoints else self.face
        if there is None:
            return False
        if not self.waypoints:
            self.face = None
        self.turn_by(pose.bearing_to(there))
        self.aimed = False
        return True

    def goal_pixel(self, frame: Frame, detections: Sequence[Detection], target: str) -> GoalPixel:
        """The pixel of this view to walk to: towards the next waypoint, else by the decision's flag and angle."""
        if self.waypoints:
            metres = frame.floor_pose.distance_to(self.waypoints[0])
            return waypoint_pixel(frame, rest_deg=self.rest, metres=metres, settings=self.settings.policy)
        return choose_goal_pixel(
            frame,
            detections,
            target=target,
            goal_flag=self.decision.goal_flag,
            rest_deg=self.rest,
            settings=self.settings.policy,
        )


def waypoints(start: Pose2D, segments: Sequence[Segment]) -> list[Pose2D]:
    """The ends of a path's segments in the frame of the start; their headings mean nothing."""
    found: list[Pose2D] = []
    x, y = start.x, start.y
    for metres, bearing in segments:
        x += metres * math.cos(start.yaw + bearing)
        y += metres * math.sin(start.yaw + bearing)
        found.append(Pose2D(x, y, 0.0))
    return found
