"""A plugin for the worker: a few lines in the place of habitat-lab, so that the worker itself runs in every test run.

One agent on an open floor, the same picture everywhere; ``make habitat`` runs the worker with habitat-lab itself.
"""

from __future__ import annotations

import math
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

WIDTH, HEIGHT, FLOOR = 64, 48, 3.1
TURN, STEP = 30, 0.25


class Env:
    """What the worker uses of ``habitat.Env``."""

    def __init__(self, config: Any, dataset: Any) -> None:
        self.episodes = dataset.episodes
        self.steps_allowed = config.steps
        position = [0.0, 0.88, 0.0]
        camera = {"width": WIDTH, "height": HEIGHT, "hfov": 79, "position": position, "orientation": [0.0, 0.0, 0.0]}
        depth = {**camera, "min_depth": 0.5, "max_depth": 5.0, "normalize_depth": True}
        self.sim = SimpleNamespace(
            sensor_suite=SimpleNamespace(
                sensors={
                    "rgb": SimpleNamespace(config=SimpleNamespace(**camera)),
                    "depth": SimpleNamespace(config=SimpleNamespace(**depth)),
                }
            ),
            habitat_config=SimpleNamespace(forward_step_size=STEP, turn_angle=TURN, scene_dataset="default"),
            previous_step_collided=False,
            get_agent_state=self._state,
        )
        names = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")
        self.task = SimpleNamespace(actions=dict.fromkeys(names))
        self.episode_over = False

    def seed(self, seed: int) -> None:
        pass

    def reset(self) -> dict[str, Any]:
        self.x, self.z, self.yaw, self.steps, self.walked = 0.0, 0.0, 0, 0, 0.0
        self.episode_over = self.stopped = False
        return self._seen()

    def step(self, action: str) -> dict[str, Any]:
        if os.environ.get("STAND_IN_FAILS") == str(self.steps):
            raise RuntimeError("the scene is damaged\nand more lines")
        self.steps += 1
        self.yaw += {"turn_left": TURN, "turn_right": -TURN}.get(action, 0)
        if action == "move_forward":
            self.x -= STEP * math.sin(math.radians(self.yaw))
            self.z -= STEP * math.cos(math.radians(self.yaw))
            self.walked += STEP
        self.stopped = action == "stop"
        self.episode_over = self.stopped or self.steps >= self.steps_allowed
        return self._seen()

    def get_metrics(self) -> dict[str, Any]:
        left = math.hypot(self.x - 2.0, self.z)
        success = float(self.stopped and left < 1.0)
        spl = success * 2.0 / max(2.0, self.walked)
        return {"distance_to_goal": left, "success": success, "spl": spl, "soft_spl": spl, "top_down_map": {"map": 1}}

    def _state(self) -> Any:
        half = math.radians(self.yaw) / 2.0
        rotation = [0.0, math.sin(half), 0.0, math.cos(half)]
        return SimpleNamespace(position=[self.x, FLOOR, self.z], rotation=rotation)

    def _seen(self) -> dict[str, Any]:
        rows = np.arange(HEIGHT)[:, np.newaxis].repeat(WIDTH, axis=1)
        depth = np.where(rows > HEIGHT // 2, 0.3, 1.0).astype(np.float32)
        return {"rgb": np.full((HEIGHT, WIDTH, 3), 90, np.uint8), "depth": depth[..., np.newaxis]}


def get_config(path: str, overrides: list[str]) -> Any:
    given = dict(each.split("=", 1) for each in overrides)
    steps = int(given["habitat.environment.max_episode_steps"])
    data_path = given.get("habitat.dataset.data_path", "").strip("'")
    dataset = SimpleNamespace(type="stand-in", data_path=data_path, split=given["habitat.dataset.split"].strip("'"))
    return SimpleNamespace(steps=steps, habitat=SimpleNamespace(dataset=dataset))


def make_dataset(kind: str, config: Any) -> Any:
    goals = ("bed", "tv_monitor", "chair")
    return SimpleNamespace(
        episodes=[
            SimpleNamespace(
                episode_id=str(k), scene_id=f"a/{k}.glb", object_category=goal, start_position=[0.0, FLOOR, 0.0]
            )
            for k, goal in enumerate(goals)
        ]
    )


if "lastseen" not in sys.modules:
    module = ModuleType("habitat")
    module.Env, module.get_config, module.make_dataset = Env, get_config, make_dataset  # type: ignore[attr-defined]
    module.__version__ = "stand-in"  # type: ignore[attr-defined]
    sys.modules["habitat"] = module
