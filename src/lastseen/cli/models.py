"""``lastseen models``: what models there are, which are here, and how to fetch one."""

from __future__ import annotations

import json
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    help="Models of other people: list what is known, fetch by name.\n\nExample: [bold]lastseen models list[/bold]",
)


@app.command("list")
def list_known(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> None:
    """List the models known by name: what for, licence, size, and whether they are here.

    Example: [bold]lastseen models list[/bold]
    """
    from lastseen.models.catalogue import CATALOGUE
    from lastseen.models.folder import is_present, models_folder

    folder = models_folder()
    rows = [
        {
            "name": model.name,
            "use": model.use,
            "licence": model.licence,
            "bytes": model.size,
            "sha256": "known" if model.verified else "unknown: needs --trust",
            "present": is_present(model.name, folder=folder),
        }
        for model in CATALOGUE.values()
    ]
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "models": rows}, indent=2))
        return
    from lastseen.cli.text import print_table

    print_table(
        ["model", "use", "licence", "MB", "sha256", "here"],
        [
            [
                str(row["name"]),
                str(row["use"]),
                str(row["licence"]),
                f"{int(str(row['bytes'])) / 1e6:,.0f}",
                str(row["sha256"]),
                "yes" if row["present"] else "no",
            ]
            for row in rows
        ],
        right=["MB"],
        whole=["model"],
    )
    typer.echo(f"they lie in {folder} (LASTSEEN_MODELS changes that)")


@app.command("pull")
def fetch(
    name: Annotated[str, typer.Argument(help="A name of `lastseen models list`.", show_default=False)],
    *,
    trust: Annotated[
        bool, typer.Option("--trust", help="Take files whose sha256 is not known as they come, and remember it.")
    ] = False,
) -> None:
    """Fetch a model over https, check it, and put it in the models folder; goes on where it stopped.

    Example: [bold]lastseen models pull dfine-s[/bold]
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    from lastseen.models.catalogue import known_model
    from lastseen.models.pull import pull

    model = known_model(name)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def show(path: str, done: int, total: int) -> None:
        # the bar starts with the first byte: an error before it stays one line
        bar.start()
        if path not in tasks:
            tasks[path] = bar.add_task(path)
        bar.update(tasks[path], completed=done, total=total)

    try:
        home = pull(model, trust=trust, progress=show)
    finally:
        if tasks:
            bar.stop()
    typer.echo(f"{name} ({model.licence}) is in {home}")


@app.command("names")
def print_names() -> None:
    """Print the list of names that things may get by their looks, to edit a copy of.

    Example: [bold]lastseen models names > mine.yaml[/bold]
    """
    from lastseen.perception.vocabulary import household_text

    typer.echo(household_text(), nl=False)
