"""``lastseen sim``: homes to look at, walk through and record."""

from __future__ import annotations

import typer

from lastseen.cli import record

app = typer.Typer(name="sim", no_args_is_help=True, help="Simulated homes: draw them, walk them, record them.")
app.command("record")(record.record)
