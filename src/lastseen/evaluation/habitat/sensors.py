"""From Habitat's sensors to a frame: pinhole cameras, depth in metres, and poses in our axes.

Habitat's world has y up and its cameras look along -z. Heights are told from the floor that the agent stands on, not
from the origin of the scan: a policy reads the height of its camera from them, and scans begin at any height.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_to_opencv, world_to_z_up


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
