"""An evaluation on Habitat's ObjectNav episodes: arms, resume, figures and report as in our simulator.

Every record depends on the episode, the arm and the settings alone. The worker of a process is opened once and asked
for one episode after the other; where it is lost the run stops with one line, and goes on when it is started again.
"""

from __future__ import annotations

import atexit
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue, LastseenError
from lastseen.evaluation.arm_search import Ran, Record, Searched, search_arm
from lastseen.evaluation.arms import ARMS, Arm, Context, arms_of
from lastseen.evaluation.habitat.dataset import Dataset
from lastseen.evaluation.habitat.environment import Facts, HabitatEnvironment
from lastseen.evaluation.habitat.process import WorkerProcess
from lastseen.evaluation.metrics import drawn, ended_stuck, path_length, revisited_area
from lastseen.evaluation.runner import clock, shared_config, timing_of
from lastseen.evaluation.visits import Odometry
from lastseen.perception.detectors import open_named_detector
from lastseen.protocols import Detector
from lastseen.search.policy.protocol import GEOMETRIC
from lastseen.search.timing import TimingLog

WORDS = {"tv_monitor": "tv", "potted_plant": "plant", "chest_of_drawers": "dresser"}
"""What Habitat's categories are called in a home; of others only the underscores go."""
Poses = Literal["gps", "actions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitatPlan:
    """What an evaluation on Habitat runs; ``seed`` is the number of the first episode, in the dataset's order.

    Args:
        python: The interpreter of the Habitat environment.
        detector: A model, or ``package.module:function`` that returns a ``lastseen.protocols.Detector``.
        masks: SAM for the outlines of its boxes: its folder, or ``sam``.
        poses: ``gps`` for Habitat's own poses, which ObjectNav gives every agent, ``actions`` for dead reckoning.
        log: Where what Habitat prints is kept.
    """

    python: str
    dataset: Dataset
    detector: str
    settings: Settings
    episodes: int
    arms: tuple[str, ...]
    log: Path
    seed: int = 0
    backend: str = "offline"
    policy: str = GEOMETRIC
    masks: str | None = None
    poses: Poses = "gps"
    facts: Facts = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.episodes < 1 or self.seed < 0:
            raise InvalidValue(
                "episodes", self.episodes, f"from {self.seed} are none", remedy="ask for one or more, from 0"
            )
        if self.poses not in ("gps", "actions"):
            raise InvalidValue("poses", self.poses, "are not known", remedy="use gps or actions")
        for arm in arms_of(self.arms):
            if arm.memory != "none" or arm.chooser == "oracle":
                able = [each.name for each in ARMS.values() if each.memory == "none" and each.chooser != "oracle"]
                raise InvalidValue("arm", arm.name, "needs our simulator", remedy=f"choose of {', '.join(able)}")

    @property
    def seeds(self) -> range:
        """The numbers of the episodes."""
        return range(self.seed, self.seed + self.episodes)

    def opened(self) -> HabitatPlan:
        """The plan with what the worker says of its environment, checked; the worker stays open for this process."""
        _, facts = _worker(self)
        if self.seed + self.episodes > facts["episodes"]:
            raise InvalidValue(
                "episodes",
                self.episodes,
                f"from {self.seed} are more than the {facts['episodes']} of this split",
                remedy="ask for fewer",
            )
        fitted(self.settings, facts)
        return replace(self, facts=facts)

    def config(self) -> dict[str, Any]:
        """Everything a result depends on, resolved; where the files lie and which Python reads them is no part."""
        return {
            **shared_config(self, self.settings, self.backend, self.policy),
            "scene": f"habitat {self.dataset.name} {self.dataset.split}",
            "detector": _name(self.detector),
            "masks": None if self.masks is None else _name(self.masks),
            "poses": self.poses,
            "overrides": list(self.dataset.overrides),
            "image": [self.dataset.width, self.dataset.height],
            "habitat": self.facts["habitat"],
            "dataset_digest": self.facts["digest"],
        }

    def donors(self, seed: int) -> Iterable[int]:
        """Its neighbour in the dataset, or the next one."""
        total = self.facts["episodes"]
        others = (((seed ^ 1) + 2 * offset) % total for offset in range(total - 1))
        return (other for other in others if other != seed)

    def search(self, seed: int, arm: Arm, donor: Sequence[Context]) -> Ran:
        """One arm in one episode."""
        try:
            return _run(self, seed, arm, donor)
        except LastseenError:
            # the next run of this process starts another worker
            close_worker()
            raise


def fitted(settings: Settings, facts: Facts) -> Settings:
    """The settings with Habitat's steps and turns; a panorama must be a whole turn of them."""
    turn, views = facts["turn_angle"], settings.panorama.views
    if not math.isclose(turn * views, 360.0):
        raise InvalidValue(
            "simulator.turn_angle",
            turn,
            f"times {views} views is no full turn",
            remedy="set it to 30, or panorama.views to match",
        )
    reckoning = replace(settings.dead_reckoning, forward_step=facts["forward_step"], turn_angle=turn)
    return replace(settings, dead_reckoning=reckoning)


def _run(plan: HabitatPlan, seed: int, arm: Arm, donor: Sequence[Context]) -> Ran:
    began = clock()
    process, facts = _worker(plan)
    settings = fitted(plan.settings, facts)
    names = {"rgb": plan.dataset.rgb, "depth": plan.dataset.depth}
    world = HabitatEnvironment(process, facts, number=seed, seed=seed, **names)
    world.reset()
    meter = TimingLog(settings=settings.planner)
    searched = search_arm(
        WORDS.get(world.goal, world.goal.replace("_", " ")),
        Odometry(world, settings=settings) if plan.poses == "actions" else world,
        arm,
        detector=_detector(plan.detector, plan.masks, plan.settings),
        settings=settings,
        seed=seed,
        key=f"{seed}-{arm.name}",
        backend=plan.backend,
        policy=plan.policy,
        donor=donor,
        timing=meter,
        over=lambda: world.over,
    )
    if searched.result.status == "found" and not world.over:
        world.step(Action.STOP)
    record = _record(world, arm, searched)
    searched.search.close()
    return Ran(record, searched.contexts, timing_of(record, meter, began))


def _record(world: HabitatEnvironment, arm: Arm, searched: Searched) -> Record:
    """What Habitat says of the episode, and what the search says of itself."""
    end, begun = world.metrics, world.begun
    if end.get("success") is None or end.get("spl") is None:
        raise InvalidValue(
            "task.measurements", sorted(end), "lack success or spl", remedy="use one of Habitat's ObjectNav tasks"
        )
    success = end["success"] == 1.0
    return {
        "arm": arm.name,
        "seed": world.number,
        "episode": begun["episode"],
        "home": begun["scene"],
        "goal": world.goal,
        "geodesic": _rounded(begun["metrics"].get("distance_to_goal")) or 0.0,
        "success": success,
        "cause": None if success else _cause(world, searched),
        "spl": _rounded(end["spl"]),
        "soft_spl": _rounded(end.get("soft_spl")) or 0.0,
        "distance_to_goal": _rounded(end.get("distance_to_goal")),
        "steps": world.steps,
        "travelled": round(path_length(world.path), 4),
        "collisions": world.collisions,
        "revisited_m2": round(revisited_area(world.path), 4),
        "path": drawn(world.path),
        "goal_seen_before": None,
        **searched.figures(),
    }


def _cause(world: HabitatEnvironment, searched: Searched) -> str:
    """Why an episode failed; Habitat does not say whether the goal was in view, so ``not_seen`` is never told."""
    if searched.result.status == "found":
        return "false_stop"
    if ended_stuck(world.path):
        return "stuck"
    return "out_of_steps" if searched.search.world.confirmed else "not_recognised"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _name(model: str) -> str:
    """A model by its name alone: a run may go on from another directory or machine."""
    return Path(model).name


@lru_cache(maxsize=1)
def _detector(detector: str, masks: str | None, settings: Settings) -> Detector:
    return open_named_detector(detector, masks=masks, settings=settings)


_OPEN: dict[int, tuple[HabitatPlan, WorkerProcess, Facts]] = {}
"""The worker of this process; a forked one inherits the entry of its parent and must not speak on its socket."""


def _worker(plan: HabitatPlan) -> tuple[WorkerProcess, Facts]:
    held = _OPEN.get(os.getpid())
    if held is not None:
        if (held[0].python, held[0].dataset, held[0].settings) == (plan.python, plan.dataset, plan.settings):
            return held[1], held[2]
        close_worker()
    plan.log.parent.mkdir(parents=True, exist_ok=True)
    process = WorkerProcess(plan.python, log=plan.log)
    try:
        facts, _ = process.ask("open", **plan.dataset.request(plan.settings))
    except BaseException:
        process.close()
        raise
    if plan.facts and facts != plan.facts:
        process.close()
        raise InvalidValue("dataset", plan.dataset.name, "changed during the run", remedy="start a new run")
    _OPEN[os.getpid()] = plan, process, facts
    return process, facts


def close_worker() -> None:
    """End the worker of this process, if there is one."""
    held = _OPEN.pop(os.getpid(), None)
    if held is not None:
        held[1].close()


atexit.register(close_worker)
