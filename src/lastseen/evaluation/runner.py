"""Runs arms over episodes in one process or several, writes each result as it comes, and goes on where it stopped.

Every run depends on its seed, its arm and the settings alone, so the number of processes and an interruption change
nothing: the finished file is sorted and equal to the byte.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

from lastseen.config import Settings, describe
from lastseen.errors import InvalidValue
from lastseen.evaluation.arm_search import Ran, Record
from lastseen.evaluation.arms import ARMS, Arm, Context, arm_of, arms_of
from lastseen.evaluation.cases import GENERATED, case_of
from lastseen.evaluation.engines import check_engine, spread
from lastseen.evaluation.episode_run import run_arm
from lastseen.evaluation.visits import analyzer_of, given_start, memory_settings, visit_of
from lastseen.memory.memory import Memory
from lastseen.search.log import JsonLines
from lastseen.search.policy.protocol import GEOMETRIC
from lastseen.search.timing import TimingLog
from lastseen.vlm.recorded import recorded_backend

EPISODES_FILE, CONFIG_FILE, TIMING_FILE = "episodes.jsonl", "config.json", "timing.jsonl"
_MOST_DONORS = 100
"""Seeds among which a donor is looked for: of ten episodes hardly one ends without a question to the planner."""


Progress = Callable[[Record], None]
Timing = dict[str, Any]


class Evaluation(Protocol):
    """What can be run: episodes by number, arms by name. It is sent to other processes."""

    def __hash__(self) -> int:
        """What an episode lends is kept by its plan."""

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""

    @property
    def seeds(self) -> range:
        """One number per episode."""

    def config(self) -> dict[str, Any]:
        """Everything a result depends on, resolved; episodes and arms may be added to a run, the rest must agree."""

    def donors(self, seed: int) -> Iterable[int]:
        """The episodes that may lend their contexts to a shuffled one; the first that has any does."""

    def search(self, seed: int, arm: Arm, donor: Sequence[Context]) -> Ran:
        """One arm in one episode; it depends on these two, the lent contexts and the plan alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an evaluation in our simulator runs: episodes by seed, arms by name."""

    seed: int
    episodes: int
    arms: tuple[str, ...]
    settings: Settings
    backend: str = "offline"
    scene: str = GENERATED
    policy: str = GEOMETRIC

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

    def config(self) -> dict[str, Any]:
        """Everything a result depends on, resolved."""
        # the file, wherever it lies: a run may go on from another directory or machine
        scene = self.scene.partition(":")[2].rpartition("/")[2] or self.scene
        return {**shared_config(self, self.settings, self.backend, self.policy), "scene": scene}

    def donors(self, seed: int) -> Iterable[int]:
        """Its neighbour, or that of a later pair: a search that found its goal without a question has no contexts."""
        return range(donor_of(seed), donor_of(seed) + _MOST_DONORS, 2)

    def search(self, seed: int, arm: Arm, donor: Sequence[Context]) -> Ran:
        """One arm in one episode, with a copy of the memory of an earlier visit where the arm has one."""
        began = clock()
        if arm.memory == "none":
            return self._run(seed, arm, began, {"goal_seen_before": None}, donor=donor)
        if arm.memory == "home":
            visit = visit_of(seed, self.settings, self.scene, moved_goal=arm.moved)
        else:
            # another home is a generated one where the scene is one home
            visit = visit_of(donor_of(seed), self.settings, GENERATED)
        episode = case_of(seed, self.settings, self.scene).episode
        given = given_start(visit, episode.start, seed=seed, settings=self.settings, lost=arm.lost)
        # seen, not remembered: what the memory of the visit lost must not drop out of the figures
        more: Record = {"goal_seen_before": episode.goal in visit.detected if arm.memory == "home" else None}
        if arm.moved:
            more["goal_moved"] = visit.goal_moved
        with (
            tempfile.TemporaryDirectory(prefix="lastseen-search-") as folder,
            Memory.open(
                visit.copy_to(Path(folder)),
                settings=memory_settings(self.settings),
                wall_clock=None,
                scene_analyzer=analyzer_of(self.settings, f"{seed}-{arm.name}", seed=seed),
            ) as memory,
        ):
            return self._run(seed, arm, began, more, donor=donor, memory=memory, start=given)

    def _run(self, seed: int, arm: Arm, began: tuple[float, float], more: Record, **given: Any) -> Ran:
        """Search, and add to the record what is known of the visit before."""
        settings, meter = self.settings, TimingLog(settings=self.settings.planner)
        case = case_of(seed, settings, self.scene)
        ran = run_arm(case, arm, settings=settings, backend=self.backend, policy=self.policy, timing=meter, **given)
        return Ran({**ran.record, **more}, ran.contexts, timing_of(ran.record, meter, began))


def shared_config(plan: Evaluation, settings: Settings, backend: str, policy: str) -> dict[str, Any]:
    """What every kind of plan says of itself."""
    return {
        "seed": plan.seeds.start,
        "episodes": len(plan.seeds),
        "arms": [arm.name for arm in arms_of(plan.arms)],
        # a run that replays cassettes is the run that recorded them
        "backend": recorded_backend(backend),
        "policy": policy.partition(":")[0],
        "settings": {row.name: row.value for row in describe(settings)}
        | {"scene.backend": recorded_backend(settings.scene.backend, role="scene")},
    }


def donor_of(seed: int) -> int:
    """Whose context or memory a shuffled arm gets: seeds go in pairs, so that what each made serves both.

    It does not depend on the plan: more episodes may be added to a run, and none of its records changes.
    """
    return seed ^ 1


def run(
    plan: Evaluation, out: Path, *, jobs: int = 1, engine: str = "processes", progress: Progress = lambda _: None
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
        for record, timing in spread(partial(_unit, plan), _together(todo), engine=engine, jobs=jobs):
            lines.write(_line(record))
            lines.flush()
            timings.append(timing)
            done[record["seed"], record["arm"]] = record
            progress(record)
    records = _sorted(done.values())
    _write(file, records)
    return records


@lru_cache(maxsize=4)
def _with_context(plan: Evaluation, seed: int) -> Ran:
    """The arm ``context``, run once for its own record and for the episode that borrows its contexts."""
    return plan.search(seed, ARMS["context"], ())


def _lent(plan: Evaluation, seed: int) -> Sequence[Context]:
    """The contexts of the first donor that has any."""
    return next((lent for other in plan.donors(seed) if (lent := _with_context(plan, other).contexts)), ())


def run_one(plan: Evaluation, seed: int, name: str) -> tuple[Record, Timing]:
    """One arm in one episode, and what it took: model calls with seconds, tokens and cost, and the clock."""
    arm = arm_of(name)
    if arm is ARMS["context"]:
        ran = _with_context(plan, seed)
    else:
        ran = plan.search(seed, arm, _lent(plan, seed) if arm.shuffled else ())
    return ran.record, ran.timing


def clock() -> tuple[float, float]:
    """Seconds by the clock and of this process's work."""
    return time.monotonic(), time.process_time()


def timing_of(record: Record, meter: TimingLog, began: tuple[float, float]) -> Timing:
    """What an episode took: model calls, and the clock since it began."""
    wall, busy = (round(now - then, 3) for now, then in zip(clock(), began, strict=True))
    said = {name: record[name] for name in ("seed", "arm", "steps")}
    return {**said, **meter.episode(), "wall_seconds": wall, "cpu_seconds": busy}


def _unit(plan: Evaluation, unit: tuple[int, str]) -> tuple[Record, Timing]:
    return run_one(plan, *unit)


def _together(todo: Sequence[tuple[int, str]]) -> list[list[tuple[int, str]]]:
    """The arms of one episode go to one process, which makes its home once; so do two that borrow of each other."""
    arms = [ARMS[name] for _, name in todo]
    size = 2 if any(arm.shuffled or arm.memory == "other_home" for arm in arms) else 1
    groups: dict[int, list[tuple[int, str]]] = {}
    for seed, name in todo:
        groups.setdefault(seed // size, []).append((seed, name))
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


def _same_config(plan: Evaluation, file: Path) -> None:
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
