"""Our simulator as a simulator of habitat-lab: a real ``habitat.Env`` runs on it, with its own task and measures.

The floor lies at a height that no scan of ours has, so that nothing may take Habitat's y for the height of a camera.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import habitat
import numpy as np
import quaternion
from gym import spaces
from habitat.core.embodied_task import SimulatorTaskAction
from habitat.core.registry import registry
from habitat.core.simulator import AgentState, SensorSuite, Simulator
from habitat.datasets.object_nav.object_nav_dataset import ObjectNavDatasetV1
from habitat.tasks.nav.object_nav_task import ObjectGoal, ObjectGoalNavEpisode, ObjectViewLocation

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.evaluation.habitat.searching import CONFIGS, objectnav_config
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.environment import SimEnvironment
from lastseen.sim.episodes import Episode, make_episodes
from lastseen.sim.home import Home
from lastseen.sim.render import View
from tests.sim.tiny import tiny_home

FLOOR = 3.1
"""Metres of Habitat's y at which the floor lies."""
_ACTIONS = {1: Action.FORWARD, 2: Action.TURN_LEFT, 3: Action.TURN_RIGHT}


def to_habitat(x: float, y: float, z: float = 0.0) -> list[float]:
    """A point of ours in Habitat's world: y up, our +y is -z."""
    return [x, z + FLOOR, -y]


def rotation_of(yaw: float) -> list[float]:
    """A heading of ours as x, y, z, w about Habitat's y; without a turn it looks along -z, our +y."""
    half = (yaw - math.pi / 2.0) / 2.0
    return [0.0, math.sin(half), 0.0, math.cos(half)]


@dataclass
class SensorPose:
    position: np.ndarray[Any, Any]
    rotation: Any


@dataclass
class State(AgentState):
    """An agent state as habitat-sim gives it: with where each sensor is."""

    position: Any
    rotation: Any
    sensor_states: dict[str, SensorPose] = field(default_factory=dict)


@registry.register_simulator(name="Lastseen-v0")
class LastseenSimulator(Simulator):
    """One robot in the tiny home."""

    def __init__(self, config: Any) -> None:
        self.habitat_config = config
        sensors = config.agents.main_agent.sim_sensors.values()
        self._suite = SensorSuite([registry.get_sensor(each.type)(config=each) for each in sensors])
        rgb = self._suite.get("rgb").config
        self.world = SimEnvironment(
            tiny_home(),
            start=Pose2D(2.5, 3.0, 0.0),
            intrinsics=Intrinsics.from_fov(rgb.width, rgb.height, horizontal_deg=rgb.hfov),
        )
        self._collided = False

    @property
    def sensor_suite(self) -> SensorSuite:
        return self._suite

    @property
    def action_space(self) -> Any:
        return spaces.Discrete(6)

    def seed(self, seed: int) -> None:
        pass

    def reconfigure(self, config: Any, episode: Any = None) -> None:
        self.habitat_config = config

    def reset(self) -> Any:
        agent = self.habitat_config.agents.main_agent
        x, _, z = agent.start_position
        _, sine, _, cosine = agent.start_rotation
        self.world.start = Pose2D(x, -z, 2.0 * math.atan2(sine, cosine) + math.pi / 2.0)
        self._collided = False
        return self._seen(self.world.reset())

    def step(self, action: int | None) -> Any:
        self._collided = False
        if action is None:
            return self._seen(self.frame)
        result = self.world.step(_ACTIONS[action])
        self._collided = result.collided
        return self._seen(result.frame)

    def tilt(self, action: Action) -> None:
        self.frame = self.world.step(action).frame

    def step_physics(self, seconds: float) -> None:
        pass

    @property
    def previous_step_collided(self) -> bool:
        return self._collided

    def get_agent_state(self, agent_id: int = 0) -> State:
        agent = self.world.agent
        turn = _quaternion(rotation_of(agent.pose.yaw))
        pitch = math.radians(agent.pitch) / 2.0
        tilt = quaternion.quaternion(math.cos(pitch), math.sin(pitch), 0.0, 0.0)
        x, y = agent.pose.x, agent.pose.y
        head = SensorPose(np.array(to_habitat(x, y, agent.grid.robot.camera_height)), turn * tilt)
        return State(np.array(to_habitat(x, y)), turn, {"rgb": head, "depth": head})

    def geodesic_distance(self, position_a: Any, position_b: Any, episode: Any = None) -> float:
        ends = position_b if isinstance(position_b[0], Sequence | np.ndarray) else [position_b]
        spots = [(float(x), -float(z)) for x, _, z in ends]
        path = self.world.grid.path((float(position_a[0]), -float(position_a[2])), spots)
        return math.inf if path is None else path.length

    def _seen(self, frame: Frame) -> Any:
        self.frame = frame
        return self._suite.get_observations({"rgb": frame.rgb, "depth": np.nan_to_num(frame.depth)})


class _Tilt(SimulatorTaskAction):
    """Habitat's own look actions turn nodes of habitat-sim; these turn our camera."""

    action: Action

    def step(self, *args: Any, **kwargs: Any) -> None:
        self._sim.tilt(self.action)


@registry.register_task_action(name="TiltUp")
class TiltUp(_Tilt):
    action = Action.LOOK_UP


@registry.register_task_action(name="TiltDown")
class TiltDown(_Tilt):
    action = Action.LOOK_DOWN


class LastView:
    """The truth behind the newest frame, for the simulated detector: frames of the bridge have ids of their own."""

    def __init__(self, simulator: LastseenSimulator) -> None:
        self.simulator = simulator

    @property
    def home(self) -> Home:
        return self.simulator.world.home

    def view_of(self, frame: Frame) -> View:
        return self.simulator.world.view_of(self.simulator.frame)

    def true_pose(self, frame: Frame) -> Pose3D:
        return self.simulator.world.true_pose(self.simulator.frame)


def dataset_of(episodes: Sequence[Episode], home: Home) -> Any:
    """Our episodes as habitat-lab's ObjectNav dataset, goals with their view points."""
    dataset = ObjectNavDatasetV1()
    labels = sorted({episode.goal for episode in episodes})
    dataset.category_to_task_category_id = {label: index for index, label in enumerate(labels)}
    dataset.category_to_scene_annotation_category_id = dict(dataset.category_to_task_category_id)
    dataset.episodes = [_episode(episode, home) for episode in episodes]
    return dataset


def _episode(episode: Episode, home: Home) -> Any:
    spots = [
        ObjectViewLocation(AgentState(to_habitat(spot.x, spot.y), rotation_of(spot.yaw)), iou=1.0)
        for spot in episode.viewpoints
    ]
    goals = [
        ObjectGoal(
            position=to_habitat(*home.thing(key).position),
            object_id=str(key),
            object_category=episode.goal,
            view_points=spots,
        )
        for key in episode.goal_ids
    ]
    return ObjectGoalNavEpisode(
        episode_id=episode.id,
        scene_id=f"homes/{home.name}",
        start_position=to_habitat(episode.start.x, episode.start.y),
        start_rotation=rotation_of(episode.start.yaw),
        goals=goals,
        object_category=episode.goal,
    )


def open_env(*goals: str, overrides: Sequence[str] = (), settings: Settings | None = None) -> Any:
    """A real ``habitat.Env``: the HM3D ObjectNav task with PixelNav's settings, on our simulator and episodes."""
    home = tiny_home()
    episodes = make_episodes(home, len(goals), seed=1, goals=goals)
    config = habitat.get_config(
        CONFIGS["hm3d"],
        overrides=[
            *objectnav_config(width=160, height=120, settings=settings),
            "habitat.simulator.type=Lastseen-v0",
            "habitat.task.actions.look_up.type=TiltUp",
            "habitat.task.actions.look_down.type=TiltDown",
            "habitat.environment.iterator_options.shuffle=False",
            *overrides,
        ],
    )
    return habitat.Env(config, dataset=dataset_of(episodes, home))


def _quaternion(xyzw: Sequence[float]) -> Any:
    x, y, z, w = xyzw
    return quaternion.quaternion(w, x, y, z)
