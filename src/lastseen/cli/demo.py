"""``lastseen demo``: see the whole of it work in a minute, without camera, GPU or key."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A new or empty folder for its memory, maps and log.", show_default="a temporary one"
        ),
    ] = None,
) -> None:
    """Walk a simulated home, remember it, and search it from memory after something was moved.

    Example: [bold]lastseen demo --out story[/bold]
    """
    from lastseen.cli.demo_story import run_demo
    from lastseen.errors import InvalidValue

    if out is None:
        out = Path(tempfile.mkdtemp(prefix="lastseen-demo-"))
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidValue("--out", str(out), "is not an empty folder", remedy="name a new one")
    out.mkdir(parents=True, exist_ok=True)
    run_demo(out)
