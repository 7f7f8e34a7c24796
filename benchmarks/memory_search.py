"""Does memory pay: steps to find a thing that was seen on an earlier visit, with and without remembering the visit.

Each home is toured once, which leaves a memory file. Then every episode is searched twice by the same search from the
same start: once with an empty memory, once with a copy of that file. Steps count every action, the turns of each look
around included; an episode that is not solved counts its whole budget. The camera is the ObjectNav evaluation's. With
``--out FILE`` every finished episode is kept there, and a run that was stopped goes on after the last one.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from lastseen.config import Settings, settings_from_mapping
from lastseen.evaluation.cases import camera_of
from lastseen.memory.memory import Memory
from lastseen.pose2d import Pose2D
from lastseen.search.search import Search
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.episodes import Episode, make_episodes
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home

EPISODES_PER_HOME = 10
DRAWN_PER_HOME = 60
REACH = 1.0
"""Metres from the goal's box within which a stop is truly a success."""


@dataclass(frozen=True)
class Outcome:
    """How one search went."""

    steps: int
    metres: float
    claimed: bool
    success: bool


def visit(file: Path, home: Home, *, seed: int, level: str, settings: Settings) -> None:
    """Tour a home once, all senses on, and leave what was seen in a memory file."""
    world = SimEnvironment(
        home, seed=seed, senses=Senses.all(level), settings=settings, intrinsics=camera_of(settings)
    )
    detector = SimulatedDetector(world, level=level, seed=seed)
    frame = world.reset()
    stops = coverage_stops(world.grid, (world.agent.pose.x, world.agent.pose.y))
    with Memory.open(file, settings=settings, wall_clock=None) as memory:
        memory.observe(frame, detections=detector.detect(frame))
        for action in tour(world.agent, stops):
            frame = world.step(action).frame
            memory.observe(frame, detections=detector.detect(frame))


def search(
    episode: Episode, home: Home, remembered: Path | None, *, seed: int, level: str, settings: Settings
) -> Outcome:
    """One episode, with a copy of the first visit's file or with an empty memory."""
    environment = SimEnvironment(
        home,
        start=episode.start,
        seed=seed + 1,
        senses=Senses.all(level),
        settings=settings,
        intrinsics=camera_of(settings),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "home.lastseen"
        if remembered is not None:
            shutil.copy(remembered, file)
        with Memory.open(file, settings=settings, wall_clock=None) as memory:
            searching = Search(
                episode.goal,
                environment,
                memory,
                detector=SimulatedDetector(environment, level=level, seed=seed + 1),
                planner="offline",
                seed=seed,
            )
            metres, last = 0.0, environment.agent.pose
            while searching.result is None:
                searching.step()
                metres += last.distance_to(environment.agent.pose)
                last = environment.agent.pose
    claimed = searching.result.status == "found"
    success = claimed and _beside(environment.agent.pose, home, episode)
    steps = searching.result.steps if success else settings.search.max_steps
    return Outcome(steps, metres, claimed, success)


def _beside(pose: Pose2D, home: Home, episode: Episode) -> bool:
    def distance(low: tuple[float, float], high: tuple[float, float]) -> float:
        across = max(low[0] - pose.x, 0.0, pose.x - high[0])
        along = max(low[1] - pose.y, 0.0, pose.y - high[1])
        return math.hypot(across, along)

    boxes = [home.thing(each).box for each in episode.goal_ids]
    return any(distance((box[0, 0], box[0, 1]), (box[1, 0], box[1, 1])) <= REACH for box in boxes)


def _said(outcome: Outcome) -> str:
    return f"{outcome.steps} steps" if outcome.success else "false stop" if outcome.claimed else "not found"


def bootstrap(differences: list[float], *, seed: int = 0, rounds: int = 2000) -> tuple[float, float]:
    """The 95 % interval of the mean difference over resampled episodes."""
    rng = random.Random(seed)
    means = sorted(statistics.fmean(rng.choices(differences, k=len(differences))) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds) - 1]


@dataclass(frozen=True)
class Pair:
    """One episode searched both paths; ``home`` and ``index`` tell which."""

    home: int
    index: int
    goal: str
    geodesic: float
    without: Outcome
    remembering: Outcome


class Kept:
    """The finished episodes of a run, in a file if there is one; its first line tells what they belong to."""

    def __init__(self, file: Path | None, about: dict[str, object]) -> None:
        self.file = file
        self.pairs: dict[tuple[int, int], Pair] = {}
        if file is None:
            return
        if file.exists():
            first, *lines = file.read_text(encoding="utf-8").splitlines() or [""]
            if json.loads(first or "{}") != about:
                raise SystemExit(f"error: --out = {str(file)!r} holds other episodes; use a new file")
            for line in lines:
                values = json.loads(line)
                outcomes: dict[str, Any] = {each: Outcome(**values.pop(each)) for each in ("without", "remembering")}
                pair = Pair(**values, **outcomes)
                self.pairs[pair.home, pair.index] = pair
        else:
            file.write_text(json.dumps(about) + "\n", encoding="utf-8")

    def add(self, pair: Pair) -> None:
        """Keep one more."""
        self.pairs[pair.home, pair.index] = pair
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(pair)) + "\n")


def search_home(
    seed: int, *, rooms: int, most: int, level: str, settings: Settings, kept: Kept, folder: Path, console: Console
) -> list[Pair]:
    """Tour one home and search in it, as far as it is not done; the pairs of this home in order."""
    home = generate_home(seed, rooms=rooms)
    started = time.perf_counter()
    remembered = folder / f"{seed}.lastseen"
    visit(remembered, home, seed=seed, level=level, settings=settings)
    with Memory.open(remembered, read_only=True, settings=settings) as memory:
        seen = {each.label for each in memory.objects()}
        steps, anchors = memory.spatial.step_id, len(memory.spatial.graph.anchors)
    console.print(
        f"{home.name}: {len(home.things)} things, {steps} steps of tour, {anchors} anchors, {len(seen)} labels, "
        f"{time.perf_counter() - started:.0f} s"
    )
    drawn = [each for each in make_episodes(home, DRAWN_PER_HOME, seed=seed) if each.goal in seen]
    for index, episode in enumerate(drawn[:most]):
        if (seed, index) in kept.pairs:
            continue
        options: Any = {"seed": seed + 100 * index, "level": level, "settings": settings}
        without = search(episode, home, None, **options)
        remembering = search(episode, home, remembered, **options)
        kept.add(Pair(seed, index, episode.goal, episode.geodesic_distance, without, remembering))
        done = list(kept.pairs.values())
        console.print(
            f"{len(done)} {episode.goal}, {episode.geodesic_distance:.1f} m: "
            f"{_said(without)} without, {_said(remembering)} with memory; so far "
            f"{statistics.fmean(each.without.steps for each in done):.0f} and "
            f"{statistics.fmean(each.remembering.steps for each in done):.0f} steps"
        )
    return [pair for key, pair in sorted(kept.pairs.items()) if key[0] == seed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one home of four rooms, six episodes, 250 steps each")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--rooms", type=int, default=6)
    parser.add_argument("--level", default="typical", help="how good the senses are: perfect, good or typical")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="keep finished episodes here, and go on after the last one")
    arguments = parser.parse_args()
    count, rooms = (6, 4) if arguments.quick else (arguments.episodes, arguments.rooms)
    settings = settings_from_mapping(
        {"store": {"store_crops": False}, "search": {"max_steps": 250 if arguments.quick else 500}}
    )
    about = {"seed": arguments.seed, "rooms": rooms, "level": arguments.level, "quick": arguments.quick}
    kept = Kept(arguments.out, about)
    console = Console(stderr=True)
    pairs: list[Pair] = []
    number = 0
    with tempfile.TemporaryDirectory() as folder:
        while len(pairs) < count:
            seed = arguments.seed * 1000 + number
            number += 1
            most = min(EPISODES_PER_HOME, count - len(pairs))
            done = [pair for key, pair in sorted(kept.pairs.items()) if key[0] == seed]
            if len(done) < most:
                done = search_home(
                    seed,
                    rooms=rooms,
                    most=most,
                    level=arguments.level,
                    settings=settings,
                    kept=kept,
                    folder=Path(folder),
                    console=console,
                )
            pairs += done[:most]
    report(pairs, quick=arguments.quick)


def report(pairs: list[Pair], *, quick: bool) -> None:
    """Print the table and the RESULT line."""
    arms = {
        "without memory": [pair.without for pair in pairs],
        "with memory": [pair.remembering for pair in pairs],
    }
    table = Table("arm", "success", "false stops", "steps (mean)", "steps (median)", "metres (mean)")
    for name, outcomes in arms.items():
        table.add_row(
            name,
            f"{statistics.fmean(each.success for each in outcomes):.2f}",
            f"{sum(each.claimed and not each.success for each in outcomes)}",
            f"{statistics.fmean(each.steps for each in outcomes):.0f}",
            f"{statistics.median(each.steps for each in outcomes):.0f}",
            f"{statistics.fmean(each.metres for each in outcomes):.1f}",
        )
    differences = [float(pair.remembering.steps - pair.without.steps) for pair in pairs]
    low, high = bootstrap(differences)
    Console(width=110).print(table)
    both = [pair for pair in pairs if pair.without.success and pair.remembering.success]
    print(f"with minus without: {statistics.fmean(differences):+.0f} steps, 95 % interval {low:+.0f} to {high:+.0f}")
    result = {
        "episodes": len(pairs),
        "success_without": statistics.fmean(each.success for each in arms["without memory"]),
        "success_with": statistics.fmean(each.success for each in arms["with memory"]),
        "steps_without": statistics.fmean(each.steps for each in arms["without memory"]),
        "steps_with": statistics.fmean(each.steps for each in arms["with memory"]),
        "steps_saved_low": -high,
        "steps_saved_high": -low,
        "both_found": len(both),
        "steps_without_both": statistics.fmean(pair.without.steps for pair in both) if both else None,
        "steps_with_both": statistics.fmean(pair.remembering.steps for pair in both) if both else None,
        "quick": quick,
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
