"""``lastseen log``: what a run did, as a timeline and as a map."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    help="Look at the log of a run.\n\nExample: [bold]lastseen log show run.jsonl[/bold]",
)

LogFile = Annotated[Path, typer.Argument(help="The log of a run (JSON lines).", show_default=False)]


@app.command("show")
def show(
    file: LogFile,
    anchors: Annotated[bool, typer.Option("--anchors", help="Show every anchor too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print header, steps and events as JSON.")] = False,
) -> None:
    """Print what happened when, with the steps in between folded.

    Example: [bold]lastseen log show run.jsonl[/bold]
    """
    from lastseen.search.log import read_log
    from lastseen.search.log_view import timeline

    run = read_log(file)
    if as_json:
        typer.echo(json.dumps({name: getattr(run, name) for name in ("header", "steps", "events", "torn")}, indent=2))
        return
    width = max(shutil.get_terminal_size().columns, 40)
    for line in timeline(run, anchors=anchors):
        # what does not fit goes on below its own words, not below the step
        typer.echo(
            textwrap.fill(line, width, subsequent_indent=" " * 13, drop_whitespace=True) if line[:1] == " " else line
        )


@app.command("map")
def draw(
    file: LogFile,
    out: Annotated[Path, typer.Argument(help="The PNG file to write.", show_default=False)],
    memory: Annotated[
        Path | None,
        typer.Option(
            help="The memory file of the home: its walls, doors and rooms and the goal are drawn too.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw the path, its anchors and places, the planner's calls, and where the run got stuck.

    Example: [bold]lastseen log map run.jsonl run.png[/bold]
    """
    from lastseen.errors import InvalidValue
    from lastseen.search.log import read_log
    from lastseen.search.log_view import known_home, save_map

    if out.suffix.lower() != ".png":
        raise InvalidValue("out", str(out), "is no .png name", remedy=f"for example {out.stem or 'run'}.png")
    if not out.parent.is_dir():
        raise InvalidValue("out", str(out), "lies in no folder", remedy=f"make {out.parent} first")
    run = read_log(file)
    if memory is None:
        save_map(run, out)
    else:
        from lastseen.memory.memory import Memory

        with Memory.open(memory, read_only=True) as known:
            save_map(run, out, home=known_home(known, run.header["goal"]))
    typer.echo(f"wrote {out}")
