"""The visit before the search: the same home some days ago, toured in full, and the memory file it leaves.

The home of the visit has things elsewhere, so some of what is remembered is no longer true. The file is written by
``Memory.observe``, closed, and copied for each search: nothing here remembers anything itself.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from lastseen.action import Action, apply
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.evaluation.cases import GENERATED, camera_of, case_of
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.pose2d import ORIGIN, Pose2D, wrap_angle
from lastseen.protocols import Environment, SceneAnalyzer, StepResult
from lastseen.search.planning.scene import open_analyzer
from lastseen.sim.change import carried_by, move
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.random_change import free_spot, random_changes
from lastseen.sim.senses import MOTION, Level
from lastseen.vlm.recorded import for_episode

_STREAM = 71
_LOOK_TURN, _LOOK_DISTANCE = math.radians(59.0), 0.99
"""A look after every second turn or fourth step: views of 79 degrees then leave nothing out, and most of the rest of
them would show the same again."""
_MOVED_FAR = 1.0
"""Metres that a goal is moved at least: nearer, it is seen from where it was."""


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """The file a visit left, the classes that the detector named on it, and the poses of its anchors.

    ``goal_moved`` tells that a goal of the search stood elsewhere then, because that was asked for and could be done.
    """

    file: Path
    detected: frozenset[str]
    anchors: tuple[Pose2D, ...]
    goal_moved: bool = False

    def copy_to(self, folder: Path) -> Path:
        """A copy of the file for one search to remember in."""
        return Path(shutil.copy(self.file, folder / "home.lastseen"))


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where the files of this process lie; gone with it."""
    return tempfile.TemporaryDirectory(prefix="lastseen-visits-")


@lru_cache(maxsize=4)
def visit_of(seed: int, settings: Settings, scene: str = GENERATED, *, moved_goal: bool = False) -> Visit:
    """The visit to the home of a case, made before the things of that home came to stand where they are now.

    With ``moved_goal`` the goal itself was among the things that were moved since, if a hand can carry it.
    """
    case = case_of(seed, settings, scene)
    home = before = _before(case.home, seed, settings)
    if moved_goal:
        home = _with_goal_elsewhere(before, case.episode.goal_ids, seed, settings)
    level = Level.of(settings.evaluation.level)
    environment = SimEnvironment(
        home,
        seed=seed + _STREAM,
        senses=Senses(depth=level, pose=level),
        settings=settings,
        intrinsics=camera_of(settings),
    )
    detector = SimulatedDetector(environment, level=level, seed=seed + _STREAM)
    kind = "moved" if moved_goal else "before"
    file = Path(_folder().name) / f"{seed}-{kind}-{scene.replace('/', '_').replace(':', '_')}.lastseen"
    file.unlink(missing_ok=True)
    detected: set[str] = set()
    analyzer = analyzer_of(settings, f"{seed}-visit{'-moved' if moved_goal else ''}", seed=seed)
    with Memory.open(file, settings=memory_settings(settings), wall_clock=None, scene_analyzer=analyzer) as memory:
        for frame in _frames(environment):
            detections = detector.detect(frame)
            detected.update(one.label for one in detections if one.label is not None)
            memory.observe(frame, detections=detections)
        graph = memory.spatial.graph
        anchors = tuple(anchor.world_pose for anchor in graph.anchors.values() if anchor.world_pose is not None)
    return Visit(file, frozenset(detected), anchors, goal_moved=home is not before)


def analyzer_of(settings: Settings, key: str, *, seed: int) -> SceneAnalyzer:
    """The scene analyzer of one episode or visit; its answers are waited for, and have a cassette of their own."""
    backend = for_episode(settings.scene.backend, f"{key}-scene")
    return open_analyzer(replace(settings, scene=replace(settings.scene, backend=backend)), seed=seed, wait=True)


def memory_settings(settings: Settings) -> Settings:
    """The settings of an evaluation's memories: without pictures and coloured surface, which nobody looks at."""
    return replace(settings, store=replace(settings.store, store_crops=False, surface=False))


class Odometry:
    """A robot whose frames carry the poses that its actions add up to, from a start pose that it was told.

    It stands between the search and the simulator, so that no condition sees a pose that a robot without a localizer
    would not have. A forward that was blocked is felt and does not count.
    """

    def __init__(self, environment: Environment, start: Pose2D = ORIGIN, *, settings: Settings) -> None:
        self.environment, self.start = environment, start
        self._motion = settings.dead_reckoning
        self._pose = start

    def reset(self) -> Frame:
        """Look from the start."""
        self._pose = self.start
        return _posed(self.environment.reset(), self._pose)

    def step(self, action: Action) -> StepResult:
        """Do one action and add it up."""
        result = self.environment.step(action)
        if not (result.collided and action is Action.FORWARD):
            self._pose = apply(self._pose, action, motion=self._motion)
        return StepResult(_posed(result.frame, self._pose), result.collided)


def given_start(visit: Visit, start: Pose2D, *, seed: int, settings: Settings, lost: bool = False) -> Pose2D:
    """The start pose in the map of the visit, with the error of the level's localization.

    With ``lost`` the localization took another spot of the map for this one, as it does where rooms look alike.
    """
    if lost:
        return _elsewhere(visit, start, seed, settings)
    level = Level.of(settings.evaluation.level)
    if level is Level.PERFECT:
        return start
    figures = MOTION[level]
    dx, dy, turn = np.random.default_rng([seed, _STREAM]).standard_normal(3)
    return Pose2D(
        start.x + figures.position * float(dx),
        start.y + figures.position * float(dy),
        start.yaw + math.radians(figures.rotation) * float(turn),
    )


def _posed(frame: Frame, pose: Pose2D) -> Frame:
    """The frame with another pose on the floor; the camera's height and tilt stay."""
    here = frame.floor_pose
    turn = wrap_angle(pose.yaw - here.yaw)
    cos, sin = math.cos(turn), math.sin(turn)
    matrix = np.eye(4)
    matrix[:2, :2] = [[cos, -sin], [sin, cos]]
    matrix[0, 3] = pose.x - (cos * here.x - sin * here.y)
    matrix[1, 3] = pose.y - (sin * here.x + cos * here.y)
    return replace(frame, T_world_camera=Pose3D.from_matrix(matrix @ frame.T_world_camera.matrix))


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


def _elsewhere(visit: Visit, start: Pose2D, seed: int, settings: Settings) -> Pose2D:
    """A pose on the walked paths, at least so far off and a quarter turn round; the farthest where none is so far."""
    poses = list(visit.anchors) or [start]
    far = [pose for pose in poses if pose.distance_to(start) >= settings.evaluation.lost_distance]
    choice = far or [max(poses, key=start.distance_to)]
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


def _with_goal_elsewhere(home: Home, goal_ids: tuple[int, ...], seed: int, settings: Settings) -> Home:
    """The home with every goal that a hand can carry on another spot, as far as there is room."""
    rng = np.random.default_rng([seed, _STREAM, 2])
    for goal in sorted(goal_ids):
        thing = home.things.get(goal)
        if thing is None or not thing.movable or carried_by(home, thing):
            continue
        grid = NavigationGrid(home, robot=settings.robot)
        for _ in range(20):
            spot = free_spot(grid, thing, rng)
            if spot is not None and np.linalg.norm(spot.pose.translation - thing.pose.translation) >= _MOVED_FAR:
                home = move(home, goal, spot.pose, stamp=0.0, support_id=spot.support_id).apply(home)
                break
    return home
