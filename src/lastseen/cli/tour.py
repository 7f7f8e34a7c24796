"""The tour behind ``lastseen demo``: a robot walks a home, remembers it, is asked, and notices what changed.

Everything runs for real on this machine: ray-cast RGB-D frames, a simulated detector that errs like a real one,
the object memory and its file. No camera, no GPU, no key.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.evaluation.arms import arm_of
from lastseen.evaluation.cases import case_of
from lastseen.evaluation.episode_run import run_arm
from lastseen.lift import lift_all
from lastseen.memory.facade import Memory
from lastseen.perception.appearance import with_embeddings
from lastseen.runtime import log_map
from lastseen.runtime.log import RunLog, read_log
from lastseen.sim.change import Change, ChangeKind, apply_all
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes
from lastseen.sim.topdown import save_map
from lastseen.sim.walk import Walk, WalkPlan

SEED = 7
SEARCH_SEED = 12
ROOMS = 4
FIRST_VISIT = 3.0
SECOND_VISIT = 4.5
"""Minutes: long enough to look again where something is missed."""
SMALLEST = 0.12
"""Metres: flat and tiny things are never judged absent, on purpose, so none of them is moved."""
LEVEL = "good"

console = Console(highlight=False)


def visit(home: Home, file: Path, *, minutes: float, seed: int, title: str) -> None:
    """Walk the home once with imperfect senses and remember what was seen."""
    walk = Walk(home, WalkPlan(minutes, seed=seed, level=LEVEL))
    detector = SimulatedDetector(walk.world, level=LEVEL, seed=seed)
    looks = ColorShapeEncoder()
    with Memory.open(file, look=looks.name) as memory:
        frames = track(walk.frames(), description=title, total=walk.frames_planned, console=console)
        for frame in frames:
            seen = with_embeddings(frame, detector.detect(frame), looks)
            memory.observe(frame, lift_all(frame, seen, with_crops=True))
        confirmed = len(memory.objects())
    console.print(f"  {walk.frames_planned} frames, {confirmed} objects confirmed of {len(home.things)} in the home")


def ask(file: Path, questions: list[str]) -> None:
    """Put questions to a memory file and show what it answers."""
    table = Table("question", "answer", "where (x, y, z)", "why", box=None, pad_edge=False)
    with Memory.open(file, read_only=True) as memory:
        for question in questions:
            answer = memory.find(question)
            hits = answer.hits[: 1 if answer.status == "found" else 3]
            where = "\n".join("(" + ", ".join(f"{value:.1f}" for value in hit.xyz) + ")" for hit in hits)
            table.add_row(f'"{question}"', answer.status, where, answer.reason)
    console.print(table)


def noticeable_changes(home: Home, file: Path) -> list[Change]:
    """One thing moved and one taken, of those that the robot knows by name and place: no toothbrush, no twin."""
    with Memory.open(file, read_only=True) as memory:
        known = {
            thing.id
            for thing in home.things.values()
            if thing.movable
            and float(thing.extent.min()) >= SMALLEST
            and memory.find(label=thing.label, near=tuple(thing.position), radius=0.3).hits
            and len(memory.objects(thing.label)) == len(home.things_of(thing.label)) == 1
        }
    for seed in range(1000):
        _, changes = random_changes(home, [0.0, 0.0], seed=seed, kinds=(ChangeKind.MOVE, ChangeKind.REMOVE))
        if all(edit.thing_id in known for change in changes for edit in change.edits):
            return changes
    raise SystemExit("no two things are known well enough to be missed; try another SEED")


def search(log: Path) -> None:
    """Look around, plan with the offline model, walk, and stop only at a bed that was seen twice and is near."""
    settings = replace(Settings(), evaluation=replace(Settings().evaluation, goals="bed"))
    case = case_of(SEARCH_SEED, settings)
    with RunLog(log) as run_log:
        record = run_arm(case, arm_of("context"), settings=settings, log=run_log).record
    outcome = "found" if record["success"] else f"not found ({record['cause']})"
    console.print(
        f"  {outcome} after {record['steps']} steps and {record['planner_calls']} plans; "
        f"the shortest way is {case.episode.geodesic_distance:.1f} m"
    )


def tour(folder: Path) -> None:
    """The whole tour; its memory, maps and log go to the folder."""
    file = folder / "home.lastseen"

    home = generate_home(SEED, rooms=ROOMS)
    save_map(home, folder / "before.png")
    console.print(f"[bold]1. A home[/bold] with {len(home.rooms)} rooms and {len(home.things)} things (before.png)")

    console.print("\n[bold]2. The robot walks it[/bold], with noisy depth and poses and a detector that errs")
    visit(home, file, minutes=FIRST_VISIT, seed=SEED, title="  first visit ")

    console.print("\n[bold]3. It is asked[/bold] (nothing but its memory file answers)")
    ask(file, ["bed", "somewhere to sit", "toilet", "lawn mower"])

    console.print("\n[bold]4. While it is away[/bold] something is moved and something is taken")
    changes = noticeable_changes(home, file)
    for change in changes:
        for edit in change.edits:
            thing = edit.before or edit.after
            assert thing is not None
            console.print(f"  {change.kind}: {thing.color} {thing.label}")
    changed = apply_all(home, changes)
    save_map(changed, folder / "after.png")
    visit(changed, file, minutes=SECOND_VISIT, seed=SEED + 1, title="  second visit")
    with Memory.open(file, read_only=True) as memory:
        today = memory.sessions()[-1].id
        gone = {"moved", "missing", "removed"}
        noticed = [event for event in memory.what_changed() if event.session == today and event.kind in gone]
        for event in noticed:
            console.print(f"  memory noticed: {event.kind} {event.label} ({event.object_id})")
        if not noticed:
            console.print("  memory noticed nothing yet: the evidence was not enough")

    console.print("\n[bold]5. Elsewhere it is sent to find a bed[/bold], by walking, in a home it does not know")
    search(folder / "run.jsonl")
    log_map.save_map(read_log(folder / "run.jsonl"), folder / "run.png")

    console.print(f"\n[bold]Look at[/bold] before.png, after.png and run.png in {folder}", soft_wrap=True)

    console.print("[bold]Try next[/bold]")
    # as it was called: the shell may not know the environment that the demo was installed into
    command = sys.argv[0] if Path(sys.argv[0]).name == "lastseen" else "lastseen"
    for words in (
        f"find 'red book' --memory {file}",
        f"objects --memory {file}",
        f"sim map --seed 11 {folder / 'house.png'}",
        f"log show {folder / 'run.jsonl'}",
        "search 'red mug'",
        "self-check",
    ):
        console.print(f"  {command} {words}", soft_wrap=True)
