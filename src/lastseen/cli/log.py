"""``lastseen log``: what a run did, as a timeline and as a map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Look at the log of a run.")

LogFile = Annotated[Path, typer.Argument(help="The log of a run (JSON lines).", show_default=False)]


@app.command("show")
def show(
    file: LogFile,
    anchors: Annotated[bool, typer.Option("--anchors", help="Show every anchor too.")] = False,
) -> None:
    """Print what happened when, with the steps in between folded.

    Example: [bold]lastseen log show run.jsonl[/bold]
    """
    from lastseen.runtime.log import read_log
    from lastseen.runtime.timeline import timeline

    for line in timeline(read_log(file), anchors=anchors):
        typer.echo(line)


@app.command("map")
def draw(
    file: LogFile,
    out: Annotated[Path, typer.Argument(help="The PNG file to write.", show_default=False)],
) -> None:
    """Draw the path, its anchors and places, the planner's calls, and where the run got stuck.

    Example: [bold]lastseen log map run.jsonl run.png[/bold]
    """
    from lastseen.runtime.log import read_log
    from lastseen.runtime.log_map import save_map

    save_map(read_log(file), out)
    typer.echo(f"wrote {out}")
