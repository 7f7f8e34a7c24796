"""Tables as every command prints them: whole on a narrow terminal, where long cells go on in the next line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> None:
    """Print rows under their columns; those named ``right`` hold figures, and ``whole`` ones are never broken."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), title=title, title_justify="left")
    for column in columns:
        table.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column in (*right, *whole),
            overflow="fold",
        )
    for row in rows:
        # labels come from detectors and may hold anything: never read as markup
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    Console().print(table)
