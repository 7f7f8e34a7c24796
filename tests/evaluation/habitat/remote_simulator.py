"""A plugin for the worker: our simulator, which runs in another process, as a simulator of habitat-lab.

It runs in the Habitat environment, on its Python: a real ``habitat.Env`` with its own dataset, task and measures. The
floor lies at a height that no scan of ours has, so that nothing may take Habitat's y for the height of a camera.
"""

from __future__ import annotations

import importlib.util
import math
import os
import socket
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import __main__ as worker  # the worker, which has loaded this file

_HERE = os.path.dirname(os.path.abspath(__file__))
_SPEC = importlib.util.spec_from_file_location("placeholders", os.path.join(_HERE, "placeholders.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
_PLACEHOLDERS = importlib.util.module_from_spec(_SPEC)
sys.modules["placeholders"] = _PLACEHOLDERS
_SPEC.loader.exec_module(_PLACEHOLDERS)
_PLACEHOLDERS.stand_in()

import quaternion  # noqa: E402
from gym import spaces  # noqa: E402
from habitat.core.embodied_task import SimulatorTaskAction  # noqa: E402
from habitat.core.registry import registry  # noqa: E402
from habitat.core.simulator import AgentState, SensorSuite, Simulator  # noqa: E402

FLOOR = 3.1
"""Metres of Habitat's y at which the floor lies."""
_ACTIONS = {1: "forward", 2: "turn_left", 3: "turn_right"}


@dataclass
class SensorPose:
    position: Any
    rotation: Any


@dataclass
class State(AgentState):
    """An agent state as habitat-sim gives it: with where each sensor is."""

    position: Any
    rotation: Any
    sensor_states: Any = field(default_factory=dict)


@registry.register_simulator(name="Lastseen-v0")
class RemoteSimulator(Simulator):
    """One robot in the tiny home of the server at the port of LASTSEEN_TEST_SIMULATOR."""

    def __init__(self, config: Any) -> None:
        self.habitat_config = config
        sensors = config.agents.main_agent.sim_sensors.values()
        self._suite = SensorSuite([registry.get_sensor(each.type)(config=each) for each in sensors])
        rgb = self._suite.get("rgb").config
        self._socket = socket.create_connection(("127.0.0.1", int(os.environ["LASTSEEN_TEST_SIMULATOR"])))
        self._ask(do="make", width=int(rgb.width), height=int(rgb.height), hfov=float(rgb.hfov))
        self.view: Any = {}
        self.arrays: Any = {}

    def _ask(self, **request: Any) -> Any:
        worker.send(self._socket, request)
        return worker.receive(self._socket)

    @property
    def sensor_suite(self) -> Any:
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
        yaw = 2.0 * math.atan2(sine, cosine) + math.pi / 2.0
        return self._seen(*self._ask(do="reset", x=float(x), y=-float(z), yaw=yaw))

    def step(self, action: Any) -> Any:
        if action is not None:
            self._seen(*self._ask(do="step", action=_ACTIONS[int(action)]))
        return self._observations()

    def tilt(self, action: str) -> None:
        self._seen(*self._ask(do="step", action=action))

    def step_physics(self, seconds: float) -> None:
        pass

    @property
    def previous_step_collided(self) -> bool:
        return bool(self.view["collided"])

    def get_agent_state(self, agent_id: int = 0) -> State:
        view = self.view
        half = (view["yaw"] - math.pi / 2.0) / 2.0
        turn = quaternion.quaternion(math.cos(half), 0.0, math.sin(half), 0.0)
        pitch = math.radians(view["pitch"]) / 2.0
        tilt = quaternion.quaternion(math.cos(pitch), math.sin(pitch), 0.0, 0.0)
        head = SensorPose(np.array([view["x"], FLOOR + view["height"], -view["y"]]), turn * tilt)
        return State(np.array([view["x"], FLOOR, -view["y"]]), turn, {"rgb": head, "depth": head})

    def geodesic_distance(self, position_a: Any, position_b: Any, episode: Any = None) -> float:
        ends = position_b if isinstance(position_b[0], (list, tuple, np.ndarray)) else [position_b]
        spots = [[float(end[0]), -float(end[2])] for end in ends]
        told, _ = self._ask(do="distance", start=[float(position_a[0]), -float(position_a[2])], ends=spots)
        return math.inf if told["metres"] is None else float(told["metres"])

    def _seen(self, view: Any, arrays: Any) -> Any:
        self.view, self.arrays = view, arrays
        return self._observations()

    def _observations(self) -> Any:
        return self._suite.get_observations(dict(self.arrays))


class _Tilt(SimulatorTaskAction):
    """Habitat's own look actions turn nodes of habitat-sim; these turn our camera."""

    action = ""

    def step(self, *args: Any, **kwargs: Any) -> None:
        self._sim.tilt(self.action)


@registry.register_task_action(name="TiltUp")
class TiltUp(_Tilt):
    action = "look_up"


@registry.register_task_action(name="TiltDown")
class TiltDown(_Tilt):
    action = "look_down"
