"""Searches Habitat's ObjectNav episodes with our loop; Habitat judges: success, SPL, SoftSPL and what way is left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.evaluation.episode_run import Record, drawn
from lastseen.evaluation.habitat.environment import HabitatEnvironment
from lastseen.evaluation.witness import path_length
from lastseen.protocols import Detector
from lastseen.search.log import RunLog
from lastseen.search.policy.protocol import PixelPolicy
from lastseen.search.search import Search
from lastseen.search.timing import TimingLog

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
    policy: PixelPolicy | None = None,
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
