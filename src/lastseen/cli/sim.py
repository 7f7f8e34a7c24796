"""``lastseen sim``: homes to look at, walk through and record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lastseen.cli import sim_record, sim_search

app = typer.Typer(
    name="sim",
    no_args_is_help=True,
    help="Simulated homes: draw them, walk them, record them.\n\n"
    "Example: [bold]lastseen sim map --seed 7 house.png[/bold]",
)
app.command("record")(sim_record.record)
app.command("search")(sim_search.search)


@app.command("map")
def draw(
    out: Annotated[Path, typer.Argument(help="The picture to write: .png, .jpg or .webp.")],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same house.")] = 7,
    rooms: Annotated[int | None, typer.Option("--rooms", help="4 to 12; left out, the seed decides.")] = None,
    graph: Annotated[Path | None, typer.Option("--graph", help="Draw this VirtualHome scene instead.")] = None,
    npz: Annotated[Path | None, typer.Option("--npz", help="Draw this house of triangles instead.")] = None,
    path: Annotated[bool, typer.Option("--path/--no-path", help="Draw the way of a tour that sees it all.")] = True,
    scale: Annotated[float, typer.Option("--scale", help="Pixels to a metre.")] = 80.0,
) -> None:
    """Draw a home from above with its rooms, furniture and things, and a walk through it.

    Example: [bold]lastseen sim map --seed 7 house.png[/bold]
    """
    from lastseen.cli.options import current_settings
    from lastseen.sim.coverage import tour_path
    from lastseen.sim.generate import generate_home
    from lastseen.sim.home import Home
    from lastseen.sim.topdown import save_map

    settings = current_settings()
    if graph is not None:
        home = Home.from_graph(graph)
    elif npz is not None:
        home = Home.from_npz(npz)
    else:
        home = generate_home(seed, rooms=rooms, settings=settings.homes)
    save_map(home, out, scale=scale, path=tour_path(home, settings, seed=seed) if path else None)
    typer.echo(f"{out}: {home.name}, {len(home.rooms)} rooms, {len(home.things)} things")
