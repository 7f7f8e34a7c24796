"""``lastseen backup, check, salvage, thin, align, merge``: memory files as wholes, one or two at a time."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.memory import check_file, open_memory
from lastseen.cli.options import DEFAULT_FILE, AsJson, MemoryFile, current_settings
from lastseen.cli.text import counted, print_json, print_table, say

if TYPE_CHECKING:
    from lastseen.memory.store.salvage import Report

File = Annotated[Path, typer.Argument(metavar="FILE", help="The memory file.", show_default=False)]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="A new file.", show_default=False)]

_ROWS = {"meta": "setting", "floor": "floor tile", "surface": "surface tile", "path": "path piece"}
"""What one row of a table is called, where the table has no plural for its name."""


def backup(file: File, out: Out) -> None:
    """Copy a memory file, also while a robot writes it.

    Example: [bold]lastseen backup home.lastseen monday.lastseen[/bold]
    """
    from lastseen.memory.store.salvage import backup as run

    typer.echo(f"wrote {out}: {run(file, out):,} bytes, whole in itself")


def check(file: File, as_json: AsJson = False) -> None:
    """Read all of a memory file and compare it with its checksums; exits 1 when something is damaged.

    Example: [bold]lastseen check home.lastseen[/bold]
    """
    from lastseen.memory.store.salvage import check as run

    report = run(file)
    _print(report, as_json=as_json)
    if report.problems:
        typer.echo(f"{file} is damaged: restore it from a copy, or run `lastseen salvage {file} OUT`", err=True)
        raise typer.Exit(1)


def salvage(file: File, out: Out, as_json: AsJson = False) -> None:
    """Write what is whole of a damaged or incomplete memory file to a new one, and say what is lost.

    Example: [bold]lastseen salvage broken.lastseen saved.lastseen[/bold]
    """
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
    settings, before = current_settings(), file.stat().st_size
    kept = settings.retention
    kept = replace(kept, days=kept.days if days is None else days, bytes=kept.bytes if most is None else most)
    with open_memory(file, settings=replace(settings, retention=kept), read_only=False) as memory:
        rows = memory.thin()
    typer.echo(f"deleted {rows:,} rows of history; {file} has {file.stat().st_size:,} bytes (before {before:,})")


def align(
    file: File,
    known: Annotated[Path, typer.Argument(metavar="MAP", help="The memory file it may lie in.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Tell where one memory lies in another, by the things that both hold; exits 1 when that cannot be told.

    Example: [bold]lastseen align today.lastseen home.lastseen[/bold]
    """
    check_file(file)
    check_file(known)
    from lastseen.memory.alignment import align as run
    from lastseen.memory.alignment import landmarks_of

    with open_memory(file) as one, open_memory(known) as other:
        found = run(landmarks_of(one, one.space), landmarks_of(other, other.space))
        names = {state.id: state.label or "thing" for state in one.states()}
    if as_json:
        print_json(asdict(found))
    else:
        typer.echo(f"{found.status.replace('_', ' ')}: {found.reason}")
        for place in found.candidates if found.status != "not_aligned" else ():
            to, (yaw, x, _, _) = place.transform, place.deviations
            typer.echo(
                f"  turn {math.degrees(to.yaw):.1f} deg (+-{math.degrees(yaw):.1f}), "
                f"then shift {to.x:.2f} {to.y:.2f} {to.z:.2f} m (+-{x:.2f})"
            )
            for mine, theirs in place.pairs:
                typer.echo(f"    {names[mine]} {mine} is {theirs}")
    if found.status != "aligned":
        raise typer.Exit(1)


def merge(
    file: File,
    other: Annotated[
        Path, typer.Argument(metavar="OTHER", help="A memory file of the same home.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The new file.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Make one memory of two of the same home, and say what was met again, moved and added; both stay as they are.

    Example: [bold]lastseen merge upstairs.lastseen robot2.lastseen -o home.lastseen[/bold]
    """
    check_file(file)
    check_file(other)
    from lastseen.memory.merging import merge_files

    base, found, merged = merge_files(file, other, out, current_settings())
    added = other if base == file else file
    if as_json:
        print_json({"map_of": str(base), "alignment": asdict(found), **asdict(merged)})
        return
    typer.echo(f"aligned: {found.reason}")
    typer.echo(f"wrote {out} in the map of {base}, whose newest session is the older one; from {added}:")
    for name, pairs in (("met again", merged.matched), ("moved", merged.moved), ("added", merged.added)):
        typer.echo(f"  {name}: {len(pairs)}" + "".join(f"\n    {theirs} is {mine}" for theirs, mine in pairs))
    typer.echo(f"  not met in {added}: {len(merged.unmet)}")


def sessions(
    memory: MemoryFile = DEFAULT_FILE,
    align_again: Annotated[
        int | None, typer.Option("--align", metavar="N", help="Try again to align a session in quarantine.")
    ] = None,
    undo: Annotated[int | None, typer.Option("--undo", metavar="N", help="Undo the alignment of a session.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions and the map that each is in; align one that was kept apart, or undo that.

    Example: [bold]lastseen sessions --memory home.lastseen[/bold]
    """
    check_file(memory)
    from lastseen.memory.session_files import align_session, undo_alignment
    from lastseen.memory.write_path import WritePath

    def opened(path: Path) -> WritePath:
        return WritePath(path, current_settings(), read_only=False)

    if align_again is not None:
        merged = align_session(memory, align_again, opened)
        typer.echo(f"session {align_again} is aligned: {len(merged.matched)} met again, {len(merged.added)} added")
    if undo is not None:
        kept = undo_alignment(memory, undo, opened)
        typer.echo(f"session {undo} is in quarantine again; {memory} is what it was before, {kept} what it was now")
    if align_again is not None or undo is not None:
        return
    from lastseen.server.queries import sessions as listed

    with open_memory(memory) as read:
        found = listed(read)
    if as_json:
        print_json(found)
        return
    rows = [
        [str(one["id"]), one["robot"], (one["first"] or "-")[:19].replace("T", " "), one["state"], one["reason"]]
        for one in found["sessions"]
    ]
    print_table(["id", "robot", "begun (UTC)", "map", "why"], rows, whole=["id", "begun (UTC)", "map"])


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {"file": str(report.path), "whole": report.whole, "lost": report.lost, "problems": report.problems}
        )
        return
    nouns = {table: _ROWS.get(table, table.removesuffix("s")) for table in report.whole}
    rows = [counted(count, nouns[table]) for table, count in report.whole.items() if count]
    say(", ".join(rows) or "no rows")
    for problem in report.problems:
        say(f"damaged: {problem}", indent="  ")
    if not report.problems:
        typer.echo("whole: every row matches its checksum")
