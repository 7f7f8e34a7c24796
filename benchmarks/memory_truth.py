"""How true the object memory is: walks through simulated homes, and what is remembered beside what is there.

A robot tours each home twice; its detections are lifted to observations and remembered. A thing counts when it was
seen long enough to be confirmed (from two sides, no pause longer than a proto lives) and is found when a confirmed
object that mostly came from it lies within 0.3 m of its middle, or of its visible surface for what is larger than
that. Changed homes are toured, changed, and toured twice more. rtsm 0.3.1 gets the same observations.

Each walk is one row of counts; with ``--results FILE`` rows are kept there as they come, and rows that are there
already are not walked again, so a long run can be broken off and taken up.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lastseen.memory.objects import EventKind
from lastseen.sim.change import ChangeKind
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes
from support.changes import KINDS, f1, judge
from support.ledger import rates, score, show, total
from support.scenes import foreign_homes
from support.walking import Robot, RtsmBeside

Counts = dict[str, float]
LEVELS = ("perfect", "good", "typical")
STOPS, QUICK_STOPS = 8, 3
"""Places visited per tour, each with a look all around: a third of a home, and about 200 frames."""
CHANGES = 18
"""Changes per home, of which those in the toured part can be known."""


def walk(
    home: Home, *, level: str, seed: int, stops: int | None, drift: str = "perfect", rtsm: bool = False
) -> Counts:
    """Two tours through a home that does not change; rtsm's counts come with its name before them."""
    beside = RtsmBeside() if rtsm else None
    robot = Robot(home, level=level, seed=seed, drift=drift, stops=stops, beside=beside)
    robot.tour()
    robot.tour()
    counts = score(home, robot.ledger, {one.id: one.xyz_world for one in robot.memory.states()})
    counts["absences"] = sum(event.kind is EventKind.MISSING for event in robot.events)
    counts["frames"] = robot.frames
    if beside is not None:
        counts |= {f"rtsm_{key}": value for key, value in score(home, beside.ledger, beside.confirmed()).items()}
    return counts


def changed_walk(home: Home, *, level: str, seed: int, stops: int | None) -> Counts:
    """Tour a home, change it, and tour it twice more; true, false and missed claims by kind."""
    robot = Robot(home, level=level, seed=seed, stops=stops)
    robot.tour()
    known = {robot.ledger.owner(one.id) for one in robot.memory.states()}
    at = robot.world.stamp
    # additions come first: a removed thing's id must not be given to another
    kinds = (ChangeKind.ADD, ChangeKind.MOVE, ChangeKind.REMOVE)
    after, made = random_changes(robot.world.home, [at] * CHANGES, seed=seed, kinds=kinds)
    robot.world.replace_home(after)
    robot.tour()
    robot.wait(60.0)
    robot.tour()
    return dict(judge(robot.memory, robot.ledger, robot.events, made, known=known, at=at))


class Results:
    """Rows of counts by name, kept in a file of JSON lines when there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[str, Counts] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.rows[row.pop("name")] = row

    def get(self, name: str, work: Callable[[], Counts]) -> Counts:
        """The row of a name, from the file or worked out now."""
        if name not in self.rows:
            started = time.monotonic()
            self.rows[name] = work()
            print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"name": name, **self.rows[name]}) + "\n")
        return self.rows[name]


def unchanged(results: Results, homes: int, stops: int, *, rtsm: bool) -> dict[str, Any]:
    """Every home at every level, and some with drift."""
    told: dict[str, Any] = {}
    absences = views = 0.0
    rows: dict[str, list[Counts]] = {level: [] for level in (*LEVELS, "drift")}
    for seed in range(homes):
        home = generate_home(seed)
        for level in LEVELS:
            beside = rtsm and level == "typical"
            rows[level].append(
                results.get(
                    f"{level} {seed} {stops}",
                    lambda home=home, level=level, seed=seed, beside=beside: walk(  # type: ignore[misc]
                        home, level=level, seed=seed, stops=stops, rtsm=beside
                    ),
                )
            )
        if seed % 4 == 0:
            rows["drift"].append(
                results.get(
                    f"drift {seed} {stops}",
                    lambda home=home, seed=seed: walk(  # type: ignore[misc]
                        home, level="typical", seed=seed, stops=stops, drift="typical"
                    ),
                )
            )
    for level, each in rows.items():
        summed = total(each)
        show(level, summed)
        told |= {f"{level}_{key}": value for key, value in rates(summed).items()}
        if level == "drift":
            told["drift_false_absences"] = summed["absences"]
        else:
            absences, views = absences + summed["absences"], views + summed["views"]
    theirs = {key.removeprefix("rtsm_"): value for key, value in total(rows["typical"]).items() if "rtsm_" in key}
    if theirs:
        show("rtsm typical", theirs)
        told |= {f"rtsm_{key}": rates(theirs)[key] for key in ("recall", "precision", "duplicates", "id_switches")}
    return told | {"false_absences": absences, "object_views": views}


def changed(results: Results, homes: int, stops: int) -> dict[str, Any]:
    """Every home, changed between tours, at typical senses."""
    rows = [
        results.get(
            f"changed {seed} {stops}",
            lambda seed=seed: changed_walk(generate_home(seed), level="typical", seed=seed, stops=stops),  # type: ignore[misc]
        )
        for seed in range(homes)
    ]
    counts = Counter({key: int(value) for key, value in total(rows).items()})
    print(f"changes: {dict(counts)}")
    return {"change_f1": f1(counts, *KINDS), **{f"{kind}_f1": f1(counts, kind) for kind in KINDS}}


def foreign(results: Results) -> dict[str, Any]:
    """Scenes that others made: whole tours at typical senses, never tuned on."""
    told: dict[str, Any] = {}
    for name, homes in foreign_homes().items():
        rows = [
            results.get(home.name, lambda home=home: walk(home, level="typical", seed=7, stops=2 * STOPS))  # type: ignore[misc]
            for home in homes
        ]
        if rows:
            show(f"{name} typical", total(rows))
        told |= {f"{name}_{key}": rates(total(rows))[key] if rows else None for key in ("recall", "duplicates")}
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two homes, short tours, no foreign scenes")
    parser.add_argument("--homes", type=int, default=20)
    parser.add_argument("--results", type=Path, help="keep each walk's counts here and take up from there")
    options = parser.parse_args()
    homes, stops = (2, QUICK_STOPS) if options.quick else (options.homes, STOPS)
    installed = importlib.util.find_spec("rtsm") is not None
    if not installed:
        print("rtsm is not installed: its rows are left out (pip install --no-deps rtsm==0.3.1 pyyaml)")
    results = Results(options.results)
    started = time.monotonic()
    result: dict[str, Any] = {"rtsm_recall": None, "rtsm_duplicates": None}
    result |= unchanged(results, homes, stops, rtsm=installed)
    result |= changed(results, homes, stops)
    if not options.quick:
        result |= foreign(results)
    result["seconds"] = round(time.monotonic() - started)
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
