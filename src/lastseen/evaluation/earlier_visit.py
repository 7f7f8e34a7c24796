"""The visit before the search: the same home some days ago, looked at in full, and what is remembered of it.

The memory is the real one: places and anchors from the walk, objects from lifted detections, nodes from both. The
home of the visit has things elsewhere, so some of what is remembered is no longer true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

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
from lastseen.planning.prompt import View
from lastseen.planning.scene import SceneAnalyzer
from lastseen.pose2d import Pose2D
from lastseen.runtime.known_map import KnownMap
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.home import Home
from lastseen.sim.level import MOTION, Level
from lastseen.sim.random_change import random_changes
from lastseen.vlm.offline import OfflineBackend

_STREAM = 71


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """What is left of a visit: nodes in the world frame and the ways walked between them."""

    store: SemanticMemoryStore
    ways: NodeGraph

    def saw(self, label: str) -> bool:
        """Whether anything of a class is remembered."""
        return any(label in node.tags for node in self.store.nodes.values())


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
    analyzer = SceneAnalyzer(OfflineBackend(settings.planner.offline, seed=seed), settings)
    spatial, objects = SpatialMemory(settings), ObjectMemory(settings)
    frame = environment.reset()
    _remember(frame, detector, objects, spatial, analyzer)
    start = (environment.start.x, environment.start.y)
    for action in tour(environment.agent, coverage_stops(environment.grid, start)):
        result = environment.step(action)
        spatial.step(action, collided=result.collided, world_pose=result.frame.floor_pose)
        _remember(result.frame, detector, objects, spatial, analyzer)
    store = nodes_from_memory(_Remembered(spatial, objects))
    return Visit(store, NodeGraph.from_anchors(store, spatial.graph))


def known_map(visit: Visit, start: Pose2D, *, seed: int, settings: Settings, lost: bool = False) -> KnownMap:
    """The old map as the search starts in it: the start pose is told with the error of the level's localization.

    With ``lost`` the localization took another spot of the map for this one, as it does where rooms look alike.
    """
    if lost:
        return KnownMap(visit.store, visit.ways, _elsewhere(visit, start, seed, settings), settings.context)
    level = Level.of(settings.evaluation.level)
    if level is not Level.PERFECT:
        figures = MOTION[level]
        dx, dy, turn = np.random.default_rng([seed, _STREAM]).standard_normal(3)
        start = Pose2D(
            start.x + figures.position * float(dx),
            start.y + figures.position * float(dy),
            start.yaw + math.radians(figures.rotation) * float(turn),
        )
    return KnownMap(visit.store, visit.ways, start, settings.context)


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
                navigation=settings.navigation,
            )
        except InvalidValue:
            continue
        return changed
    return home


def _remember(
    frame: Frame,
    detector: SimulatedDetector,
    objects: ObjectMemory,
    spatial: SpatialMemory,
    analyzer: SceneAnalyzer,
) -> None:
    detections = detector.detect(frame)
    lifted = [lift(frame, detection, analyzer.settings.lift) for detection in detections]
    objects.observe(frame, [one for one in lifted if one is not None])
    if spatial.needs_scene_analysis:
        labels = tuple((detection.label, detection.score) for detection in detections if detection.label is not None)
        scene = analyzer.analyze([View(0.0, labels)]).scene
        spatial.scene_analyzed(
            None if scene is None else scene.scene_type,
            () if scene is None else scene.objects,
            "" if scene is None else scene.description,
            world_pose=frame.floor_pose,
        )
