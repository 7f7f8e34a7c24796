"""``lastseen eval``: does memory help, and by how much?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lastseen.cli.options import current_settings

app = typer.Typer(
    no_args_is_help=True,
    help="Measure searches against each other.\n\nExample: [bold]lastseen eval objectnav --out results[/bold]",
)


@app.callback()
def _group() -> None:
    """Measure searches against each other.

    Example: [bold]lastseen eval objectnav --out results[/bold]
    """


@app.command("objectnav")
def objectnav(
    out: Annotated[Path, typer.Option(help="The directory for results; an interrupted run goes on in it.")],
    episodes: Annotated[int, typer.Option(help="How many episodes, one home each.")] = 20,
    seed: Annotated[int, typer.Option(help="The first seed: below 10000 to tune, from 10000 to report.")] = 0,
    arms: Annotated[
        str, typer.Option(help="Arms separated by commas; all, or ablation: context and it without each part.")
    ] = "frontier,random,no_context,context,oracle",
    jobs: Annotated[int, typer.Option(help="Processes; the results are the same for any number.")] = 1,
    engine: Annotated[
        str, typer.Option(help="processes, or ray: on the cluster of RAY_ADDRESS, or --jobs of this machine.")
    ] = "processes",
    backend: Annotated[
        str | None, typer.Option(help="The planner's model: offline, gemini, openai; default: planner.backend.")
    ] = None,
    policy: Annotated[
        str, typer.Option(help="Who walks to a pixel: geometric, or pixelnav:CHECKPOINT.")
    ] = "geometric",
    scene: Annotated[str, typer.Option(help="generated, or npz:FILE or graph:FILE for one home.")] = "generated",
    report: Annotated[bool, typer.Option("--report", help="Also write report.html.")] = False,
) -> None:
    """Run arms over ObjectNav episodes and write summary.json with intervals and paired differences.

    Example: [bold]lastseen eval objectnav --episodes 20 --arms no_context,context --out results[/bold]
    """
    from rich.console import Console

    from lastseen.evaluation.arms import arms_of
    from lastseen.evaluation.runner import TIMING_FILE, Plan, run
    from lastseen.evaluation.summary import summarize, write_summary

    chosen = arms_of([name.strip() for name in arms.split(",") if name.strip()])
    names = tuple(arm.name for arm in chosen)
    settings = current_settings()
    plan = Plan(
        seed=seed,
        episodes=episodes,
        arms=names,
        settings=settings,
        backend=backend or settings.planner.backend,
        scene=scene,
        policy=policy,
    )
    console = Console(stderr=True)
    with _Bar(console, total=episodes * len(set(names))) as bar:
        records = run(plan, out, jobs=jobs, engine=engine, progress=bar.add)
    summary = summarize(records, plan.config())
    write_summary(out, summary)
    for line in summary["verdict"]:
        typer.echo(line)
    _print_summary(summary)
    typer.echo(f"wrote {out / 'summary.json'}; calls, seconds, tokens and cost are in {out / TIMING_FILE}")
    if report:
        from lastseen.evaluation.report import write_report

        typer.echo(f"wrote {write_report(out, records, summary)}")


@app.command("referring")
def referring(
    folder: Annotated[Path, typer.Argument(help="A folder in the layout of IRef-VLA.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Put statements that point at one thing, and false ones, to a memory of their room.

    Example: [bold]lastseen eval referring arkit_room --json[/bold]
    """
    from lastseen.evaluation.referring import evaluate

    score = evaluate(folder)
    if as_json:
        typer.echo(json.dumps(score.to_json(), indent=2, ensure_ascii=False))
        return
    typer.echo(f"true statements: {score.true_right} of {score.statements} point at the right thing")
    typer.echo(
        f"false statements: {score.false_refused} of {score.false_statements} refused, "
        f"{score.false_reason_right} with the right reason"
    )
    for name, counts in sorted(score.by_relation.items()):
        typer.echo(f"  {name}: {counts['right']} of {counts['asked']}")


class _Bar:
    """Progress with the running success rate of each arm."""

    def __init__(self, console: Any, *, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("episodes", total=total)
        self._done: dict[str, list[bool]] = {}

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def add(self, record: dict[str, Any]) -> None:
        """Count one result."""
        self._done.setdefault(record["arm"], []).append(record["success"])
        running = "  ".join(f"{arm} {sum(done) / len(done):.2f}" for arm, done in self._done.items())
        self._progress.update(self._task, advance=1, description=f"SR  {running}")


def _print_summary(summary: dict[str, Any]) -> None:
    from lastseen.cli.text import print_table

    arms = summary["arms"].items()
    columns = ["arm", "SR", "SR 95 %", "SPL", "SPL 95 %", "SoftSPL", "steps", "calls"]
    print_table(
        columns,
        [
            [
                name,
                _mean(figures["sr"]),
                _span(figures["sr"]),
                _mean(figures["spl"]),
                _span(figures["spl"]),
                _mean(figures["soft_spl"]),
                f"{figures['steps']['mean']:.0f}",
                _mean(figures["planner_calls"]),
            ]
            for name, figures in arms
        ],
        title="ObjectNav: means, with bootstrap intervals",
        right=columns[1:],
    )
    keys = {"ABABA": "ababa", "STUCK": "stuck", "no progress": "no_progress", "revisited m2": "revisited_m2"}
    print_table(
        ["arm", *keys],
        [[name, *(_mean(figures[key]) for key in keys.values())] for name, figures in arms],
        title="Going in circles: means per episode",
        right=list(keys),
    )


def _mean(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.2f}"


def _span(figure: dict[str, float]) -> str:
    return f"{figure['low']:.2f}-{figure['high']:.2f}"
