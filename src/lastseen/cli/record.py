"""``lastseen record``: any source into an MCAP file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from lastseen.cli.options import OptionsFile, SourceChanges, SourcePoses, source_changes


def record(
    source: Annotated[str, typer.Argument(help="A folder, a bag, or an address such as sim://7.")],
    out: Annotated[Path, typer.Argument(help="The .mcap file to write; it must not exist.")],
    options: OptionsFile = None,
    change: SourceChanges = None,
    poses: SourcePoses = None,
    color: Annotated[str, typer.Option("--color", help="raw, png (exact, smaller) or jpeg (small).")] = "raw",
    depth: Annotated[
        str, typer.Option("--depth", help="32FC1 (exact), 16UC1 (millimetres) or png (millimetres, smaller).")
    ] = "32FC1",
    frames: Annotated[int | None, typer.Option("--frames", min=1, help="Stop after so many frames.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Write a source as MCAP: colour, depth, camera infos, tf and detections, for ROS 2 tools and for lastseen.

    Ctrl-C ends it and keeps what was seen. Example: [bold]lastseen record my_recording walk.mcap[/bold]
    """
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    from lastseen.cli.options import current_settings
    from lastseen.sources import open_source
    from lastseen.sources.ros.writing import record as write

    columns = (*Progress.get_default_columns(), TextColumn("{task.completed} frames"))
    with (
        open_source(source, options, changes=source_changes(change, poses), settings=current_settings()) as opened,
        Progress(*columns, console=Console(stderr=True), transient=True) as bar,
    ):
        if opened.greeting:
            bar.console.print(opened.greeting, soft_wrap=True, highlight=False, markup=False)
        total = opened.length() if frames is None else min(frames, opened.length() or frames)
        task = bar.add_task("record", total=total)
        try:
            written = write(
                opened,
                out,
                color=color,
                depth=depth,
                max_frames=frames,
                progress=lambda done: bar.update(task, completed=done),
            )
        except KeyboardInterrupt:
            if not out.exists():
                raise
            written = opened.intake.frames
        intake = opened.intake
    if as_json:
        facts = {
            "file": str(out),
            "frames": written,
            "bytes": out.stat().st_size,
            "cut_off": intake.cut_off,
            "skipped": dict(sorted(intake.skipped.items())),
            "notes": intake.notes,
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(f"{out}: {written} frames, {out.stat().st_size / 2**20:.1f} MiB")
    if intake.cut_off:
        typer.echo(intake.cut_off)
    for line in (*(f"note: {note}" for note in intake.notes), *intake.lines()):
        typer.echo(line)
