"""Runs arms over episodes in one process or several, writes each result as it comes, and goes on where it stopped.

Every run depends on its seed, its arm and the settings alone, so the number of processes and an interruption change
nothing: the finished file is sorted and equal to the byte.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from lastseen.config import Settings, describe
from lastseen.errors import InvalidValue
from lastseen.evaluation.arms import ARMS, Context, arm_of, arms_of
from lastseen.evaluation.cases import GENERATED, case_of
from lastseen.evaluation.earlier_visit import known_map, visit_of
from lastseen.evaluation.engines import check_engine, spread
from lastseen.evaluation.episode_run import Record, run_arm
from lastseen.runtime.json_lines import JsonLines
from lastseen.runtime.log import RunLog
from lastseen.runtime.timing import TimingLog

EPISODES_FILE, CONFIG_FILE, TIMING_FILE = "episodes.jsonl", "config.json", "timing.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an evaluation runs: episodes by seed, arms by name."""

    seed: int
    episodes: int
    arms: tuple[str, ...]
    settings: Settings
    backend: str = "offline"
    scene: str = GENERATED

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise InvalidValue("episodes", self.episodes, "must be at least 1", remedy="ask for one or more")
        if self.seed < 0:
            raise InvalidValue("seed", self.seed, "must not be negative", remedy="use 0 to tune, 10000 to report")
        arms_of(self.arms)

    @property
    def seeds(self) -> range:
        """One seed per episode."""
        return range(self.seed, self.seed + self.episodes)

    @property
    def donor_of(self) -> Callable[[int], int]:
        """Whose context or memory a shuffled arm gets: the next episode's, the last one's is the first."""
        return lambda seed: self.seed + (seed + 1 - self.seed) % max(self.episodes, 2)

    def config(self) -> dict[str, Any]:
        """Everything a result depends on, resolved."""
        return {
            "seed": self.seed,
            "episodes": self.episodes,
            "arms": [arm.name for arm in arms_of(self.arms)],
            "backend": self.backend,
            "scene": self.scene.rpartition("/")[2],
            "settings": {row.name: row.value for row in describe(self.settings)},
        }


Progress = Callable[[Record], None]
Timing = dict[str, Any]


def run(
    plan: Plan, out: Path, *, jobs: int = 1, engine: str = "processes", progress: Progress = lambda _: None
) -> list[Record]:
    """Run what is missing of a plan and return every record, sorted; ``progress`` gets each, old ones first.

    What the clock and the meter said of each episode goes to timing.jsonl, in the order the episodes ended.
    """
    check_engine(engine, jobs=jobs)
    names = [arm.name for arm in arms_of(plan.arms)]
    out.mkdir(parents=True, exist_ok=True)
    _same_config(plan, out / CONFIG_FILE)
    file = out / EPISODES_FILE
    done = {(record["seed"], record["arm"]): record for record in read_records(file)}
    _write(file, done.values())
    for record in _sorted(done.values()):
        progress(record)
    todo = [(seed, name) for seed in plan.seeds for name in names if (seed, name) not in done]
    with file.open("a", encoding="utf-8") as lines, JsonLines(out / TIMING_FILE, append=True) as timings:
        for record, timing in spread(partial(_unit, plan), _by_episode(todo), engine=engine, jobs=jobs):
            lines.write(_line(record))
            lines.flush()
            timings.append(timing)
            done[record["seed"], record["arm"]] = record
            progress(record)
    records = _sorted(done.values())
    _write(file, records)
    return records


def run_one(plan: Plan, seed: int, name: str, *, log: RunLog | None = None) -> tuple[Record, Timing]:
    """One arm in one episode, and what it took: model calls with seconds, tokens and cost, and the clock."""
    began, busy = time.monotonic(), time.process_time()
    arm = arm_of(name)
    meter = TimingLog(settings=plan.settings.planner)
    case = case_of(seed, plan.settings, plan.scene)
    donor: Sequence[Context] = _contexts(plan, plan.donor_of(seed)) if arm.shuffled else ()
    known = None
    if arm.memory != "none":
        visited = seed if arm.memory == "home" else plan.donor_of(seed)
        visit = visit_of(visited, plan.settings, plan.scene)
        known = known_map(visit, case.episode.start, seed=seed, settings=plan.settings, lost=arm.lost)
    ran = run_arm(
        case, arm, settings=plan.settings, backend=plan.backend, donor=donor, known=known, log=log, timing=meter
    )
    seen = visit_of(seed, plan.settings, plan.scene).saw(case.episode.goal) if arm.memory == "home" else None
    clock = {
        "wall_seconds": round(time.monotonic() - began, 3),
        "cpu_seconds": round(time.process_time() - busy, 3),
    }
    timing = {"seed": seed, "arm": name, "steps": ran.record["steps"], **meter.episode(), **clock}
    return {**ran.record, "goal_seen_before": seen}, timing


@lru_cache(maxsize=4)
def _donor_contexts(seed: int, settings: Settings, backend: str, scene: str) -> tuple[Context, ...]:
    case = case_of(seed, settings, scene)
    return tuple(run_arm(case, ARMS["context"], settings=settings, backend=backend).contexts)


def _contexts(plan: Plan, seed: int) -> Sequence[Context]:
    """The contexts of a donor, or of the next one where it found its goal without asking the planner."""
    for _ in range(max(plan.episodes, 2) - 1):
        contexts = _donor_contexts(seed, plan.settings, plan.backend, plan.scene)
        if contexts:
            return contexts
        seed = plan.donor_of(seed)
    return ()


def _unit(plan: Plan, unit: tuple[int, str]) -> tuple[Record, Timing]:
    return run_one(plan, *unit)


def _by_episode(todo: Sequence[tuple[int, str]]) -> list[list[tuple[int, str]]]:
    """The arms of one episode go to one process: they share its home."""
    groups: dict[int, list[tuple[int, str]]] = {}
    for seed, name in todo:
        groups.setdefault(seed, []).append((seed, name))
    return list(groups.values())


def read_records(file: Path) -> list[Record]:
    """The records of a results file; a last line that a stopped process left half written is passed over."""
    if not file.exists():
        return []
    *lines, last = file.read_text(encoding="utf-8").split("\n")
    del last
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise InvalidValue(
            "results", str(file), f"has a line that is not JSON ({error})", remedy="use a new directory"
        ) from error


def _same_config(plan: Plan, file: Path) -> None:
    """Results of other settings are never mixed; more episodes or arms of the same settings may be added."""
    grows = ("episodes", "arms")
    now = json.loads(json.dumps(plan.config()))
    if file.exists():
        before = json.loads(file.read_text(encoding="utf-8"))
        changed = sorted(key for key in now if key not in grows and now[key] != before.get(key))
        if changed:
            raise InvalidValue(
                "out", str(file.parent), f"holds results of other {changed[0]}", remedy="use a new directory"
            )
    _replace(file, json.dumps(now, indent=1, sort_keys=True) + "\n")


def _sorted(records: Any) -> list[Record]:
    order = list(ARMS)
    return sorted(records, key=lambda record: (record["seed"], order.index(record["arm"])))


def _write(file: Path, records: Any) -> None:
    _replace(file, "".join(_line(record) for record in _sorted(records)))


def _replace(file: Path, text: str) -> None:
    beside = file.with_name(file.name + ".new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)


def _line(record: Record) -> str:
    return json.dumps(record, sort_keys=True) + "\n"
