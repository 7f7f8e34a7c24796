"""``lastseen sim search``: send a robot to look for something in a simulated home, and keep the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def search(
    goal: Annotated[str, typer.Argument(help="A class of things, such as sofa or tv.")],
    *,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same home, start and senses.")] = 7,
    arm: Annotated[str, typer.Option("--arm", help="What the planner may read: context or no_context.")] = "context",
    backend: Annotated[
        str, typer.Option("--backend", help="The planner's model: offline, gemini, openai.")
    ] = "offline",
    log: Annotated[Path | None, typer.Option("--log", help="Write the run's log here: see `lastseen log`.")] = None,
    timing: Annotated[
        Path | None, typer.Option("--timing", help="Write calls, seconds, tokens and cost here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Search a simulated home by walking, with noisy senses and a detector that errs.

    Examples: [bold]lastseen sim search bed --seed 12 --log run.jsonl[/bold], then
    [bold]lastseen log map run.jsonl run.png[/bold]
    """
    from dataclasses import replace

    from lastseen.cli.options import current_settings
    from lastseen.errors import InvalidValue
    from lastseen.evaluation.arms import arm_of
    from lastseen.evaluation.cases import case_of
    from lastseen.evaluation.episode_run import run_arm
    from lastseen.search.log import RunLog
    from lastseen.search.timing import TimingLog

    chosen = arm_of(arm)
    if chosen.name not in {"context", "no_context", "frontier", "random"}:
        raise InvalidValue(
            "--arm",
            arm,
            "needs another visit or episode",
            remedy="use context, no_context, frontier or random; `lastseen eval objectnav` runs all",
        )
    settings = current_settings()
    settings = replace(settings, evaluation=replace(settings.evaluation, goals=goal))
    case = case_of(seed, settings)
    if timing is None and log is not None:
        timing = log.with_suffix(".timing.jsonl")
    with RunLog(log) as run_log, TimingLog(timing, settings=settings.planner) as times:
        ran = run_arm(case, chosen, settings=settings, backend=backend, log=run_log, timing=times)
        calls = times.episode()
    if as_json:
        typer.echo(json.dumps(ran.record, sort_keys=True))
        return
    found = "found" if ran.record["success"] else f"not found ({ran.record['cause']})"
    typer.echo(
        f"{goal} in {case.home.name}: {found} after {ran.record['steps']} steps and {ran.record['planner_calls']} "
        f"planner calls; shortest way {case.episode.geodesic_distance:.1f} m, SPL {ran.record['spl']:.2f}"
    )
    typer.echo(f"model calls: {calls['calls']}, {calls['seconds']:.1f} s, {calls['cost_usd']:.4f} USD")
    if log is not None:
        typer.echo(f"look at it: lastseen log show {log}; lastseen log map {log} run.png")
