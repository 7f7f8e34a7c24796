"""``lastseen sim``: homes to look at, walk through and record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lastseen.cli import sim_record
from lastseen.cli.homes import GraphFile, NpzFile, Rooms, chosen_home

app = typer.Typer(
    name="sim",
    no_args_is_help=True,
    help="Simulated homes: draw them, walk them, record them.\n\n"
    "Example: [bold]lastseen sim map --seed 7 house.png[/bold]",
)
app.command("record")(sim_record.record)


@app.command("map")
def draw(
    out: Annotated[Path, typer.Argument(help="The picture to write: .png, .jpg or .webp.")],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same house.")] = 7,
    rooms: Rooms = None,
    graph: GraphFile = None,
    npz: NpzFile = None,
    path: Annotated[bool, typer.Option("--path/--no-path", help="Draw the way of a tour that sees it all.")] = True,
    scale: Annotated[float, typer.Option("--scale", help="Pixels to a metre.")] = 80.0,
) -> None:
    """Draw a home from above with its rooms, furniture and things, and a walk through it.

    Example: [bold]lastseen sim map --seed 7 house.png[/bold]
    """
    from lastseen.cli.options import current_settings
    from lastseen.sim.coverage import tour_path
    from lastseen.sim.topdown import save_map

    settings = current_settings()
    home = chosen_home(seed, settings, rooms=rooms, graph=graph, npz=npz)
    save_map(home, out, scale=scale, path=tour_path(home, settings, seed=seed) if path else None)
    typer.echo(f"{out}: {home.name}, {len(home.rooms)} rooms, {len(home.things)} things")
