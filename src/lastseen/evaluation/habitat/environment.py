"""A worker's Habitat behind ``lastseen.protocols.Environment``: its sensors, poses in our axes, and its actions.

Habitat's world has y up and its cameras look along -z. Heights are told from the floor that the agent stands on, not
from the origin of the scan: a policy reads the height of its camera from them, and scans begin at any height.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action
from lastseen.config.memory import DeadReckoning
from lastseen.config.programs import Camera as CameraSettings
from lastseen.errors import InvalidValue
from lastseen.evaluation.habitat.process import WorkerProcess
from lastseen.frame import Frame
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_to_opencv, world_to_z_up
from lastseen.pose2d import Pose2D
from lastseen.protocols import StepResult

Facts = Mapping[str, Any]
"""What a worker says of what it opened, or of a view: plain JSON (docs/habitat.md)."""


@dataclass(frozen=True, slots=True)
class Camera:
    """One pinhole sensor of the agent; ``position`` is from its base, in Habitat's axes."""

    uuid: str
    intrinsics: Intrinsics
    position: tuple[float, float, float]
    turned: bool

    @classmethod
    def of(cls, facts: Facts, uuid: str) -> Camera:
        """The sensor of that name, from what the worker said of it."""
        config = _sensor(facts, uuid)
        if config["subtype"] != "PINHOLE" or config["hfov"] is None:
            raise InvalidValue("sensor", uuid, "is no pinhole camera", remedy="use HabitatSimRGBSensor and its kin")
        intrinsics = Intrinsics.from_fov(config["width"], config["height"], horizontal_deg=config["hfov"])
        x, y, z = config["position"]
        return cls(uuid, intrinsics, (x, y, z), any(angle != 0.0 for angle in config["orientation"]))


@dataclass(frozen=True, slots=True)
class DepthRange:
    """How a depth sensor writes metres down; what lies nearer or farther it cannot tell, and writes the limit."""

    nearest: float
    farthest: float
    normalized: bool

    @classmethod
    def of(cls, facts: Facts, uuid: str) -> DepthRange:
        """The range of the depth sensor of that name."""
        config = _sensor(facts, uuid)
        return cls(config["min_depth"], config["max_depth"], config["normalized"])

    def metres(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        """Depth (height, width) in metres, NaN at both limits: too near, too far, or a hole in the scan."""
        low, high = (0.0, 1.0) if self.normalized else (self.nearest, self.farthest)
        unknown = ~((raw > np.float32(low)) & (raw < np.float32(high)))
        depth = raw * np.float32(self.farthest - self.nearest) + np.float32(self.nearest) if self.normalized else raw
        return np.where(unknown, np.float32(np.nan), depth)


def camera_pose(view: Facts, camera: Camera) -> Pose3D:
    """T_world_camera in our axes, from what a worker says of a view: ``agent`` and, by habitat-sim, ``camera``."""
    base = np.asarray(view["agent"]["position"], dtype=np.float64)
    seen_from = view["camera"]
    if seen_from is not None:
        position = np.asarray(seen_from["position"], dtype=np.float64) - [0.0, base[1], 0.0]
        pose = Pose3D.from_quaternion(position, seen_from["rotation"])
    elif camera.turned:
        raise InvalidValue(
            "agent state", "sensor_states", f"does not say how {camera.uuid} is turned", remedy="use habitat-sim"
        )
    else:
        agent = Pose3D.from_quaternion([base[0], 0.0, base[2]], view["agent"]["rotation"])
        pose = agent @ Pose3D.from_quaternion(camera.position, [0.0, 0.0, 0.0, 1.0])
    return world_to_z_up(camera_to_opencv(pose, CameraAxes.OPENGL), WorldUp.Y)


def _sensor(facts: Facts, uuid: str) -> Facts:
    if uuid not in facts["sensors"]:
        raise InvalidValue(
            "sensor", uuid, "is not in the simulator", remedy=f"choose of {', '.join(facts['known_sensors'])}"
        )
    return facts["sensors"][uuid]


ACTION_NAMES = {
    Action.FORWARD: "move_forward",
    Action.TURN_LEFT: "turn_left",
    Action.TURN_RIGHT: "turn_right",
    Action.LOOK_UP: "look_up",
    Action.LOOK_DOWN: "look_down",
    Action.STOP: "stop",
}
_NEEDED = (Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT, Action.STOP)


class HabitatEnvironment:
    """One episode of a worker's Habitat; implements ``lastseen.protocols.Environment``.

    ``reset`` begins the episode of ``number``. Frame ids and stamps begin at 0 in every episode: what comes of it
    depends on the episode alone. ``path`` and ``collisions`` are Habitat's truth of the episode so far.

    Args:
        process: A worker that was asked to open an environment.
        facts: What it answered.
        number: Which episode, counted from 0 in the order of the dataset.
        seed: Of everything random in the episode.
    """

    def __init__(
        self,
        process: WorkerProcess,
        facts: Facts,
        *,
        number: int,
        seed: int = 0,
        rgb: str = "rgb",
        depth: str = "depth",
    ) -> None:
        self.process, self.number, self.seed = process, number, seed
        self.rgb = Camera.of(facts, rgb)
        self.depth = Camera.of(facts, depth) if depth in facts["sensors"] else None
        self.range = None if self.depth is None else DepthRange.of(facts, depth)
        if self.depth is not None and not np.allclose(self.rgb.position, self.depth.position):
            raise InvalidValue(
                "sensor.position", self.depth.position, f"is not that of {rgb}", remedy="put both cameras in one spot"
            )
        missing = [ACTION_NAMES[action] for action in _NEEDED if ACTION_NAMES[action] not in facts["actions"]]
        if missing:
            raise InvalidValue(
                "task.actions", facts["actions"], f"lack {missing[0]}", remedy="use one of Habitat's ObjectNav tasks"
            )
        self.possible_actions = tuple(action for action in Action if ACTION_NAMES[action] in facts["actions"])
        self.motion = DeadReckoning(forward_step=facts["forward_step"], turn_angle=facts["turn_angle"])
        self.view: dict[str, Any] = {}
        self.begun: dict[str, Any] = {}
        self._started: Frame | None = None
        self.path: list[Pose2D] = []
        self.collisions = self.steps = 0

    @property
    def goal(self) -> str:
        """The category to find in this episode, in Habitat's words."""
        category = self.begun.get("goal")
        if not category:
            raise InvalidValue("episode", self.number, "has no object category", remedy="use an ObjectNav dataset")
        return str(category)

    @property
    def over(self) -> bool:
        """Whether Habitat takes no more actions in this episode: stopped, or out of steps."""
        return bool(self.view.get("over"))

    def reset(self) -> Frame:
        """Go to the start of the episode and look; an episode that has just begun is not begun twice."""
        if self._started is not None and self.steps == 0:
            return self._started
        self.begun, arrays = self.process.ask("begin", during=self._where, episode=self.number, seed=self.seed)
        self.path, self.collisions, self.steps = [], 0, 0
        self._started = self._frame(self.begun, arrays)
        return self._started

    def step(self, action: Action) -> StepResult:
        """Do one action and look; STOP ends the episode and is judged by Habitat."""
        if self._started is None:
            raise InvalidValue("action", str(action), "comes before reset", remedy="call reset first")
        if self.over:
            raise InvalidValue("action", str(action), "comes after the end of the episode", remedy="call reset")
        if action not in self.possible_actions:
            raise InvalidValue(
                "action", ACTION_NAMES[action], "is not in task.actions", remedy="choose of possible_actions"
            )
        view, arrays = self.process.ask("step", during=self._where, action=ACTION_NAMES[action])
        collided = action is Action.FORWARD and bool(view["collided"])
        self.steps += 1
        self.collisions += collided
        return StepResult(self._frame(view, arrays), collided)

    @property
    def metrics(self) -> dict[str, float | None]:
        """Habitat's own measures of the episode so far."""
        return dict(self.view.get("metrics", {}))

    @property
    def _where(self) -> str:
        return f"episode {self.number} at step {self.steps}"

    def _frame(self, view: dict[str, Any], arrays: dict[str, Any]) -> Frame:
        self.view = view
        number = len(self.path)
        if self.depth is None or self.range is None:
            # no depth sensor: every pixel is without a distance
            depth, camera = np.full(arrays["rgb"].shape[:2], np.nan, dtype=np.float32), None
        else:
            depth = self.range.metres(arrays["depth"])
            camera = None if self.depth.intrinsics == self.rgb.intrinsics else self.depth.intrinsics
        pose = camera_pose(view, self.rgb)
        stamp = number * CameraSettings().step_time
        frame = Frame(number, stamp, arrays["rgb"], depth, pose, self.rgb.intrinsics, camera)
        self.path.append(frame.floor_pose)
        return frame
