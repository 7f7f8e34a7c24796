"""Walks to a goal pixel by depth and geometry alone: a local map from depth, and the shortest path on it."""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action, apply
from lastseen.body import body_points
from lastseen.config.memory import DeadReckoning
from lastseen.config.search import Policy, Stop
from lastseen.frame import Frame
from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle
from lastseen.search.policy.goal_pixel import GoalPixel
from lastseen.search.policy.protocol import StopReason

_WINDOW = 7.0
"""Metres: half width of the local map; a waypoint lies at most 4 m away, detours included."""
_MAX_COLLISIONS = 4
"""Per waypoint; then it is out of reach from here."""
_MAX_DETOUR = 2.5
"""Times the straight path; a longer one is left to the planner, which knows more."""

_MOST_EXPANDED = 6000
"""Cells a search may look at: a quarter of the map, some 30 ms; what is farther round is not a local detour."""
_DIAGONAL = math.sqrt(2.0)
_NEIGHBOURS = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


class LocalMap(FloorGrid):
    """The window of floor around where it was started.

    Unknown cells are passable: a policy that only walks where it has looked never leaves a room.
    """

    def __init__(self, origin: Pose2D, settings: Policy) -> None:
        super().__init__(settings, origin=origin, window=_WINDOW)

    def path(
        self, start: Pose2D, goal: tuple[float, float], *, longest: float = math.inf
    ) -> list[tuple[float, float]] | None:
        """The shortest path as points, start and goal included; None when there is none.

        A goal inside an obstacle (a target thing, a wall) is replaced by the reachable cell nearest to it; with
        ``longest``, metres, by the nearest that can be on a path of that length.
        """
        begin, end = self.cell_of(start.x, start.y), self.nearest_inside(goal)
        if begin is None:
            return None
        blocked = self.blocked.copy()
        # the robot stands where it stands, whatever the map says
        i, j = begin
        blocked[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = False
        cells = _shortest(blocked, begin, _nearest_open(blocked, end), longest=longest / self.settings.cell)
        return None if cells is None else [self.point_of(cell) for cell in cells]


def _nearest_open(blocked: NDArray[np.bool_], cell: tuple[int, int]) -> tuple[int, int]:
    """The cell itself or, where something is in it, the open cell nearest to it (ties by index)."""
    if not blocked[cell]:
        return cell
    open_cells = np.argwhere(~blocked)
    if not len(open_cells):
        return cell
    i, j = open_cells[int(np.argmin(((open_cells - np.array(cell)) ** 2).sum(axis=1)))]
    return int(i), int(j)


def _shortest(
    blocked: NDArray[np.bool_], begin: tuple[int, int], end: tuple[int, int], *, longest: float = math.inf
) -> list[tuple[int, int]] | None:
    """A* over eight neighbours; ends at the reached cell nearest to the end, None when no step leads nearer.

    Cells through which no path to the end is shorter than ``longest``, in cells, are left out.
    """
    size = blocked.shape[0]
    wall: list[bool] = blocked.reshape(-1).tolist()
    start, goal = begin[0] * size + begin[1], end[0] * size + end[1]

    def estimate(cell: int) -> float:
        di, dj = abs(cell // size - end[0]), abs(cell % size - end[1])
        return float(max(di, dj) + (_DIAGONAL - 1.0) * min(di, dj))

    cost = {start: 0.0}
    came: dict[int, int] = {}
    queue = [(estimate(start), start)]
    done: set[int] = set()
    nearest, nearest_left = start, estimate(start)
    while queue and len(done) < _MOST_EXPANDED:
        _, cell = heapq.heappop(queue)
        if cell in done:
            continue
        done.add(cell)
        left = estimate(cell)
        if left < nearest_left:
            nearest, nearest_left = cell, left
        if cell == goal:
            break
        i, j = divmod(cell, size)
        for di, dj, length in _NEIGHBOURS:
            ni, nj = i + di, j + dj
            if not (0 <= ni < size and 0 <= nj < size):
                continue
            other = ni * size + nj
            if wall[other] or other in done:
                continue
            total = cost[cell] + length
            if total < cost.get(other, math.inf) and total + estimate(other) <= longest:
                cost[other], came[other] = total, cell
                heapq.heappush(queue, (total + estimate(other), other))
    if nearest == start and start != goal:
        return None
    cells = [nearest]
    while cells[-1] != start:
        cells.append(came[cells[-1]])
    return [divmod(cell, size) for cell in reversed(cells)]


_LOOK_AHEAD = 1.2
"""Metres along the path to steer for: long enough to smooth the eight directions of the grid."""
_WIGGLE = 1.5
"""How many half turns off the path the robot may go on straight ahead while nothing is there."""
_PAST_A_BUMP = 3.0
"""The same just after a bump, when straight at the goal is known not to work."""


class GeometricPixelPolicy:
    """Feed it every frame with ``see``, give it a goal with ``follow``, and ask ``act`` once a step.

    It keeps its own action-only pose, in which a forward that ended in a collision does not count: the bump is felt
    by the robot, whatever the literal dead reckoning of the memory says.
    """

    def __init__(
        self, settings: Policy | None = None, *, stop: Stop | None = None, motion: DeadReckoning | None = None
    ) -> None:
        self.settings = settings or Policy()
        self.stop = stop or Stop()
        self.motion = motion or DeadReckoning()
        self.stop_reason: StopReason | None = None
        self._half_turn = math.radians(self.motion.turn_angle) / 2.0
        self.pose = ORIGIN
        self._map = LocalMap(self.pose, self.settings)
        self.reset()

    def reset(self) -> None:
        """Give up the goal: a new look around begins.

        What was seen of the floor around here is kept: what is low and close by is below the picture now.
        """
        before, self._map = self._map, LocalMap(self.pose, self.settings)
        self._map.take_in(before, ORIGIN)
        self._goal: tuple[float, float] | None = None
        self._goal_kind = "floor"
        self._actions = 0
        self._collisions = 0
        self._bumped_at: Pose2D | None = None

    def moved(self, action: Action, *, collided: bool) -> None:
        """Take note of an action that was done, by this policy or by anyone."""
        if collided and action is Action.FORWARD:
            self._map.mark_blocked(self.pose)
            self._collisions += 1
            self._bumped_at = self.pose
        else:
            self.pose = apply(self.pose, action, motion=self.motion)

    def see(self, frame: Frame) -> None:
        """Take in the depth of a frame seen from the present pose."""
        self._map.add(body_points(frame), self.pose)

    def follow(self, pixel: GoalPixel) -> None:
        """Walk to the point that a pixel of the present view shows."""
        self.refine(pixel)
        self._actions, self._collisions = 0, 0
        self.stop_reason = None

    def refine(self, pixel: GoalPixel) -> None:
        """Correct the goal by a pixel that shows it better; the count of actions goes on."""
        x, y, _ = pixel.point
        there = self.pose.compose(Pose2D(x, y, 0.0))
        self._goal, self._goal_kind = (there.x, there.y), pixel.kind

    def act(self) -> Action:
        """The next action towards the goal; STOP with ``stop_reason`` set when it ends here."""
        if self._goal is None:
            return self._end("blocked")
        goal = Pose2D(*self._goal, 0.0)
        near = self.stop.reach if self._goal_kind == "target" else self.settings.waypoint_reached
        if self.pose.distance_to(goal) <= near:
            # a target is stopped at face to face, so that the camera can verify it
            turn = self._turn_to(goal) if self._goal_kind == "target" else None
            return turn or self._end("reached")
        if self._actions >= self.settings.max_actions:
            return self._end("exhausted")
        if self._collisions >= _MAX_COLLISIONS:
            return self._end("blocked")
        self._actions += 1
        path = self._path(goal)
        if path is None or len(path) < 2:
            turn = self._turn_to(goal) if self._goal_kind == "target" else None
            return turn or self._end("blocked")
        return self._towards(self._steer(path))

    def _path(self, goal: Pose2D) -> list[tuple[float, float]] | None:
        """The path to the goal; None where it would be a long way round."""
        longest = _MAX_DETOUR * max(self.pose.distance_to(goal), 1.0)
        path = self._map.path(self.pose, (goal.x, goal.y))
        if path is None or sum(math.dist(a, b) for a, b in itertools.pairwise(path)) <= longest:
            return path
        # the open floor nearest to a thing at a wall may lie in the next room: this side of the wall is near enough
        return self._map.path(self.pose, (goal.x, goal.y), longest=longest) if self._goal_kind == "target" else None

    def _towards(self, there: Pose2D) -> Action:
        """Turn or go; half a turn off is near enough while the path ahead is free, or it would wiggle for ever."""
        bearing = self.pose.bearing_to(there)
        ahead = self.pose.compose(Pose2D(2.0 * self.motion.forward_step, 0.0, 0.0))
        slack = _WIGGLE if self._straight((ahead.x, ahead.y)) else 1.0
        bump = self._bumped_at
        if bump is not None and (bump.x, bump.y) == (self.pose.x, self.pose.y):
            # the same step would end at the same thing: turn away from it and take one step past
            slack = _PAST_A_BUMP
            if bump == self.pose:
                return Action.TURN_LEFT if bearing >= 0 else Action.TURN_RIGHT
        if abs(bearing) <= slack * self._half_turn + 1e-6:
            return Action.FORWARD
        return Action.TURN_LEFT if bearing > 0 else Action.TURN_RIGHT

    def _steer(self, path: list[tuple[float, float]]) -> Pose2D:
        """The farthest point of the path within the look-ahead that can be seen in a straight line."""
        target = path[1]
        for point in path[1:]:
            if math.dist(point, (self.pose.x, self.pose.y)) > _LOOK_AHEAD or not self._straight(point):
                break
            target = point
        return Pose2D(*target, 0.0)

    def _straight(self, point: tuple[float, float]) -> bool:
        # the robot stands where it stands, whatever the map says of its own cell
        return self._map.straight((self.pose.x, self.pose.y), point, through=~self._map.blocked, beyond=1)

    def _turn_to(self, there: Pose2D) -> Action | None:
        bearing = wrap_angle(self.pose.bearing_to(there))
        if abs(bearing) <= self._half_turn + 1e-6:
            return None
        return Action.TURN_LEFT if bearing > 0 else Action.TURN_RIGHT

    def _end(self, reason: StopReason) -> Action:
        self.stop_reason = reason
        return Action.STOP
