"""What commands print: for people tables that fit the terminal, counts, times and positions; for programs JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_GAP = "  "
_NARROWEST = 6
"""Characters that a column keeps on the narrowest terminal."""


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
    cut: Sequence[str] = (),
    colors: Mapping[str, str] | None = None,
) -> None:
    """Print rows under their columns, no wider than the terminal.

    Columns named ``right`` hold figures; they and ``whole`` ones are never broken. Where there is no room, ``cut``
    columns end in an ellipsis and all others go on in the next line. ``colors`` maps the text of a cell to its color.
    """
    kept = {*right, *whole}
    widths = [max(len(cell) for cell in cells) for cells in zip(columns, *rows, strict=True)]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - terminal_width()
    flexible = [number for number, name in enumerate(columns) if name not in kept]
    while excess > 0 and flexible:
        widest = max(flexible, key=lambda number: widths[number])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
        excess -= 1
    if title is not None:
        typer.echo(title)
    typer.echo(_line(columns, columns, widths, right))
    typer.echo(_GAP.join("-" * width for width in widths))
    for row in rows:
        cells = [
            [_shortened(cell, width)] if name in cut else textwrap.wrap(cell, width, break_on_hyphens=False) or [""]
            for name, cell, width in zip(columns, row, widths, strict=True)
        ]
        for number in range(max(len(cell) for cell in cells)):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            typer.echo(_line(columns, parts, widths, right, colors or {}))


def say(text: str, *, indent: str = "", err: bool = False) -> None:
    """Print sentences, broken between words where the terminal ends; lines that go on begin with ``indent``."""
    for line in text.splitlines() or [""]:
        lead = line[: len(line) - len(line.lstrip())]
        options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
        typer.echo(textwrap.fill(line, terminal_width(), subsequent_indent=lead + indent, **options), err=err)


def print_json(value: Any) -> None:
    """Print a value for programs."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_note(note: str | None) -> None:
    """Print what a person should know, where there is something, beside what programs read."""
    if note:
        typer.echo(f"note: {note}", err=True)


def progress_bar(*columns: str | ProgressColumn) -> Progress:
    """A bar with a count that vanishes at its end, on stderr; ``columns`` stand behind it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    shown = "{task.description}", BarColumn(), MofNCompleteColumn(), *columns
    return Progress(*shown, console=Console(stderr=True), transient=True)


def terminal_width() -> int:
    """Characters in a line of the terminal; without bound where the output goes to a program."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 10_000


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 place, 2 places."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def age_text(seconds: float) -> str:
    """How long ago something was seen: 40 s, 12 min, 3 h, 5 d."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def time_text(wall: datetime | None, seconds: float) -> str:
    """A time: the date in UTC where its session has one, else seconds of memory time."""
    return f"{seconds:.1f} s" if wall is None else wall.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def minute_text(wall: datetime | None, seconds: float) -> str:
    """The same to the minute, for tables whose rows must fit a terminal."""
    return time_text(wall, seconds) if wall is None else time_text(wall, seconds)[:16]


def position_text(xyz: Any) -> str:
    """A position in metres, to the centimetre."""
    return " ".join(f"{float(value):.2f}" for value in xyz)


def evidence_text(kind: str, evidence: Mapping[str, Any]) -> str:
    """Why an event was recorded, in words; names and values where there are no words for it."""
    known = {name: value for name, value in evidence.items() if name != "label"}
    if kind == "confirmed" and {"hits", "view_bins"} <= known.keys():
        return f"{counted(known['hits'], 'hit')} from {counted(known['view_bins'], 'side')}"
    if kind in ("missing", "removed") and "views" in known:
        return f"empty in {counted(known['views'], 'view')}"
    if kind == "moved" and "before" in known:
        return f"from {position_text(known['before'])}"
    if kind == "reappeared" and "missing_for" in known:
        return f"was {known.get('was', 'missing')} for {float(known['missing_for']):.0f} s"
    if kind == "merged" and "absorbed" in known:
        return f"with {known['absorbed']}"
    if kind == "appeared" and "xyz" in known:
        free = ", free before" if known.get("place_was_free") else ""
        return f"at {position_text(known['xyz'])}{free}"
    if known.get("how") == "tell":
        return f"told to be at {position_text(known['xyz'])}" if "xyz" in known else "told"
    if known.get("how") == "relabel":
        return f"was called {known.get('before') or 'nothing'}"
    values = ((name.replace("_", " "), value) for name, value in sorted(known.items()))
    return ", ".join(f"{name} {position_text(value) if isinstance(value, list) else value}" for name, value in values)


def _line(
    columns: Sequence[str],
    parts: Sequence[str],
    widths: Sequence[int],
    right: Sequence[str],
    colors: Mapping[str, str] | None = None,
) -> str:
    cells = []
    for name, part, width in zip(columns, parts, widths, strict=True):
        cell = part.rjust(width) if name in right else part.ljust(width)
        cells.append(typer.style(cell, fg=colors[part]) if colors and part in colors else cell)
    return _GAP.join(cells).rstrip()


def _shortened(cell: str, width: int) -> str:
    return cell if len(cell) <= width else cell[: width - 1] + "…"
