"""``lastseen doctor``: what is wrong with a recording or a camera, and the options that correct it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from lastseen.cli.options import OptionsFile, SourceChanges


def diagnose(
    source: Annotated[str, typer.Argument(help="A folder, a bag, or an address such as sim://7.")],
    options: OptionsFile = None,
    change: SourceChanges = None,
    fix: Annotated[
        Path | None, typer.Option("--fix", help="Write the options that correct what was found to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Sample a source and check poses, axes, scales, clocks and images; exits with 1 when something is wrong.

    Examples: [bold]lastseen doctor my_recording[/bold],
    [bold]lastseen doctor my_recording --fix my_recording/source.toml[/bold]
    """
    from lastseen.cli.options import current_settings
    from lastseen.cli.text import counted, print_table
    from lastseen.sources import open_source
    from lastseen.sources.doctor import Verdict, examine

    settings = current_settings()
    with open_source(source, options, changes=change or (), settings=settings) as opened:
        if opened.greeting:
            typer.echo(opened.greeting, err=True)
        report = examine(opened, settings)
    if fix is not None:
        report.options.save(fix)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2))
    else:
        colors = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAULT: "red", Verdict.UNSURE: "blue"}
        print_table(
            ["check", "verdict", "figure", "remedy"],
            [[check.name, check.verdict.value, check.figure, check.remedy] for check in report.checks],
            title=f"{report.address}: {counted(report.frames, 'frame')} sampled",
            whole=["check", "verdict"],
            colors={verdict.value: color for verdict, color in colors.items()},
        )
        for note in report.notes:
            typer.echo(f"note: {note}")
        if report.faults and fix is None and report.options.changed():
            typer.echo("write the corrections with --fix FILE and give them to any command with --options FILE")
        elif fix is not None:
            typer.echo(f"wrote {fix}")
    if report.faults:
        raise typer.Exit(1)
