"""What ``lastseen eval`` prints: progress while it runs, and the tables of a summary."""

from __future__ import annotations

from typing import Any

from lastseen.cli.text import print_table


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
    columns = ["arm", "calls", "STUCK", "NO_PROGRESS", "none new with", "without", "difference"]
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
        title="Planner calls with each hint, and the share of calls without a new place in the next 20 steps",
        right=columns[1:],
    )


def _print_pairs(paired: dict[str, dict[str, Any]]) -> None:
    digits = {"spl": 3, "ababa": 2, "no_progress": 2, "unique_place_ratio": 3}
    columns = ["pair", "SPL", "ABABA", "no progress", "unique places"]
    print_table(
        columns,
        [
            [pair.replace("_minus_", " minus "), *(_signed(found[key], places) for key, places in digits.items())]
            for pair, found in paired.items()
        ],
        title="Paired over the same episodes: mean difference (95 % interval)",
        right=columns[1:],
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _signed(figure: dict[str, float], digits: int) -> str:
    return f"{figure['mean']:+.{digits}f} ({figure['low']:+.{digits}f} to {figure['high']:+.{digits}f})"


def _mean(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.2f}"


def _span(figure: dict[str, float]) -> str:
    return f"{figure['low']:.2f}-{figure['high']:.2f}"
