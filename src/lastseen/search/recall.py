"""What memory offers to a robot that looks for something: remembered objects with paths to see them again, and nodes.

Objects that fit the goal are gone to from the nearest viewpoint, over the floor that memory knows; each is given up
when a look from where it used to be seen did not show it. Anchors become the nodes that the belief holds.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lastseen.config import Settings
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.nodes_of_memory import NodesOfMemory
from lastseen.memory.object import Answer, Object, Point
from lastseen.memory.objects.snapshot import ObjectState
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.search.explored import Spot
from lastseen.search.paths import FloorPaths, Segment, rounded_path, simplified
from lastseen.search.planning.node_graph import NodeGraph, NodePath
from lastseen.search.planning.prompt import Where

_MOST_ASKED = 50
"""Objects that memory is asked for: more of a kind than a home holds."""
_ENTRY = 1.5
"""Metres within which the robot can step onto a remembered path: the default localization radius."""
_ENTERED = -1
_OFF = 0.3
"""Metres that a straight segment may lie off the nodes it stands for: less than half a doorway."""
_LOOKED = 1.5
"""Metres around a look around within which what is at a node would have been seen again."""
_CLOSE = 2.0
"""Metres from which an object would surely have been seen again, where it was seen from there before."""
_SAME_SPOT = 1.0
"""Metres between two spots from which the same is seen."""
_EMPTY_VIEWS, _EMPTY_RANGE = 3, 2.5
"""Views running, and metres, in which a spot shows empty before its object is given up: a detector misses a small
thing in one view of three from there."""
_BORDER = 0.1
"""Share of the width along the sides of a view in which a thing is cut off."""
_THROUGH = 0.15
"""Metres behind an object's middle that a view must reach to show its spot empty: what hangs flat on a wall, stands
behind something or is seen from its side is never given up from afar."""
_SHORT_OF = 0.5
"""Metres before an object's middle at which a path to it ends: the robot turns to it and does not run into it."""
_IN_REACH = 1.3
"""Metres from an object's middle at which its near side is in reach: half of a wide thing, and what a stop allows."""
_AHEAD, _MARGIN = 0.3, 0.1
"""Metres before the robot's middle at which it ran into something, and metres nearer to a goal than a stop needs."""
_MOST = 3
"""Objects offered at a time, the nearest; when they were looked at, the next ones are."""
_SAME_HEADING = math.radians(5.0)
_PROGRESS, _MOST_STRIKES = 0.5, 2
"""An object that two tries brought less than two steps nearer is out of reach."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An object that memory takes for the goal, and the path to where it can be seen again."""

    object: Object
    spot: Spot


class Recall:
    """The memory as one search for one goal reads it; poses are in the world frame of the robot's frames."""

    def __init__(self, goal: str, memory: Memory, settings: Settings) -> None:
        self.goal, self.memory, self.settings = goal, memory, settings
        self.answer: Answer = self.memory.find(goal, k=_MOST_ASKED)
        # what is first seen on this walk is followed by sight, not by memory
        self.known = self._hits()
        self._known = frozenset(hit.id for hit in self.known)
        self._first_own_node = len(memory.spatial.graph.anchors)
        self.nodes = NodesOfMemory(memory)
        self.graph = self._graph()
        self._looked: list[Pose2D] = []
        self._offered: list[Remembered] = []
        self._tries: dict[str, tuple[float, int]] = {}
        self._going_to: str | None = None
        self._empty_views: Counter[str] = Counter()
        """How often in a row the spot of each known object was in plain view without it."""

    def says(self) -> str:
        """What memory knows of the goal, as one line for people."""
        if self.answer.status != "not_found":
            return f"memory: {self.answer.reason}"
        if self.known:
            ids = ", ".join(each.id for each in self.known)
            return f"memory saw it too little to be sure, and will look there: {ids}"
        return f"memory does not know it: {self.answer.reason}"

    def refresh(self) -> None:
        """Take in what the memory learned since."""
        self.nodes.refresh()
        self.graph = self._graph()

    def own_nodes(self) -> range:
        """The nodes that this walk made itself: nothing new is to be seen from where it just was."""
        return range(self._first_own_node, len(self.memory.spatial.graph.anchors))

    def node_at(self, pose: Pose2D) -> int | None:
        """The nearest node (ties: the lower id), None where none is near enough to walk to in a straight line."""
        near = [
            (distance, node_id)
            for node_id, node in self.nodes.store.nodes.items()
            if (distance := node.pose.distance_to(pose)) <= self.settings.search.node_reach and self._is_here(node_id)
        ]
        return min(near)[1] if near else None

    def looked_around(self, here: Pose2D) -> None:
        """A full turn was made here: what is around would have been seen."""
        self._looked.append(here)

    def exhausted(self) -> set[int]:
        """Nodes not worth a visit: looked around from, made on this walk, or named for objects that are not there."""
        found = set(self.own_nodes())
        named = self._left_of_known()
        gone = {hit.id for hit in named if self._is_done(hit)}
        labels = {hit.label for hit in named}
        for node_id, node in self.nodes.store.nodes.items():
            about = [hit for hit in named if _floor(hit).distance_to(node.pose) <= self.settings.search.node_reach]
            says = not labels.isdisjoint(node.tags)
            looked = self._is_here(node_id) and self._was_looked_from(node.pose)
            if looked or (about and says and gone.issuperset(hit.id for hit in about)):
                found.add(node_id)
        return found

    def see(self, frame: Frame, seen: Collection[str]) -> None:
        """Take in one view; ``seen`` are the ids of the objects in it. What its spot shows empty for is given up."""
        camera = frame.T_world_camera.inverse()
        for hit in self.known:
            if hit.id in seen:
                self._empty_views[hit.id] = 0
            elif self._shows_spot(frame, camera, hit):
                self._empty_views[hit.id] += 1

    @property
    def gone_ahead(self) -> bool:
        """Whether the object that the robot is on the way to was seen not to be there."""
        return self._going_to is not None and self._was_seen_empty(self._going_to)

    def _shows_spot(self, frame: Frame, camera: Pose3D, hit: Object) -> bool:
        """Whether a view goes through where an object was, from as near as it was seen from before."""
        middle = np.asarray(hit.position)
        x, y, z = (camera.rotation @ middle + camera.translation).tolist()
        lens, (height, width) = frame.camera_of_depth, frame.depth.shape
        if not 0.0 < z <= _EMPTY_RANGE:
            return False
        column, row = round(lens.fx * x / z + lens.cx), round(lens.fy * y / z + lens.cy)
        if not (_BORDER * width <= column < (1.0 - _BORDER) * width and 0 <= row < height):
            return False
        depth = frame.depth[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
        if not bool((depth >= z + _THROUGH).all()):
            return False
        here = frame.floor_pose
        away = math.dist((here.x, here.y), hit.position[:2])
        seen_from = [math.dist(spot, hit.position[:2]) for spot in self.memory.viewpoints(hit.id)]
        return away <= max(seen_from, default=0.0)

    def _was_seen_empty(self, object_id: str) -> bool:
        return self._empty_views[object_id] >= _EMPTY_VIEWS

    def chose(self, heading: float) -> None:
        """A direction was taken, radians from where the robot faces; counts against the object it leads to."""
        self._going_to = None
        for offer in self._offered:
            if abs(math.remainder(offer.spot.heading - heading, math.tau)) <= _SAME_HEADING:
                self._going_to = offer.object.id
                before, strikes = self._tries.get(offer.object.id, (math.inf, -1))
                nearer = offer.spot.metres < before - _PROGRESS
                self._tries[offer.object.id] = min(before, offer.spot.metres), 0 if nearer else strikes + 1
                return

    def left(self) -> list[Object]:
        """Objects that fit the goal and that nobody has looked for yet."""
        return [hit for hit in self._left_of_known() if not self._is_done(hit)]

    def remembered(self, here: Pose2D, *, most: int | None = _MOST) -> list[Remembered]:
        """Objects that fit the goal and that nobody has looked for yet, the shortest path over known floor first."""
        self._offered = []
        left = self.left()
        cell = self.memory.floor.cell_of(here.x, here.y)
        if not left or cell is None:
            return []
        clear, smeared = FloorPaths(self.memory.floor, here, cell, smeared=False), None
        for hit in left:
            spot = self._spot(hit.id, hit.position, here, clear)
            if spot is None:
                # a door that was seen shut, or a map that drifted: better a doubtful path than none
                smeared = smeared or FloorPaths(self.memory.floor, here, cell)
                spot = self._spot(hit.id, hit.position, here, smeared)
            if spot is not None:
                self._offered.append(Remembered(hit, spot))
        self._offered.sort(key=lambda each: (each.spot.metres, each.object.id))
        self._offered = self._offered[:most]
        return list(self._offered)

    def paths_from(self, here: Pose2D) -> dict[int, Where]:
        """For every node the metres of path from here, the angle at which it begins, and its segments.

        A path is entered at any node close by; where there is none, at the nearest node in a straight line.
        """
        nodes = self.graph.nodes
        entries = sorted(
            (node.pose.distance_to(here), node_id) for node_id, node in nodes.items() if self._is_here(node_id)
        )
        near = [entry for entry in entries if entry[0] <= _ENTRY] or entries[:1]
        queue = [(distance, node_id, _ENTERED) for distance, node_id in near]
        length: dict[int, float] = {}
        came: dict[int, int] = {}
        while queue:
            so_far, node_id, before = heapq.heappop(queue)
            if node_id in length:
                continue
            length[node_id], came[node_id] = so_far, before
            for other in self.graph.neighbors(node_id):
                if other not in length:
                    step = nodes[node_id].pose.distance_to(nodes[other].pose)
                    heapq.heappush(queue, (so_far + step, other, node_id))
        return {node_id: self._where(here, node_id, metres, came) for node_id, metres in sorted(length.items())}

    def shortest_path(
        self, start: int, goal: int, *, closed: Callable[[MemoryNode], bool] = lambda _: False
    ) -> NodePath | None:
        """The shortest path between two nodes as the memory knows them now; what proposals are checked against."""
        return self.graph.shortest_path(start, goal, closed=closed)

    def segments_along(self, path: NodePath, here: Pose2D) -> list[Segment]:
        """A path over nodes as straight segments from here."""
        poses = [here, *(self.graph.nodes[node_id].pose for node_id in path.nodes)]
        return simplified([(pose.x, pose.y) for pose in poses], yaw=here.yaw, off=_OFF)

    def _left_of_known(self) -> list[Object]:
        """Of the objects that were known when the search began, those that memory still takes for the goal."""
        return [hit for hit in self._hits() if hit.id in self._known] if self._known else []

    def _hits(self) -> tuple[Object, ...]:
        """The objects that memory takes for the goal now; where none is confirmed, those seen from one side only.

        A robot that walks straight up to a thing sees it from one side. That is too little to vouch for it, and
        enough to go and look: the search believes what it sees there, not what it was told.
        """
        hits = self.memory.find(self.goal, k=_MOST_ASKED).fitting
        return hits or self.memory.find(self.goal, k=_MOST_ASKED, include_tentative=True).fitting

    def _graph(self) -> NodeGraph:
        return NodeGraph.from_anchors(
            self.nodes.store,
            self.memory.spatial.graph,
            same_spot=self.settings.search.same_spot,
            storeys=self.memory.space.storey_of_anchor,
        )

    def _is_here(self, node_id: int) -> bool:
        """Whether a node is on the storey that the robot is on."""
        return not self.memory.spatial.on_other_storey(node_id)

    def approach(self, seen: Sequence[ObjectState], here: Pose2D) -> Spot | None:
        """The path to the nearest of the goals, in view or remembered; None where walking by sight is as good.

        What is in view may be behind a table, or farther off than what memory knows to be round the corner.
        """
        cell = self.memory.floor.cell_of(here.x, here.y)
        if cell is None or not seen:
            return None
        paths = FloorPaths(self.memory.floor, here, cell, smeared=False)
        things = {hit.id: hit.position for hit in self._left_of_known() if not self._is_done(hit)}
        things |= {one.id: _point(one) for one in seen}
        found = [
            (spot.metres, name, spot)
            for name, position in sorted(things.items())
            if (spot := self._spot(name, position, here, paths, also=((here.x, here.y),))) is not None
        ]
        if not found:
            return None
        _, name, spot = min(found, key=lambda each: each[:2])
        straight = len(spot.segments) == 1 and len(seen) == 1 and name == seen[0].id
        return None if straight else spot

    def way_round(self, seen: Sequence[ObjectState], here: Pose2D, bumps: Sequence[Pose2D]) -> Spot | None:
        """The path to within reach of a goal in view round what the robot ran into, hoping that the unknown is floor.

        ``bumps`` are the poses from which forward was blocked. The path ends where what is known ends.
        """
        floor, within = self.memory.floor, self.settings.search.success_distance - _MARGIN
        cell = floor.cell_of(here.x, here.y)
        if cell is None:
            return None
        closed = [bump.compose(Pose2D(_AHEAD, 0.0, 0.0)) for bump in bumps]
        paths = FloorPaths(floor, here, cell, smeared=False, hopeful=True, closed=closed)
        cells = np.argwhere(np.isfinite(paths.lengths))
        at, lengths = np.asarray(floor.point_of((0, 0))) + cells * floor.settings.cell, paths.lengths[tuple(cells.T)]
        found = []
        for thing in seen:
            x, y, z = _point(thing)
            near = np.hypot(*(at - (x, y)).T) - 0.5 * min(thing.extent[:2]) <= within
            if near.any() and self.memory.space.storeys.is_here(z):
                best = int(np.argmin(np.where(near, lengths, np.inf)))
                found.append((float(lengths[best]), thing.id, best, x, y))
        if not found:
            return None
        metres, _, best, x, y = min(found)
        i, j = cells[best].tolist()
        return Spot(x, y, metres, tuple(paths.segments((i, j))), 1.0)

    def _spot(
        self, name: str, position: Point, here: Pose2D, paths: FloorPaths, *, also: Sequence[tuple[float, float]] = ()
    ) -> Spot | None:
        """The path to the best of a thing's viewpoints, and on towards it; None where none can be reached."""
        floor, (x, y, z) = self.memory.floor, position
        if not self.memory.space.storeys.is_here(z):
            # the floor under a thing upstairs leads nowhere near it
            return None
        spots = []
        for viewpoint in (*self.memory.viewpoints(name), *also):
            cell = floor.cell_of(*viewpoint)
            apart = math.dist(viewpoint, (x, y))
            if cell is not None and math.isfinite(paths.lengths[cell]):
                total = float(paths.lengths[cell]) + apart
                spots.append((not self._walkable(viewpoint, (x, y)), total, apart, viewpoint, cell))
        if not spots:
            return None
        _, total, apart, (from_x, from_y), cell = min(spots)
        segments = paths.segments(cell) if cell != paths.here else []
        if apart > 2.0 * _SHORT_OF:
            bearing = math.atan2(y - from_y, x - from_x)
            segments.append((apart - _SHORT_OF, wrap_angle(bearing - here.yaw)))
        return Spot(x, y, total, tuple(segments or paths.segments(cell)), 1.0)

    def _walkable(self, spot: tuple[float, float], thing: tuple[float, float]) -> bool:
        """Whether a robot can go straight from a viewpoint to within reach of the thing that it saw from there."""
        short = 1.0 - _IN_REACH / max(math.dist(spot, thing), _IN_REACH)
        end = spot[0] + short * (thing[0] - spot[0]), spot[1] + short * (thing[1] - spot[1])
        return self.memory.floor.straight(spot, end, through=~self.memory.floor.blocked, beyond=2)

    def _is_done(self, hit: Object) -> bool:
        """Whether there is no use in going: a look from where it was seen did not show it, or it is out of reach."""
        if self._was_seen_empty(hit.id):
            return True
        x, y, _ = hit.position
        spots = sorted((math.dist(spot, (x, y)), *spot) for spot in self.memory.viewpoints(hit.id))
        close = [(a, b) for apart, a, b in spots if apart <= _CLOSE] or [(a, b) for _, a, b in spots[:1]]
        looked = any(self._was_looked_from(Pose2D(a, b, 0.0), within=_SAME_SPOT) for a, b in close)
        return looked or self._tries.get(hit.id, (0.0, 0))[1] >= _MOST_STRIKES

    def _was_looked_from(self, pose: Pose2D, *, within: float = _LOOKED) -> bool:
        return any(pose.distance_to(each) <= within for each in self._looked)

    def _where(self, here: Pose2D, node_id: int, metres: float, came: Mapping[int, int]) -> Where:
        passed = [node_id]
        while came[passed[-1]] != _ENTERED:
            passed.append(came[passed[-1]])
        poses = [here, *(self.graph.nodes[each].pose for each in reversed(passed))]
        segments = simplified([(pose.x, pose.y) for pose in poses], yaw=here.yaw, off=_OFF)
        path = rounded_path(segments, longest=self.settings.context.max_path)
        return {"distance": round(metres, 2), "angle": path[0][1], "path": path}


def _point(thing: ObjectState) -> Point:
    x, y, z = thing.xyz_world.tolist()
    return x, y, z


def _floor(hit: Object) -> Pose2D:
    return Pose2D(hit.position[0], hit.position[1], 0.0)
