"""``lastseen sim``: homes to look at, walk through and record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lastseen.cli import record, sim_search

app = typer.Typer(name="sim", no_args_is_help=True, help="Simulated homes: draw them, walk them, record them.")
app.command("record")(record.record)
app.command("search")(sim_search.search)


@app.command("map")
def draw(
    out: Annotated[Path, typer.Argument(help="The picture to write: .png, .jpg or .webp.")],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same house.")] = 7,
    rooms: Annotated[int | None, typer.Option("--rooms", help="4 to 12; left out, the seed decides.")] = None,
    graph: Annotated[Path | None, typer.Option("--graph", help="Draw this VirtualHome scene instead.")] = None,
    scale: Annotated[float, typer.Option("--scale", help="Pixels to a metre.")] = 80.0,
) -> None:
    """Draw a home from above with its rooms, furniture and things.

    Example: [bold]lastseen sim map --seed 7 house.png[/bold]
    """
    from lastseen.cli.options import current_settings
    from lastseen.sim.generate import generate_home
    from lastseen.sim.topdown import save_map

    if graph is not None:
        from lastseen.sim.from_graph import home_from_graph

        home = home_from_graph(graph)
    else:
        home = generate_home(seed, rooms=rooms, settings=current_settings().homes)
    save_map(home, out, scale=scale)
    typer.echo(f"{out}: {home.name}, {len(home.rooms)} rooms, {len(home.things)} things")
