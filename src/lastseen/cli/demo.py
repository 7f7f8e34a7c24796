"""What ``lastseen demo`` does: walk, remember, something moves, search from memory in the same home, found.

Everything runs for real on this machine: ray-cast RGB-D frames, a simulated detector that errs like a real one,
the memory and its file. No camera, no GPU, no key.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import track

from lastseen.cli.text import counted, say
from lastseen.memory.map_image import Truth, draw_memory
from lastseen.memory.memory import Memory
from lastseen.search import log_view
from lastseen.search.log import RunLog, read_log
from lastseen.search.search import Search
from lastseen.sim.change import Change, ChangeKind, apply_all
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment, random_start
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes
from lastseen.sim.senses import Level
from lastseen.sim.topdown import save_map
from lastseen.sim.walk import Walk, WalkPlan

SEED = 7
ROOMS = 4
VISIT = 3.0
"""Minutes of the first visit: the whole home, once."""
SMALLEST = 0.12
"""Metres: flat and tiny things are never judged absent, on purpose, so none of them is moved."""
LEVEL = "good"
GOAL = "bed"
FAR_START = 2
"""Seed of a start two rooms away, 10 m from the bed."""

console = Console(highlight=False)


def visit(home: Home, file: Path) -> None:
    """Walk the home once with imperfect senses and remember what was seen."""
    walk = Walk(home, WalkPlan(VISIT, seed=SEED, level=LEVEL))
    detector = SimulatedDetector(walk.world, level=LEVEL, seed=SEED)
    with Memory.open(file) as memory:
        for frame in track(walk.frames(), description="  walking", total=walk.frames_planned, console=console):
            memory.observe(frame, detections=detector.detect(frame), people=())
        confirmed, rooms = len(memory.objects()), len(memory.rooms())
    console.print(
        f"  {walk.frames_planned} frames: {confirmed} objects confirmed where {len(home.things)} things stand, "
        f"{counted(rooms, 'room')}"
    )


def ask(file: Path, questions: list[str]) -> None:
    """Put questions to the file, as another program would; a weak answer is refused with its reason."""
    with Memory.open(file, read_only=True) as memory:
        for question in questions:
            answer = memory.find(question)
            say(f'  "{question}": {answer.status.replace("_", " ")}, {answer.reason}', indent="  ")
            for hit in answer.fitting[: 1 if answer.status == "found" else 3]:
                x, y, _ = hit.position
                console.print(f"    {hit.label} in the {hit.place or 'home'}, at ({x:.1f}, {y:.1f})")


def moved_thing(home: Home, file: Path) -> tuple[Home, Change]:
    """The home after one thing was moved: one that the robot knows by name and place, no toothbrush and no twin."""
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
        _, (change,) = random_changes(home, [0.0], seed=seed, kinds=(ChangeKind.MOVE,))
        if change.edits[0].thing_id in known:
            return apply_all(home, [change]), change
    raise SystemExit("nothing is known well enough to be missed; try another SEED")


def search(home: Home, file: Path | None, goal: str, *, start: int, log: Path | None = None) -> None:
    """Send a robot to look for something in the home, with the memory file or without any."""
    level = Level.of(LEVEL)
    robot = SimEnvironment(home, seed=start, senses=Senses(depth=level, pose=level, actuation=level))
    robot.start = random_start(robot.grid, seed=start)
    detector = SimulatedDetector(robot, level=level, seed=start)
    with Memory.open(file) as memory, RunLog(log) as run_log:
        result = Search(goal, robot, memory, detector=detector, log=run_log).run()
    console.print(
        f"  {result.status.replace('_', ' ')} after {counted(result.steps, 'step')}, {result.metres:.1f} m "
        f"and {counted(result.planner_calls, 'planner call')}"
    )


def run_demo(folder: Path) -> None:
    """Walk, ask, move something, search; the memory, the maps and the log go to the folder."""
    file = folder / "home.lastseen"
    home = generate_home(SEED, rooms=ROOMS)
    save_map(home, folder / "home.png")
    console.print(f"[bold]1. A home[/bold] with {len(home.rooms)} rooms and {len(home.things)} things (home.png)")

    console.print("\n[bold]2. A robot walks it[/bold], with noisy depth and poses and a detector that errs")
    visit(home, file)

    console.print("\n[bold]3. It is asked[/bold] (nothing but its memory file answers)")
    # one that is found, one of which there are several, one that was never seen
    ask(file, ["fridge", "somewhere to sit", "lawn mower"])

    changed, change = moved_thing(home, file)
    thing = changed.thing(change.edits[0].thing_id)
    console.print(f"\n[bold]4. While it is away[/bold] somebody moves the {thing.color} {thing.label}")

    console.print(f"\n[bold]5. It is sent to find the {GOAL}[/bold]: first by a robot that remembers nothing")
    search(changed, None, GOAL, start=FAR_START)
    console.print("  then, from the same spot, by the one that remembers")
    search(changed, file, GOAL, start=FAR_START, log=folder / "run.jsonl")
    with Memory.open(file, read_only=True) as memory:
        home_known = log_view.known_home(memory, GOAL)
        log_view.save_map(read_log(folder / "run.jsonl"), folder / "run.png", home=home_known)

    console.print(f"\n[bold]6. It is sent to find the {thing.label}[/bold], which is not where it was")
    search(changed, file, thing.label, start=SEED + 2)
    with Memory.open(file, read_only=True) as memory:
        gone = {"moved", "missing", "removed"}
        noticed = [event for event in memory.what_changed() if event.session > 1 and event.kind in gone]
        for event in noticed:
            console.print(f"  memory noticed: {event.kind} {event.label} ({event.object_id})")
        if not noticed:
            console.print("  memory noticed nothing yet: the evidence was not enough")
        picture = draw_memory(memory, truth=truth_of(changed), title="the memory against the truth")
    picture.save(folder / "memory.png")

    console.print(f"\n[bold]Look at[/bold] home.png, run.png and memory.png in {folder}", soft_wrap=True)
    console.print("[bold]Try next[/bold]")
    # as it was called: the shell may not know the environment that the demo was installed into
    command = sys.argv[0] if Path(sys.argv[0]).name == "lastseen" else "lastseen"
    for words in (
        f"objects --memory {file}",
        f"ask 'what is on the bookshelf?' --memory {file}",
        f"log show {folder / 'run.jsonl'}",
        f"serve {file}",
    ):
        console.print(f"  {command} {words}", soft_wrap=True)


def truth_of(home: Home) -> Truth:
    """Label and floor position of every thing of a simulated home."""
    return [(thing.label, (float(thing.position[0]), float(thing.position[1]))) for thing in home.things.values()]
