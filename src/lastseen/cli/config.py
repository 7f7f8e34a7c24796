"""``lastseen config``: every setting with its value, unit and reason."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def show(
    section: Annotated[str | None, typer.Option("--section", help="Show this section only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print values only, as JSON.")] = False,
) -> None:
    """Show every setting as TOML that can be edited and given back.

    Examples: [bold]lastseen config > lastseen.toml[/bold], [bold]lastseen config --section association[/bold]
    """
    from lastseen.cli.options import current_settings
    from lastseen.config import describe
    from lastseen.errors import SettingsError

    rows = [row for row in describe(current_settings()) if section is None or row.name.startswith(f"{section}.")]
    if not rows:
        raise SettingsError("--section", section, "is not a section", remedy="run `lastseen config` for all")
    if as_json:
        tree: dict[str, dict[str, object]] = {}
        for row in rows:
            group, _, name = row.name.rpartition(".")
            tree.setdefault(group, {})[name] = row.value
        typer.echo(json.dumps(tree, indent=2))
        return
    current = ""
    for row in rows:
        group, _, name = row.name.rpartition(".")
        if group != current:
            typer.echo(f"{'' if not current else chr(10)}[{group}]")
            current = group
        unit = f" [{row.unit}]" if row.unit else ""
        typer.echo(f"# {row.why}{unit}\n{name} = {_toml(row.value)}")


def _toml(value: object) -> str:
    """Text, numbers, booleans and lists of text are written alike in JSON and TOML."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)
