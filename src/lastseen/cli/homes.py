"""The home a ``lastseen sim`` command is about: one of a file, or the one that a seed makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lastseen.config import Settings
    from lastseen.sim.home import Home

Rooms = Annotated[int | None, typer.Option("--rooms", help="4 to 12; left out, the seed decides.")]
GraphFile = Annotated[Path | None, typer.Option("--graph", help="This VirtualHome scene instead.")]
NpzFile = Annotated[Path | None, typer.Option("--npz", help="This house of triangles instead.")]


def chosen_home(
    seed: int, settings: Settings, *, rooms: int | None = None, graph: Path | None = None, npz: Path | None = None
) -> Home:
    """The home that the options name; options that name two are refused."""
    from lastseen.errors import InvalidValue
    from lastseen.sim.generate import generate_home
    from lastseen.sim.home import Home

    if sum(given is not None for given in (npz, graph, rooms)) > 1:
        raise InvalidValue(
            "--npz, --graph, --rooms", (npz, graph, rooms), "do not go together", remedy="give one of them"
        )
    if graph is not None:
        return Home.from_graph(graph)
    if npz is not None:
        return Home.from_npz(npz)
    return generate_home(seed, rooms=rooms, settings=settings.homes)
