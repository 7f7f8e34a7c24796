"""The visit before the search: the same home some days ago, looked at in full, and what is remembered of it.

The memory is the real one: places and anchors from the walk, objects from lifted detections, nodes from both. The
home of the visit has things elsewhere, so some of what is remembered is no longer true.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from lastseen.action import apply
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.evaluation.cases import GENERATED, camera_of, case_of
from lastseen.frame import Frame
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.objects import ObjectMemory, ObjectState
from lastseen.memory.places import SpatialMemory
from lastseen.memory.remembered_nodes import nodes_from_memory
from lastseen.perception.lift import lift
from lastseen.planning.node_graph import NodeGraph
from lastseen.planning.scene import SceneAnalyzer
from lastseen.policy.body import body_points
from lastseen.policy.explored import coarse_map
from lastseen.policy.local_map import LocalMap
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.runtime.known_map import KnownMap, Thing
from lastseen.runtime.laying_places import PlaceLayer
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.home import Home
from lastseen.sim.level import MOTION, Level
from lastseen.sim.random_change import random_changes
from lastseen.vlm.offline import OfflineBackend

_STREAM = 71
_SAME_THING = 0.8
"""Metres between a sighting and the thing it is of: large things are seen from two sides."""
_SEEN_WELL = 3.0
"""Metres within which a thing seen once is seen again: beyond it detectors miss it now and then."""
_LOOK_TURN, _LOOK_DISTANCE = math.radians(59.0), 0.99
"""A look after every second turn or fourth step: views of 79 degrees then leave nothing out, and most of the rest of
them would show the same again."""


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """What is left of a visit, in the world frame: nodes, the ways walked between them, things, and floor.

    ``detected`` are the classes that the detector named on it, remembered or not.
    """

    store: SemanticMemoryStore
    ways: NodeGraph
    things: tuple[Thing, ...] = ()
    floor: LocalMap | None = None
    detected: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Remembered:
    """The memory of the visit in the shape that nodes are made from."""

    spatial: SpatialMemory
    things: ObjectMemory

    def objects(
        self, label: str | None = None, *, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """The objects of the visit; what the nodes ask for is passed on."""
        return self.things.states(label=label, include_tentative=include_tentative, include_absent=include_absent)


class Sighting(NamedTuple):
    """One observation of the visit: what was seen where, and where the robot was."""

    label: str
    x: float
    y: float
    robot: Pose2D


@lru_cache(maxsize=4)
def visit_of(seed: int, settings: Settings, scene: str = GENERATED) -> Visit:
    """The visit to the home of a case, made before the things of that home came to stand where they are now."""
    case = case_of(seed, settings, scene)
    home = _before(case.home, seed, settings)
    level = Level.of(settings.evaluation.level)
    environment = SimEnvironment(
        home,
        seed=seed + _STREAM,
        senses=Senses(depth=level, pose=level),
        settings=settings,
        intrinsics=camera_of(settings),
    )
    detector = SimulatedDetector(environment, level=level, seed=seed + _STREAM)
    spatial, objects = SpatialMemory(settings), ObjectMemory(settings)
    places = PlaceLayer(spatial, SceneAnalyzer(OfflineBackend(settings.planner.offline, seed=seed), settings))
    floor = coarse_map(settings.explored, settings.policy, environment.start)
    sightings: list[Sighting] = []
    for frame in _frames(environment):
        lifted = [lift(frame, detection, settings.lift) for detection in detector.detect(frame)]
        seen = [one for one in lifted if one is not None]
        objects.observe(frame, seen)
        places.see(frame, seen)
        floor.add(body_points(frame), frame.floor_pose)
        sightings += [
            Sighting(one.label, float(one.position[0]), float(one.position[1]), frame.floor_pose)
            for one in seen
            if one.label is not None
        ]
    store = nodes_from_memory(_Remembered(spatial, objects))
    things = tuple(_things(objects.states(), sightings))
    detected = frozenset(one.label for one in sightings)
    return Visit(store, NodeGraph.from_anchors(store, spatial.graph), things, floor, detected)


def _things(states: Sequence[ObjectState], sightings: Sequence[Sighting]) -> Iterator[Thing]:
    """The remembered things, each with the spots from which something of its name was seen where it stands."""
    for state in states:
        if state.label is None:
            continue
        x, y = (float(value) for value in state.xyz_world[:2])
        spots = {
            (round(seen.robot.x, 1), round(seen.robot.y, 1))
            for seen in sightings
            if seen.label == state.label
            and math.hypot(seen.x - x, seen.y - y) <= _SAME_THING
            and seen.robot.distance_to(Pose2D(x, y, 0.0)) <= _SEEN_WELL
        }
        if spots:
            yield Thing(state.label, x, y, tuple(sorted(spots)))


def _frames(environment: SimEnvironment) -> Iterator[Frame]:
    """The views of a tour of the whole home, some way or turn apart."""
    yield environment.reset()
    start = (environment.start.x, environment.start.y)
    agent, last = environment.agent, environment.start
    for action in tour(agent, coverage_stops(environment.grid, start)):
        there = apply(agent.pose, action, motion=agent.motion)
        turned = abs(wrap_angle(there.yaw - last.yaw))
        if turned >= _LOOK_TURN or there.distance_to(last) >= _LOOK_DISTANCE:
            yield environment.step(action).frame
            last = agent.pose
        else:
            environment.skip(action)


def known_map(visit: Visit, start: Pose2D, *, seed: int, settings: Settings, lost: bool = False) -> KnownMap:
    """The old map as the search starts in it: the start pose is told with the error of the level's localization.

    With ``lost`` the localization took another spot of the map for this one, as it does where rooms look alike.
    """
    if lost:
        return _map(visit, _elsewhere(visit, start, seed, settings), settings)
    level = Level.of(settings.evaluation.level)
    if level is not Level.PERFECT:
        figures = MOTION[level]
        dx, dy, turn = np.random.default_rng([seed, _STREAM]).standard_normal(3)
        start = Pose2D(
            start.x + figures.position * float(dx),
            start.y + figures.position * float(dy),
            start.yaw + math.radians(figures.rotation) * float(turn),
        )
    return _map(visit, start, settings)


def _map(visit: Visit, start: Pose2D, settings: Settings) -> KnownMap:
    return KnownMap(
        visit.store,
        visit.ways,
        start,
        settings.context,
        things=visit.things,
        floor=visit.floor,
        node_reach=settings.search.node_reach,
    )


def _elsewhere(visit: Visit, start: Pose2D, seed: int, settings: Settings) -> Pose2D:
    """A pose on the walked ways, at least so far off and a quarter turn round; the farthest where none is so far."""
    nodes = [visit.store.nodes[key].pose for key in sorted(visit.store.nodes)] or [start]
    far = [pose for pose in nodes if pose.distance_to(start) >= settings.evaluation.lost_distance]
    choice = far or [max(nodes, key=start.distance_to)]
    rng = np.random.default_rng([seed, _STREAM, 1])
    spot = choice[int(rng.integers(len(choice)))]
    return Pose2D(spot.x, spot.y, start.yaw + math.copysign(math.pi / 2, float(rng.standard_normal())))


def _before(home: Home, seed: int, settings: Settings) -> Home:
    """The home with things elsewhere; a full home takes fewer changes."""
    for count in range(settings.evaluation.changes, 0, -1):
        try:
            changed, _ = random_changes(
                home,
                [float(k) for k in range(count)],
                seed=seed + _STREAM,
                robot=settings.robot,
            )
        except InvalidValue:
            continue
        return changed
    return home
