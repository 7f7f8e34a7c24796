"""``lastseen sim record``: a walk through a simulated home as an RGB-D folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lastseen.cli.homes import GraphFile, NpzFile, Rooms, chosen_home


def record(
    out: Annotated[Path, typer.Argument(help="The folder to write; an unfinished recording there is finished.")],
    seed: Annotated[int, typer.Option("--seed", help="House, way, noise and changes all follow from it.")] = 7,
    minutes: Annotated[float, typer.Option("--minutes", help="Frame time to record.")] = 2.0,
    level: Annotated[str, typer.Option("--level", help="perfect, good, typical or bad senses.")] = "typical",
    changes: Annotated[int, typer.Option("--changes", help="How many things change on the way.")] = 0,
    rooms: Rooms = None,
    graph: GraphFile = None,
    npz: NpzFile = None,
) -> None:
    """Walk through a home and write colour, depth, poses, detections and the truth.

    Ctrl-C stops it; the same command goes on where it was. Example: [bold]lastseen sim record --seed 7 out[/bold]
    """
    from rich.console import Console
    from rich.progress import Progress, TimeRemainingColumn

    from lastseen.cli.options import current_settings
    from lastseen.sim.recording import record as write
    from lastseen.sim.walk import WalkPlan

    settings = current_settings()
    plan = WalkPlan(minutes, seed=seed, level=level, changes=changes)
    home = chosen_home(seed, settings, rooms=rooms, graph=graph, npz=npz)
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:-1], TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(home.name, total=None)
        write(
            home,
            plan,
            out,
            settings=settings,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    typer.echo(f"{out}: {home.name}, {minutes:g} min at level {level}")
