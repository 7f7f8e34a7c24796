"""``lastseen sim record``: a walk through a simulated home as an RGB-D folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def record(
    out: Annotated[Path, typer.Argument(help="The folder to write; an unfinished recording there is finished.")],
    seed: Annotated[int, typer.Option("--seed", help="House, way, noise and changes all follow from it.")] = 7,
    minutes: Annotated[float, typer.Option("--minutes", help="Frame time to record.")] = 2.0,
    level: Annotated[str, typer.Option("--level", help="perfect, good, typical or bad senses.")] = "typical",
    changes: Annotated[int, typer.Option("--changes", help="How many things change on the way.")] = 0,
    rooms: Annotated[int | None, typer.Option("--rooms", help="4 to 12; left out, the seed decides.")] = None,
    npz: Annotated[Path | None, typer.Option("--npz", help="Walk this house of triangles instead.")] = None,
    graph: Annotated[Path | None, typer.Option("--graph", help="Walk this VirtualHome scene instead.")] = None,
) -> None:
    """Walk through a home and write colour, depth, poses, detections and the truth.

    Ctrl-C stops it; the same command goes on where it was. Example: [bold]lastseen sim record --seed 7 out[/bold]
    """
    from rich.console import Console
    from rich.progress import Progress, TimeRemainingColumn

    from lastseen.cli.options import current_settings
    from lastseen.errors import InvalidValue
    from lastseen.sim.generate import generate_home
    from lastseen.sim.home import Home
    from lastseen.sim.recording import record as write
    from lastseen.sim.walk import WalkPlan

    settings = current_settings()
    plan = WalkPlan(minutes, seed=seed, level=level, changes=changes)
    if sum(given is not None for given in (npz, graph, rooms)) > 1:
        raise InvalidValue(
            "--npz, --graph, --rooms", (npz, graph, rooms), "do not go together", remedy="give one of them"
        )
    if npz is not None:
        home = Home.from_npz(npz)
    elif graph is not None:
        home = Home.from_graph(graph)
    else:
        home = generate_home(seed, rooms=rooms, settings=settings.homes)
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
