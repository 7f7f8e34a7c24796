"""The ObjectNav configuration of PixelNav for Habitat's own scenes, as overrides of what habitat-lab ships."""

from __future__ import annotations

from typing import Any

from lastseen.config import Settings
from lastseen.errors import InvalidValue, MissingExtra

CONFIGS = {
    "hm3d": "benchmark/nav/objectnav/objectnav_hm3d.yaml",
    "mp3d": "benchmark/nav/objectnav/objectnav_mp3d.yaml",
}


def objectnav_config(
    *,
    settings: Settings | None = None,
    split: str = "val",
    width: int = 640,
    height: int = 480,
    data_path: str | None = None,
    scenes_dir: str | None = None,
) -> list[str]:
    """Overrides for ``habitat.get_config`` of the HM3D and MP3D ObjectNav tasks.

    The figures are those of the settings, which by default are PixelNav's: steps of 0.25 m, turns of 30 degrees, a
    camera at 0.88 m that sees 79 degrees, success within 1 m, 500 steps, sliding allowed.

    >>> objectnav_config(split="val_mini")[:2]
    ['habitat.dataset.split=val_mini', 'habitat.environment.max_episode_steps=500']
    """
    chosen = settings or Settings()
    robot, motion = chosen.robot, chosen.dead_reckoning
    agent = "habitat.simulator.agents.main_agent"
    overrides = [
        f"habitat.dataset.split={split}",
        f"habitat.environment.max_episode_steps={chosen.search.max_steps}",
        f"habitat.task.measurements.success.success_distance={chosen.search.success_distance}",
        f"habitat.task.actions.look_up.tilt_angle={_whole('robot.look_angle', robot.look_angle)}",
        f"habitat.task.actions.look_down.tilt_angle={_whole('robot.look_angle', robot.look_angle)}",
        f"habitat.simulator.forward_step_size={motion.forward_step}",
        f"habitat.simulator.turn_angle={_whole('dead_reckoning.turn_angle', motion.turn_angle)}",
        f"habitat.simulator.habitat_sim_v0.allow_sliding={robot.slide}",
        f"{agent}.height={robot.camera_height}",
        f"{agent}.radius={robot.radius}",
    ]
    for sensor in ("rgb_sensor", "depth_sensor"):
        path = f"{agent}.sim_sensors.{sensor}"
        overrides += [
            f"{path}.width={width}",
            f"{path}.height={height}",
            f"{path}.hfov={_whole('camera.horizontal_fov', chosen.camera.horizontal_fov)}",
            f"{path}.position=[0,{robot.camera_height},0]",
        ]
    if data_path is not None:
        overrides.append(f"habitat.dataset.data_path={data_path}")
    if scenes_dir is not None:
        overrides.append(f"habitat.dataset.scenes_dir={scenes_dir}")
    return overrides


def open_objectnav(scenes: str = "hm3d", **options: Any) -> Any:
    """A ``habitat.Env`` of the ObjectNav task on ``hm3d`` or ``mp3d``; ``options`` as in ``objectnav_config``."""
    if scenes not in CONFIGS:
        raise InvalidValue("scenes", scenes, "is not known", remedy=f"choose one of {', '.join(sorted(CONFIGS))}")
    try:
        import habitat
    except ImportError as error:
        raise MissingExtra("Habitat (with habitat-sim, which has its own installer)", extra="habitat") from error
    return habitat.Env(habitat.get_config(CONFIGS[scenes], overrides=objectnav_config(**options)))


def _whole(field: str, value: float) -> int:
    """Habitat's angles are whole degrees."""
    if value != int(value):
        raise InvalidValue(field, value, "is not whole, as Habitat's angles are", remedy="use a whole number")
    return int(value)
