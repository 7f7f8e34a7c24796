"""The map of an earlier visit, for a search that starts somewhere in it: nodes, things, floor, and the pose.

Dead reckoning starts at zero in every episode, so the old map is of use only with a start pose in it. Whoever
localizes the robot gives that pose; from there the actions carry it along, errors included.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lastseen.config.seeking import Context, Search
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.planning.directions import Where
from lastseen.planning.node_graph import NodeGraph
from lastseen.planning.ways import straightened, told_way
from lastseen.policy.explored import Spot
from lastseen.policy.floor_ways import FloorWays
from lastseen.policy.local_map import LocalMap
from lastseen.pose2d import Pose2D, wrap_angle

_ENTRY = 1.5
"""Metres within which the robot can step onto a way of the old map: the localization radius of section 15."""
_ENTERED = -1
_OFF = 0.3
"""Metres that a straight stretch may lie off the nodes it stands for: less than half a doorway."""
_LOOKED = 1.5
"""Metres around a look around within which what is at a node would have been seen again."""
_CLOSE = 2.0
"""Metres from which a thing would surely have been seen again, where it was seen from there before."""
_SAME_SPOT = 1.0
"""Metres between two spots from which the same is seen."""
_SHORT_OF = 0.5
"""Metres before a thing's middle at which a way to it ends: the robot turns to it and does not run into it."""
_MOST = 3
"""Spots told: the nearest ones; when they were looked at, the next ones are."""
_SAME_HEADING = math.radians(5.0)
_PROGRESS, _MOST_STRIKES = 0.5, 2
"""A thing that two tries brought less than two steps nearer is out of reach."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing of the earlier visit: what it was called, where it stood, and the spots it was seen from.

    The nearest floor may lie behind a wall; what was seen from a spot can be seen from there again.
    """

    label: str
    x: float
    y: float
    seen_from: tuple[tuple[float, float], ...]

    @property
    def pose(self) -> Pose2D:
        """Where it stood; the heading means nothing."""
        return Pose2D(self.x, self.y, 0.0)


class KnownMap:
    """Nodes, things and floor in the frame of the earlier visit, and the robot's start pose in that frame."""

    def __init__(
        self,
        store: SemanticMemoryStore,
        ways: NodeGraph,
        start: Pose2D,
        settings: Context | None = None,
        *,
        things: Sequence[Thing] = (),
        floor: LocalMap | None = None,
        node_reach: float = Search().node_reach,
    ) -> None:
        self.store, self.ways, self.start = store, ways, start
        self.settings = settings or Context()
        self.things, self.floor, self.node_reach = tuple(things), floor, node_reach
        self._looked: list[Pose2D] = []
        self._offered: list[tuple[Thing, Spot]] = []
        self._tries: dict[Thing, tuple[float, int]] = {}

    def here(self, moved: Pose2D) -> Pose2D:
        """Where the robot is in the old map after a motion since the start."""
        return self.start.compose(moved)

    def looked_around(self, here: Pose2D) -> None:
        """A full turn was made here: what is at the nodes around would have been seen."""
        self._looked.append(here)

    def looked_at(self, target: str) -> set[int]:
        """Nodes not worth a visit any more: looked around from, or named for things that are not there now."""
        named = [thing for thing in self.things if thing.label == target]
        gone = {thing for thing in named if self._is_done(thing)}
        found: set[int] = set()
        for node_id, node in self.store.nodes.items():
            about = [thing for thing in named if node.pose.distance_to(thing.pose) <= self.node_reach]
            if self._was_looked_from(node.pose) or (about and target in node.tags and gone.issuperset(about)):
                found.add(node_id)
        return found

    def chose(self, heading: float) -> None:
        """A direction was taken, radians from where the robot faces; counts against the thing it leads to."""
        for thing, spot in self._offered:
            if abs(math.remainder(spot.heading - heading, math.tau)) <= _SAME_HEADING:
                before, strikes = self._tries.get(thing, (math.inf, -1))
                nearer = spot.way < before - _PROGRESS
                self._tries[thing] = min(before, spot.way), 0 if nearer else strikes + 1
                return

    def remembered(self, target: str, here: Pose2D) -> list[Spot]:
        """Where the visit saw the target and nobody has looked since, the shortest way over the old floor first."""
        self._offered = []
        left = [thing for thing in self.things if thing.label == target and not self._is_done(thing)]
        cell = None if self.floor is None else self.floor.cell_of(here.x, here.y)
        if not left or self.floor is None or cell is None:
            return []
        ways = FloorWays(self.floor, here, cell)
        for thing in left:
            spot = self._way_to(thing, here, ways)
            if spot is not None:
                self._offered.append((thing, spot))
        self._offered.sort(key=lambda each: (each[1].way, each[1].x, each[1].y))
        del self._offered[_MOST:]
        return [spot for _, spot in self._offered]

    def _way_to(self, thing: Thing, here: Pose2D, ways: FloorWays) -> Spot | None:
        """The way to the best of the spots it was seen from, and on towards it; None where none can be reached."""
        assert self.floor is not None
        spots = []
        for x, y in thing.seen_from:
            cell = self.floor.cell_of(x, y)
            apart = math.dist((x, y), (thing.x, thing.y))
            if cell is not None and math.isfinite(ways.lengths[cell]):
                spots.append((float(ways.lengths[cell]) + apart, apart, x, y, cell))
        if not spots:
            return None
        total, apart, x, y, cell = min(spots)
        stretches = ways.stretches(cell)
        if apart > 2.0 * _SHORT_OF:
            bearing = math.atan2(thing.y - y, thing.x - x)
            stretches.append((apart - _SHORT_OF, wrap_angle(bearing - here.yaw)))
        return Spot(thing.x, thing.y, total, tuple(stretches), 1.0)

    def _is_done(self, thing: Thing) -> bool:
        """Whether there is no use in going: a look from where it was seen did not find it, or it is out of reach."""
        spots = sorted((math.dist(spot, (thing.x, thing.y)), *spot) for spot in thing.seen_from)
        close = [(x, y) for apart, x, y in spots if apart <= _CLOSE] or [spot[1:] for spot in spots[:1]]
        looked = any(self._was_looked_from(Pose2D(x, y, 0.0), within=_SAME_SPOT) for x, y in close)
        return looked or self._tries.get(thing, (0.0, 0))[1] >= _MOST_STRIKES

    def _was_looked_from(self, pose: Pose2D, *, within: float = _LOOKED) -> bool:
        return any(pose.distance_to(each) <= within for each in self._looked)

    def ways_from(self, here: Pose2D) -> dict[int, Where]:
        """For every node the metres of way from here, the angle at which that way begins, and its stretches.

        A way is entered at any node close by; where there is none, at the nearest node in a straight line.
        """
        nodes = self.ways.nodes
        if not nodes:
            return {}
        entries = sorted((node.pose.distance_to(here), node_id) for node_id, node in nodes.items())
        near = [entry for entry in entries if entry[0] <= _ENTRY] or entries[:1]
        queue = [(distance, node_id, _ENTERED) for distance, node_id in near]
        length: dict[int, float] = {}
        came: dict[int, int] = {}
        while queue:
            so_far, node_id, before = heapq.heappop(queue)
            if node_id in length:
                continue
            length[node_id], came[node_id] = so_far, before
            for other in self.ways.neighbors(node_id):
                if other not in length:
                    step = nodes[node_id].pose.distance_to(nodes[other].pose)
                    heapq.heappush(queue, (so_far + step, other, node_id))
        return {node_id: self._where(here, node_id, metres, came) for node_id, metres in sorted(length.items())}

    def _where(self, here: Pose2D, node_id: int, metres: float, came: Mapping[int, int]) -> Where:
        passed = [node_id]
        while came[passed[-1]] != _ENTERED:
            passed.append(came[passed[-1]])
        poses = [here, *(self.ways.nodes[each].pose for each in reversed(passed))]
        stretches = straightened([(pose.x, pose.y) for pose in poses], yaw=here.yaw, off=_OFF)
        way = told_way(stretches, longest=self.settings.max_way)
        return {"distance": round(metres, 2), "angle": way[0][1], "way": way}
