"""The tour behind `make demo`: a robot walks a home, remembers it, is asked, and notices what changed.

Everything runs for real on this machine: ray-cast RGB-D frames, a simulated detector that errs like a real one,
the object memory and its file. No camera, no GPU, no key.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from lastseen import Memory
from lastseen.encoders.look import LookEncoder
from lastseen.perception.lift import lift_all
from lastseen.perception.look import with_looks
from lastseen.sim.change import ChangeKind, apply_all
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes
from lastseen.sim.topdown import save_map
from lastseen.sim.walk import Walk, WalkPlan

SEED = 7
CHANGE_SEED = 10
"""Draws a change that a robot can see: a coffee maker is moved and a pillow taken, not a toothbrush."""
ROOMS = 4
MINUTES = 3.0
LEVEL = "typical"

console = Console(highlight=False)


def visit(home: Home, file: Path, *, seed: int, title: str) -> None:
    """Walk the home once with imperfect senses and remember what was seen."""
    walk = Walk(home, WalkPlan(MINUTES, seed=seed, level=LEVEL))
    detector = SimulatedDetector(walk.world, level=LEVEL, seed=seed)
    looks = LookEncoder()
    with Memory.open(file, look=looks.name) as memory:
        frames = track(walk.frames(), description=title, total=walk.frames_planned, console=console)
        for frame in frames:
            seen = with_looks(frame, detector.detect(frame), looks)
            memory.observe(frame, lift_all(frame, seen, with_crops=True))
        confirmed = len(memory.objects())
    console.print(f"  {walk.frames_planned} frames, {confirmed} objects confirmed of {len(home.things)} in the home")


def ask(file: Path, questions: list[str]) -> None:
    table = Table("question", "answer", "where (x, y, z)", "why", box=None, pad_edge=False)
    with Memory.open(file, read_only=True) as memory:
        for question in questions:
            answer = memory.find(question)
            hits = answer.hits[: 1 if answer.status == "found" else 3]
            where = "  ".join("(" + ", ".join(f"{value:.1f}" for value in hit.xyz) + ")" for hit in hits)
            table.add_row(f'"{question}"', answer.status, where, answer.reason)
    console.print(table)


def main() -> None:
    folder = Path(tempfile.gettempdir()) / "lastseen-demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file = folder / "home.lastseen"

    home = generate_home(SEED, rooms=ROOMS)
    save_map(home, folder / "before.png")
    console.print(f"[bold]1. A home[/bold] with {len(home.rooms)} rooms and {len(home.things)} things (before.png)")

    console.print("\n[bold]2. The robot walks it[/bold], with noisy depth and poses and a detector that errs")
    visit(home, file, seed=SEED, title="  first visit ")

    console.print("\n[bold]3. It is asked[/bold] (nothing but its memory file answers)")
    ask(file, ["bed", "somewhere to sit", "toilet", "lawn mower"])

    console.print("\n[bold]4. While it is away[/bold] something is moved and something is taken")
    _, changes = random_changes(home, [0.0, 0.0], seed=CHANGE_SEED, kinds=(ChangeKind.MOVE, ChangeKind.REMOVE))
    for change in changes:
        for edit in change.edits:
            thing = edit.before or edit.after
            assert thing is not None
            console.print(f"  {change.kind}: {thing.color} {thing.label}")
    changed = apply_all(home, changes)
    save_map(changed, folder / "after.png")
    visit(changed, file, seed=SEED + 1, title="  second visit")
    with Memory.open(file, read_only=True) as memory:
        today = memory.sessions()[-1].id
        gone = {"moved", "missing", "removed"}
        noticed = [event for event in memory.what_changed() if event.session == today and event.kind in gone]
        for event in noticed:
            console.print(f"  memory noticed: {event.kind} {event.label} ({event.object_id})")
        if not noticed:
            console.print("  memory noticed nothing yet: the evidence was not enough")

    console.print("\n[bold]Try next[/bold]")
    command = Path(sys.executable).parent / "lastseen"
    for words in (
        f"find 'red book' --memory {file}",
        f"objects --memory {file}",
        f"sim map --seed 11 {folder / 'house.png'}",
        "search 'red mug'",
        "self-check",
    ):
        console.print(f"  {command} {words}", soft_wrap=True)


if __name__ == "__main__":
    main()
