"""Searches Habitat's ObjectNav episodes with our loop, configured as PixelNav's; Habitat judges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue, MissingExtra
from lastseen.evaluation.episode_run import Record, drawn
from lastseen.evaluation.habitat.environment import HabitatEnvironment
from lastseen.evaluation.witness import path_length
from lastseen.protocols import Detector
from lastseen.search.log import RunLog
from lastseen.search.policy.protocol import GEOMETRIC, PixelPolicy
from lastseen.search.search import Search
from lastseen.search.timing import TimingLog

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


METRICS = ("success", "spl", "soft_spl", "distance_to_goal")
WORDS = {"tv_monitor": "tv", "potted_plant": "plant", "chest_of_drawers": "dresser"}
"""What Habitat's categories are called in a home; of others only the underscores go."""


def search_episode(
    world: HabitatEnvironment,
    detector: Detector,
    *,
    settings: Settings | None = None,
    backend: str = "offline",
    seed: int = 0,
    words: Mapping[str, str] | None = None,
    policy: PixelPolicy | str = GEOMETRIC,
    use_context: bool = True,
    log: RunLog | None = None,
    timing: TimingLog | None = None,
) -> Record:
    """Begin the next episode, search it, and tell what Habitat says of it.

    ``detector`` is asked for the goal's word (``words`` translates categories). A measure that the task does not
    have is None in the record.
    """
    settings = fitted(settings or Settings(), world)
    world.next_episode()
    target = {**WORDS, **(words or {})}.get(world.goal, world.goal.replace("_", " "))
    search = Search(
        target,
        world,
        detector=detector,
        planner=backend,
        settings=settings,
        seed=seed,
        policy=policy,
        use_context=use_context,
        log=log,
        timing=timing,
        with_images=backend != "offline",
    )
    result = search.run(over=lambda: world.over)
    if result.status == "found" and not world.over:
        world.step(Action.STOP)
    episode, metrics = world.env.current_episode, world.metrics()
    return {
        "episode": str(episode.episode_id),
        "scene": str(episode.scene_id).rpartition("/")[2],
        "goal": world.goal,
        **{name: _finite(metrics.get(name)) for name in METRICS},
        "status": result.status,
        "reason": result.reason,
        "steps": world.steps,
        "planner_calls": search.loop.calls,
        "collisions": world.collisions,
        "travelled": round(path_length(world.path), 4),
        "path": drawn(world.path),
    }


def search_episodes(
    world: HabitatEnvironment, detector: Detector, *, episodes: int, seed: int = 0, **options: Any
) -> Iterator[Record]:
    """The records of the next episodes, as they come; each has a seed of its own, counted from ``seed``."""
    if episodes < 1:
        raise InvalidValue("episodes", episodes, "must be at least 1", remedy="ask for one or more")
    for index in range(episodes):
        yield search_episode(world, detector, seed=seed + index, **options)


def fitted(settings: Settings, world: HabitatEnvironment) -> Settings:
    """The settings with Habitat's steps and turns; a panorama must be a whole turn of them."""
    motion, views = world.motion, settings.panorama.views
    if not math.isclose(motion.turn_angle * views, 360.0):
        raise InvalidValue(
            "simulator.turn_angle",
            motion.turn_angle,
            f"times {views} views is no full turn",
            remedy="set it to 30 (objectnav_config), or panorama.views to match",
        )
    reckoning = replace(settings.dead_reckoning, forward_step=motion.forward_step, turn_angle=motion.turn_angle)
    return replace(settings, dead_reckoning=reckoning)


def _finite(value: Any) -> float | None:
    """A measure that JSON can hold: a goal that cannot be reached is infinitely far away."""
    return None if value is None or not math.isfinite(value) else round(float(value), 6)
