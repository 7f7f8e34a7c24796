"""``lastseen backup, check, salvage, thin``: memory files copied in use, checked, saved and made smaller."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.memory import check_file, open_memory

if TYPE_CHECKING:
    from lastseen.memory.store.journal.salvage import Report

File = Annotated[Path, typer.Argument(metavar="FILE", help="The memory file.", show_default=False)]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="A new file.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the command line."""
    for command in (backup, check, salvage, thin):
        app.command(command.__name__)(command)


def backup(file: File, out: Out) -> None:
    """Copy a memory file, also while a robot writes it.

    Example: [bold]lastseen backup home.lastseen monday.lastseen[/bold]
    """
    from lastseen.memory.store.journal.salvage import backup as run

    typer.echo(f"wrote {out}: {run(file, out):,} bytes, whole in itself")


def check(file: File, as_json: AsJson = False) -> None:
    """Read all of a memory file and compare it with its checksums; exits 1 when something is damaged.

    Example: [bold]lastseen check home.lastseen[/bold]
    """
    from lastseen.memory.store.journal.salvage import check as run

    report = run(file)
    _print(report, as_json=as_json)
    if report.problems:
        typer.echo(f"{file} is damaged: restore it from a copy, or run `lastseen salvage {file} OUT`", err=True)
        raise typer.Exit(1)


def salvage(file: File, out: Out, as_json: AsJson = False) -> None:
    """Write what is whole of a damaged or incomplete memory file to a new one, and say what is lost.

    Example: [bold]lastseen salvage broken.lastseen saved.lastseen[/bold]
    """
    from lastseen.cli.options import current_settings
    from lastseen.memory.memory import Memory
    from lastseen.memory.store.salvage import salvage as run

    settings = current_settings()
    report = run(file, out, settings)
    _print(report, as_json=as_json)
    # whoever reads "wrote" can open it
    Memory.open(out, settings=settings).close()
    if not as_json:
        typer.echo(f"wrote {out}")


def thin(
    file: File,
    days: Annotated[
        float | None, typer.Option(min=0.0, help="Days of history to keep, 0 for all; else retention.days.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--bytes", min=0, help="Bytes of history to keep, 0 for all; else retention.bytes.")
    ] = None,
) -> None:
    """Delete the oldest history of a memory file and make the file smaller; objects are kept.

    Example: [bold]lastseen thin home.lastseen --days 90[/bold]
    """
    check_file(file)
    from lastseen.cli.options import current_settings

    settings, before = current_settings(), file.stat().st_size
    kept = settings.retention
    kept = replace(kept, days=kept.days if days is None else days, bytes=kept.bytes if most is None else most)
    with open_memory(file, settings=replace(settings, retention=kept), read_only=False) as memory:
        rows = memory.thin()
    typer.echo(f"deleted {rows:,} rows of history; {file} has {file.stat().st_size:,} bytes (before {before:,})")


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        facts = {"file": str(report.path), "whole": report.whole, "lost": report.lost, "problems": report.problems}
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(", ".join(f"{count:,} {table}" for table, count in report.whole.items() if count) or "no rows")
    for problem in report.problems:
        typer.echo(f"damaged: {problem}")
    if not report.problems:
        typer.echo("whole: every row matches its checksum")
