"""A ``habitat.Env`` behind ``lastseen.protocols.Environment``: its sensors, poses in our axes, and its actions.

Habitat's world has y up and its cameras look along -z. Heights are told from the floor that the agent stands on, not
from the origin of the scan: a policy reads the height of its camera from them, and scans begin at any height.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action
from lastseen.config.moving import DeadReckoning
from lastseen.config.sim import Camera as CameraSettings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_to_opencv, world_to_z_up
from lastseen.pose2d import Pose2D
from lastseen.protocols import StepResult


@dataclass(frozen=True, slots=True)
class Camera:
    """One pinhole sensor of the agent; ``position`` is from its base, in Habitat's axes."""

    uuid: str
    intrinsics: Intrinsics
    position: tuple[float, float, float]
    turned: bool

    @classmethod
    def of(cls, env: Any, uuid: str) -> Camera:
        """The sensor of that name, from the simulator's own configuration."""
        config = _config(env, uuid)
        if getattr(config, "sensor_subtype", "PINHOLE") != "PINHOLE" or not hasattr(config, "hfov"):
            raise InvalidValue("sensor", uuid, "is no pinhole camera", remedy="use HabitatSimRGBSensor and its kin")
        intrinsics = Intrinsics.from_fov(int(config.width), int(config.height), horizontal_deg=float(config.hfov))
        x, y, z = (float(value) for value in config.position)
        return cls(uuid, intrinsics, (x, y, z), any(float(angle) != 0.0 for angle in config.orientation))


@dataclass(frozen=True, slots=True)
class DepthRange:
    """How a depth sensor writes metres down; what lies nearer or farther it cannot tell, and writes the limit."""

    nearest: float
    farthest: float
    normalized: bool

    @classmethod
    def of(cls, env: Any, uuid: str) -> DepthRange:
        """The range of the depth sensor of that name."""
        config = _config(env, uuid)
        return cls(float(config.min_depth), float(config.max_depth), bool(config.normalize_depth))

    def metres(self, observed: NDArray[np.generic]) -> NDArray[np.float32]:
        """Depth (height, width) in metres, NaN at both limits: too near, too far, or a hole in the scan."""
        raw = np.asarray(observed, dtype=np.float32)
        raw = raw[..., 0] if raw.ndim == 3 else raw
        low, high = (0.0, 1.0) if self.normalized else (self.nearest, self.farthest)
        unknown = ~((raw > np.float32(low)) & (raw < np.float32(high)))
        depth = raw * np.float32(self.farthest - self.nearest) + np.float32(self.nearest) if self.normalized else raw
        return np.where(unknown, np.float32(np.nan), depth)


def camera_pose(state: Any, camera: Camera) -> Pose3D:
    """T_world_camera in our axes, from an agent state of Habitat."""
    base = np.asarray(state.position, dtype=np.float64)
    agent = Pose3D.from_quaternion([base[0], 0.0, base[2]], _xyzw(state.rotation))
    sensors = getattr(state, "sensor_states", None) or {}
    if camera.uuid in sensors:
        seen_from = sensors[camera.uuid]
        position = np.asarray(seen_from.position, dtype=np.float64) - [0.0, base[1], 0.0]
        pose = Pose3D.from_quaternion(position, _xyzw(seen_from.rotation))
    elif camera.turned:
        raise InvalidValue(
            "agent state", type(state).__name__, f"does not say how {camera.uuid} is turned", remedy="use habitat-sim"
        )
    else:
        pose = agent @ Pose3D.from_quaternion(camera.position, [0.0, 0.0, 0.0, 1.0])
    return world_to_z_up(camera_to_opencv(pose, CameraAxes.OPENGL), WorldUp.Y)


def _config(env: Any, uuid: str) -> Any:
    sensors = env.sim.sensor_suite.sensors
    if uuid not in sensors:
        raise InvalidValue(
            "sensor", uuid, "is not in the simulator", remedy=f"choose of {', '.join(sorted(sensors))}"
        )
    return sensors[uuid].config


def _xyzw(rotation: Any) -> list[float]:
    """A rotation as x, y, z, w: Habitat has quaternion objects, and lists in this order."""
    if hasattr(rotation, "w"):
        return [float(rotation.x), float(rotation.y), float(rotation.z), float(rotation.w)]
    return [float(value) for value in rotation]


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
    """Implements ``lastseen.protocols.Environment`` on an open ``habitat.Env`` with a colour and a depth camera.

    ``next_episode`` goes on in Habitat's order; ``reset`` stays in the episode and goes back to its start. Frame ids
    and stamps never go back. ``path`` and ``collisions`` are of the episode so far.

    >>> world = HabitatEnvironment(habitat.Env(config))  # doctest: +SKIP
    >>> frame = world.next_episode()  # doctest: +SKIP
    """

    def __init__(self, env: Any, *, rgb: str = "rgb", depth: str = "depth", step_time: float | None = None) -> None:
        self.env = env
        self.rgb, self.depth = Camera.of(env, rgb), Camera.of(env, depth)
        self.range = DepthRange.of(env, depth)
        if not np.allclose(self.rgb.position, self.depth.position):
            raise InvalidValue(
                "sensor.position", self.depth.position, f"is not that of {rgb}", remedy="put both cameras in one spot"
            )
        missing = [ACTION_NAMES[action] for action in _NEEDED if ACTION_NAMES[action] not in env.task.actions]
        if missing:
            raise InvalidValue(
                "task.actions", sorted(env.task.actions), f"lack {missing[0]}", remedy="use objectnav_config()"
            )
        self._step_time = CameraSettings().step_time if step_time is None else step_time
        self._next_id = 0
        self._started: Frame | None = None
        self.path: list[Pose2D] = []
        self.collisions = 0
        self.steps = 0

    @property
    def motion(self) -> DeadReckoning:
        """What a forward and a turn do here, for dead reckoning."""
        config = self.env.sim.habitat_config
        return DeadReckoning(forward_step=float(config.forward_step_size), turn_angle=float(config.turn_angle))

    @property
    def goal(self) -> str:
        """The category to find in this episode, in Habitat's words."""
        category = getattr(self.env.current_episode, "object_category", None)
        if not category:
            raise InvalidValue(
                "episode", type(self.env.current_episode).__name__, "has no object category", remedy="use ObjectNav"
            )
        return str(category)

    @property
    def over(self) -> bool:
        """Whether Habitat takes no more actions in this episode: stopped, or out of steps."""
        return bool(self.env.episode_over)

    def next_episode(self) -> Frame:
        """Begin the next episode in Habitat's order and look."""
        return self._begin()

    def reset(self) -> Frame:
        """Go back to the start of this episode and look; an episode that has just begun is not begun twice."""
        if self._started is not None and self.steps == 0:
            return self._started
        # Habitat stays in an episode that was set by hand
        self.env.current_episode = self.env.current_episode
        return self._begin()

    def step(self, action: Action) -> StepResult:
        """Do one action and look; STOP ends the episode and is judged by Habitat."""
        if self._started is None:
            raise InvalidValue("action", str(action), "comes before reset", remedy="call next_episode first")
        if self.over:
            raise InvalidValue(
                "action", str(action), "comes after the end of the episode", remedy="call next_episode"
            )
        name = ACTION_NAMES[action]
        if name not in self.env.task.actions:
            raise InvalidValue("action", name, "is not in task.actions", remedy="use objectnav_config()")
        seen = self.env.step(name)
        collided = action is Action.FORWARD and self._bumped()
        self.steps += 1
        self.collisions += collided
        return StepResult(self._frame(seen), collided)

    def metrics(self) -> dict[str, Any]:
        """Habitat's own measures of the episode so far."""
        return dict(self.env.get_metrics())

    def _begin(self) -> Frame:
        seen = self.env.reset()
        self.path, self.collisions, self.steps = [], 0, 0
        self._started = self._frame(seen)
        return self._started

    def _bumped(self) -> bool:
        # a method by Habitat's interface, a property in its own simulator
        told = self.env.sim.previous_step_collided
        return bool(told() if callable(told) else told)

    def _frame(self, seen: Any) -> Frame:
        frame = Frame(
            self._next_id,
            self._next_id * self._step_time,
            np.array(seen[self.rgb.uuid][..., :3], dtype=np.uint8),
            self.range.metres(seen[self.depth.uuid]),
            camera_pose(self.env.sim.get_agent_state(), self.rgb),
            self.rgb.intrinsics,
            None if self.depth.intrinsics == self.rgb.intrinsics else self.depth.intrinsics,
        )
        self._next_id += 1
        self.path.append(frame.floor_pose)
        return frame
