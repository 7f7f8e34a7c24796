"""How true the object memory is: walks through simulated homes, and what is remembered beside what is there.

A robot tours each home twice; its detections are lifted to observations and remembered. A thing counts when it was
seen long enough to be confirmed (from two sides, no pause longer than a proto lives) and is found when a confirmed
object that mostly came from it lies within 0.3 m of its middle, or of its visible surface for what is larger than
that. Changed homes are toured, changed, and toured twice more. rtsm 0.3.1 gets the same observations.

Each walk is one row of counts. ``--results FILE`` keeps rows as they come and does not walk again what is there;
``--observations DIR`` keeps the walks themselves (about 75 MB each), so that a run with other rules of the memory
takes a tenth of the time. Walks run side by side; how many does not change a figure.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lastseen.memory.objects import EventKind
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from support.assignments import cosine_rates, rates, score, show, total
from support.changes import DETECTABLE, KINDS, Lookout, f1, judge
from support.memories import LastseenMemory, RtsmMemory
from support.recorded import makers_hash, recorded, rules_hash
from support.scenes import foreign_homes
from support.walking import Changed, Way

Counts = dict[str, float]
LEVELS = ("perfect", "good", "typical")
STOPS, QUICK_STOPS = 8, 3
"""Places visited per tour, each with a look all around: a third of a home, and about 200 frames."""
DRIFT_EVERY = 4
"""Every fourth home is also walked with drift."""


@dataclass(frozen=True, slots=True)
class Task:
    """One walk: a generated home by its seed, or the foreign scene of a name and place in its list."""

    name: str
    way: Way
    rtsm: bool = False
    scene: tuple[str, int] | None = None

    def home(self) -> Home:
        """The home to walk."""
        return generate_home(self.way.seed) if self.scene is None else foreign_homes()[self.scene[0]][self.scene[1]]


def work(task: Task, observations: Path | None) -> tuple[Counts, float]:
    """The counts of one walk, and the seconds it took."""
    started = time.monotonic()
    home = task.home()
    memories: list[LastseenMemory | RtsmMemory] = [own := LastseenMemory()]
    if task.rtsm:
        memories.append(RtsmMemory())
    lookout = Lookout()
    change: Changed | None = None
    known: set[int] = set()
    for step in recorded(observations, task.name, lambda: task.way.walk(home)):
        if isinstance(step, Changed):
            change, known = step, {own.assignments.owner(one.id) for one in own.memory.states()}
            continue
        lookout.note(step.frame)
        for each in memories:
            each.observe(step)
    if change is not None:
        claims = judge(own, change, known, lookout)
        return dict(claims), time.monotonic() - started
    counts = score(home, own.assignments, own.confirmed())
    counts["absences"] = sum(event.kind is EventKind.MISSING for event in own.events)
    for beside in memories[1:]:
        counts |= {f"rtsm_{key}": value for key, value in score(home, beside.assignments, beside.confirmed()).items()}
    return counts, time.monotonic() - started


def results_of(tasks: Sequence[Task], path: Path | None, observations: Path | None, jobs: int) -> dict[str, Counts]:
    """The rows of all tasks by name, from the file of kept rows or worked out now, several at a time.

    Rows of other rules or of another judge are passed over: figures of two kinds are never added up.
    """
    rows: dict[str, Counts] = {}
    rules = f"{rules_hash()}-{makers_hash()}"
    if path is not None and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.pop("rules", None) == rules:
                rows[row.pop("name")] = row
    # one thread in each: several share the processors, and sums must not depend on how many
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        left = {pool.submit(work, task, observations): task.name for task in tasks if task.name not in rows}
        for done, future in enumerate(as_completed(left), start=1):
            name = left[future]
            rows[name], seconds = future.result()
            print(f"{name}: {seconds:.0f} s ({done} of {len(left)})", flush=True)
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"name": name, "rules": rules, **rows[name]}) + "\n")
    return rows


def tasks_of(seeds: Sequence[int], stops: int, *, rtsm: bool, foreign: bool) -> dict[str, list[Task]]:
    """Every walk by the row of the table it belongs to; long ones first, so that no processor waits at the end."""
    rows: dict[str, list[Task]] = {}
    if foreign:
        for kind, homes in foreign_homes().items():
            rows[kind] = [
                Task(home.name, Way("typical", 7, 2 * STOPS), scene=(kind, number))
                for number, home in enumerate(homes)
            ]
    rows["changed"] = [Task(f"changed {seed} {stops}", Way("typical", seed, stops, changed=True)) for seed in seeds]
    for level in LEVELS:
        rows[level] = [
            Task(f"{level} {seed} {stops}", Way(level, seed, stops), rtsm=rtsm and level == "typical")
            for seed in seeds
        ]
    rows["drift"] = [
        Task(f"drift {seed} {stops}", Way("typical", seed, stops, drift="typical")) for seed in seeds[::DRIFT_EVERY]
    ]
    return rows


def told_of(tables: dict[str, list[Counts]]) -> dict[str, Any]:
    """The figures of all rows, shown as they are made."""
    told: dict[str, Any] = {"rtsm_recall": None, "rtsm_duplicates": None}
    absences = views = 0.0
    for name in (*LEVELS, "drift"):
        summed = total(tables[name])
        show(name, summed)
        told |= {f"{name}_{key}": value for key, value in rates(summed).items()}
        if name == "typical":
            # of the encoder that the walks are embedded with
            told |= cosine_rates(summed)
            print("  ".join(f"{key} {value:.3f}" for key, value in cosine_rates(summed).items()))
        if name == "drift":
            told["drift_false_absences"] = summed["absences"]
        else:
            absences, views = absences + summed["absences"], views + summed["views"]
    told |= {"false_absences": absences, "object_views": views}
    theirs = {key.removeprefix("rtsm_"): value for key, value in total(tables["typical"]).items() if "rtsm_" in key}
    if theirs:
        show("rtsm typical", theirs)
        told |= {f"rtsm_{key}": rates(theirs)[key] for key in ("recall", "precision", "duplicates", "id_switches")}
    counts = Counter({key: int(value) for key, value in total(tables["changed"]).items()})
    print(f"changes: {dict(counts)}")
    told |= {"change_f1": f1(counts, *KINDS), **{f"{kind}_f1": f1(counts, kind) for kind in KINDS}}
    told["detectable_change_f1"] = f1(counts, *(DETECTABLE + kind for kind in KINDS))
    for name in ("aws", "virtualhome"):
        rows = tables.get(name)
        if rows:
            show(f"{name} typical", total(rows))
        told |= {f"{name}_{key}": rates(total(rows))[key] if rows else None for key in ("recall", "duplicates")}
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two homes, short tours, no foreign scenes")
    parser.add_argument("--homes", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first home")
    parser.add_argument("--no-foreign", dest="foreign", action="store_false", help="generated homes alone")
    parser.add_argument("--results", type=Path, help="keep each walk's counts here and take up from there")
    parser.add_argument("--observations", type=Path, help="keep walks in this folder and take them from there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="walks at a time")
    options = parser.parse_args()
    homes, stops = (2, QUICK_STOPS) if options.quick else (options.homes, STOPS)
    installed = importlib.util.find_spec("rtsm") is not None
    if not installed:
        print("rtsm is not installed: its rows are left out (pip install --no-deps rtsm==0.3.1 pyyaml)")
    started = time.monotonic()
    seeds = range(options.first, options.first + homes)
    tables = tasks_of(seeds, stops, rtsm=installed, foreign=options.foreign and not options.quick)
    tasks = [task for row in tables.values() for task in row]
    rows = results_of(tasks, options.results, options.observations, options.jobs)
    result = told_of({name: [rows[task.name] for task in row] for name, row in tables.items()})
    result["seconds"] = round(time.monotonic() - started)
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
