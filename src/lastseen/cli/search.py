"""``lastseen search`` and ``lastseen self-check``: a search from memory, and the rules it must keep."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def search(
    goal: Annotated[str, typer.Argument(help="What to look for, in words.")],
    *,
    memory: Annotated[
        Path | None,
        typer.Option(
            "--memory",
            "-m",
            envvar="LASTSEEN_MEMORY",
            help="A memory file or a nodes file; without one a demo flat is searched.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Stop after this many steps.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Chooses the start and the mock's answers.")] = 0,
    backend: Annotated[
        str, typer.Option("--backend", help="A model that proposes, such as openai:MODEL; 'rules' asks none.")
    ] = "rules",
    constraint: Annotated[
        list[str] | None, typer.Option("--constraint", help="Such as 'avoid: kitchen'; may be given again.")
    ] = None,
    log: Annotated[Path | None, typer.Option("--log", help="Write the step log here, one JSON per line.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome only, as JSON.")] = False,
) -> None:
    """Rehearse a search over remembered places: where would the robot go, and why.

    The world of a rehearsal is exactly what memory says. Exit code 0 also when the goal is not found. Over a memory
    file that `lastseen run` made, the last line is the memory's own answer: found, ambiguous or not found.

    Examples: [bold]lastseen search "red mug" --memory home.lastseen[/bold],
    [bold]lastseen search book --constraint "avoid: corridor"[/bold]
    """
    from lastseen.cli.options import current_settings
    from lastseen.search.loop import rehearse, said

    result = rehearse(
        goal,
        steps=steps,
        seed=seed,
        memory=memory,
        backend=backend,
        constraints=constraint or [],
        log=log,
        settings=current_settings(),
        tell=(lambda _: None) if as_json else typer.echo,
    )
    if memory is None:
        typer.echo("no --memory given: this was a rehearsal in a demo flat", err=True)
    if as_json:
        outcome = {
            "status": result.status,
            "reason": result.reason,
            "question": result.question,
            "steps": result.steps,
            "belief": result.belief,
            "memory": None if result.answer is None else asdict(result.answer),
        }
        typer.echo(json.dumps(outcome, indent=2, sort_keys=True))
    else:
        typer.echo("\n".join(said(result)))


def self_check(
    as_json: Annotated[bool, typer.Option("--json", help="Print each rule and its problem as JSON.")] = False,
) -> None:
    """Check every rule of the search; exit code 1 when one is broken.

    Example: [bold]lastseen self-check[/bold]
    """
    from lastseen.search import self_check as rules

    if not as_json:
        raise typer.Exit(rules.print_self_check(typer.echo))
    checked = rules.self_check()
    typer.echo(json.dumps([asdict(each) for each in checked], indent=2))
    raise typer.Exit(1 if any(each.problem for each in checked) else 0)
