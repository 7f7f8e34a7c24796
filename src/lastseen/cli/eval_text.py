"""What ``lastseen eval`` prints: progress while it runs, and the tables of a summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lastseen.cli.text import print_table

if TYPE_CHECKING:
    from lastseen.evaluation.runner import Evaluation


def run_and_print(
    plan: Evaluation, out: Path, *, jobs: int = 1, engine: str = "processes", report: bool = False
) -> None:
    """Run what is missing of a plan, write summary.json (and report.html), and print what came of it."""
    from rich.console import Console

    from lastseen.evaluation.runner import TIMING_FILE, run
    from lastseen.evaluation.summary import summarize, write_summary

    with Bar(Console(stderr=True), total=len(plan.seeds) * len(set(plan.arms))) as bar:
        records = run(plan, out, jobs=jobs, engine=engine, progress=bar.add)
    summary = summarize(records, plan.config())
    write_summary(out, summary)
    for line in summary["verdict"]:
        typer.echo(line)
    print_summary(summary)
    typer.echo(f"wrote {out / 'summary.json'}; calls, seconds, tokens and cost are in {out / TIMING_FILE}")
    if report:
        from lastseen.evaluation.report import write_report

        typer.echo(f"wrote {write_report(out, records, summary)}")


class Bar:
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

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def add(self, record: dict[str, Any]) -> None:
        """Count one result."""
        self._done.setdefault(record["arm"], []).append(record["success"])
        running = "  ".join(f"{arm} {sum(done) / len(done):.2f}" for arm, done in self._done.items())
        self._progress.update(self._task, advance=1, description=f"SR  {running}")


def print_summary(summary: dict[str, Any]) -> None:
    """Print the means of every arm, and the differences between arms on the same episodes."""
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
    if summary["paired"]:
        _print_pairs(summary["paired"])


def print_hints(figures: dict[str, dict[str, Any]]) -> None:
    """Print what the hints of each arm told."""
    columns = ["arm", "calls", "STUCK", "said", "with", "without", "difference"]
    print_table(
        columns,
        [
            [
                name,
                str(found["calls"]),
                _share(found["stuck"]),
                _share(found["no_progress"]),
                _share(found["no_new_place_with_no_progress"]),
                _share(found["no_new_place_without"]),
                "-" if found["difference"] is None else _signed(found["difference"], 2),
            ]
            for name, found in figures.items()
        ],
        title="NO_PROGRESS said, and calls without a new place in the next 20 steps",
        right=columns[1:],
    )


def _print_pairs(paired: dict[str, dict[str, Any]]) -> None:
    figures = [("spl", "SPL", 3), ("ababa", "ABABA", 2), ("no_progress", "no progress", 2)]
    figures += [("unique_place_ratio", "unique places", 3)]
    print_table(
        ["pair", "figure", "mean difference (95 %)"],
        [
            [pair.replace("_minus_", " minus ") if key == "spl" else "", title, _signed(found[key], digits)]
            for pair, found in paired.items()
            for key, title, digits in figures
        ],
        title="Paired over the same episodes",
        right=["mean difference (95 %)"],
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _signed(figure: dict[str, float], digits: int) -> str:
    return f"{figure['mean']:+.{digits}f} ({figure['low']:+.{digits}f} to {figure['high']:+.{digits}f})"


def _mean(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.2f}"


def _span(figure: dict[str, float]) -> str:
    return f"{figure['low']:.2f}-{figure['high']:.2f}"
