"""``lastseen search`` and ``lastseen self-check``: look for something, and the rules a search must keep."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastseen.cli.memory import DEFAULT_FILE, MemoryFile, check_file
from lastseen.cli.options import Foxglove, Rerun, SourceChanges, viewers
from lastseen.cli.text import counted
from lastseen.errors import InvalidValue

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lastseen.bridges.bridge import Bridge
    from lastseen.config import Settings
    from lastseen.protocols import Detector, Environment
    from lastseen.search.loop import SearchResult
    from lastseen.search.search import Search


def search(
    goal: Annotated[str, typer.Argument(help="What to look for, in words.", show_default=False)],
    *,
    memory: MemoryFile = DEFAULT_FILE,
    robot: Annotated[
        str | None,
        typer.Option(
            "--robot", help="Who walks: sim://7, ros2://, or package.module:function. Without it: the plan only."
        ),
    ] = None,
    drive: Annotated[bool, typer.Option("--drive", help="Let a ros2:// robot move; without, a dry run.")] = False,
    max_speed: Annotated[float, typer.Option("--max-speed", help="m/s of a ros2:// robot driven by cmd_vel.")] = 0.3,
    max_distance: Annotated[float, typer.Option("--max-distance", help="Metres from its start, of ros2://.")] = 15.0,
    max_time: Annotated[float, typer.Option("--max-time", help="Seconds of the whole search, of ros2://.")] = 900.0,
    max_pose_age: Annotated[
        float, typer.Option("--max-pose-age", help="Seconds without a newer pose that stop a ros2:// robot.")
    ] = 1.0,
    keep_out: Annotated[
        list[str] | None,
        typer.Option("--keep-out", help="'x,y x,y': a box that a ros2:// robot avoids; may repeat."),
    ] = None,
    change: SourceChanges = None,
    rerun: Rerun = None,
    foxglove: Foxglove = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Stop after this many steps.")] = None,
    planner: Annotated[
        str | None, typer.Option("--planner", help="The model that explores: offline, gemini, openai:MODEL.")
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", help="Who walks to a pixel: geometric, or pixelnav:CHECKPOINT.")
    ] = "geometric",
    detector: Annotated[
        str | None,
        typer.Option("--detector", help="In place of the robot's: a model's file, folder or name; docs/models.md."),
    ] = None,
    masks: Annotated[
        str | None, typer.Option("--masks", help="Outlines of its boxes by SAM: its folder, or sam.")
    ] = None,
    constraint: Annotated[
        list[str] | None, typer.Option("--constraint", help="Such as 'avoid: kitchen'; may be given again.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", help="Write steps and events here: see `lastseen log`.")
    ] = None,
    forget: Annotated[
        bool, typer.Option("--no-memory", help="Search without the memory file, and write none.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome only, as JSON.")] = False,
) -> None:
    """Look for something: from memory first, then by exploring; what is seen on the way is remembered.

    With --robot it walks, and exits with 1 when it was not found. Without, it prints what it would do: which places,
    how far, and why.

    Examples: [bold]lastseen search "red mug"[/bold],
    [bold]lastseen search bed --robot sim://7 --log run.jsonl[/bold]
    """
    from lastseen.memory.nodes.utils import tokenize

    if robot is None and tokenize(goal):
        # told before anything heavy is loaded
        check_file(memory)
    from lastseen.cli.options import current_settings

    settings = current_settings()
    if robot is None:
        _print_plan(goal, memory, settings, as_json=as_json)
        return
    from lastseen.perception.detectors import open_named_detector
    from lastseen.search.robot import open_robot

    if masks is not None and detector is None:
        raise InvalidValue("--masks", masks, "needs --detector", remedy="give the model whose boxes are outlined")
    walker: AbstractContextManager[Environment]
    opened = None if detector is None else open_named_detector(detector, masks=masks, settings=settings)
    if robot.startswith("ros2://"):
        from lastseen.ros2.driving import Limits, parse_zone
        from lastseen.ros2.robot import ros_robot
        from lastseen.sources.options import SourceOptions

        zones = tuple(parse_zone(zone) for zone in keep_out or ())
        limits = Limits(
            speed=max_speed, distance=max_distance, seconds=max_time, pose_age=max_pose_age, keep_out=zones
        )
        options = SourceOptions().with_words(change or [])
        walker = ros_robot(robot, drive=drive, limits=limits, detector=opened, options=options)
    elif drive or keep_out or change:
        raise InvalidValue("--robot", robot, "is no robot of ROS 2", remedy="--drive, --keep-out, --set need ros2://")
    else:
        walker = nullcontext(open_robot(robot, settings))
    from lastseen.ros2.driving import DryRun

    try:
        result = _walk(
            goal,
            None if forget else memory,
            settings,
            robot=robot,
            walker=walker,
            shown=viewers(rerun, foxglove),
            steps=steps,
            planner=planner,
            policy=policy,
            detector=opened,
            constraints=constraint or [],
            log=log,
            quiet=as_json,
        )
    except DryRun as planned:
        typer.echo(f"{planned}; add --drive to let it move")
        return
    if as_json:
        typer.echo(json.dumps(_outcome(result), indent=2, sort_keys=True, default=str))
    else:
        typer.echo(
            f"{result.status.replace('_', ' ')} after {counted(result.steps, 'step')}, {result.metres:.1f} m and "
            f"{counted(result.planner_calls, 'planner call')}: {result.question or result.reason}"
        )
        if log is not None:
            typer.echo(f"look at it: lastseen log show {log}; lastseen log map {log} run.png")
    if result.status != "found":
        raise typer.Exit(1)


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


def _print_plan(goal: str, file: Path, settings: Settings, *, as_json: bool) -> None:
    from lastseen.cli.memory import open_memory
    from lastseen.search.goal import check_goal
    from lastseen.search.search import plan_search

    check_goal(goal)
    with open_memory(file, settings=settings) as opened:
        plan = plan_search(goal, opened)
    if as_json:
        stops = [{"metres": stop.metres, **asdict(stop.object)} for stop in plan.stops]
        outcome = {"goal": goal, "status": plan.answer.status, "reason": plan.answer.reason, "stops": stops}
        typer.echo(json.dumps(outcome, indent=2, sort_keys=True, default=str))
        return
    typer.echo("\n".join(plan.lines()))
    typer.echo("to walk it: add --robot sim://SEED, ros2://, or package.module:function (docs/robot.md)", err=True)


def _walk(
    goal: str,
    file: Path | None,
    settings: Settings,
    *,
    robot: str,
    walker: AbstractContextManager[Environment],
    shown: AbstractContextManager[list[Bridge]],
    steps: int | None,
    planner: str | None,
    policy: str,
    detector: Detector | None,
    constraints: list[str],
    log: Path | None,
    quiet: bool,
) -> SearchResult:
    from dataclasses import replace

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from lastseen.memory.memory import Memory
    from lastseen.search.goal import check_goal
    from lastseen.search.log import RunLog
    from lastseen.search.planning.scene import open_analyzer
    from lastseen.search.search import Search
    from lastseen.search.timing import TimingLog

    check_goal(goal)
    if steps is not None:
        settings = replace(settings, search=replace(settings.search, max_steps=steps))
    timing = None if log is None else log.with_suffix(".timing.jsonl")
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with (
        walker as walking,
        shown as bridges,
        RunLog(log) as run_log,
        TimingLog(timing, settings=settings.planner) as times,
        Memory.open(file, settings=settings, scene_analyzer=open_analyzer(settings)) as memory,
    ):
        running = Search(
            goal,
            walking,
            memory,
            planner=planner,
            policy=policy,
            detector=detector,
            constraints=constraints,
            log=run_log,
            timing=times,
        )
        if not quiet:
            typer.echo(f"looking for {running.goal.text!r}; {running.recall.says()}")
        with bar:
            task = bar.add_task("steps", total=settings.search.max_steps)
            last = None
            while running.result is None:
                record = _step(running, robot)
                for bridge in bridges:
                    bridge.show(running.world.frame, memory, belief=running.loop.belief)
                bar.update(task, completed=running.loop.steps)
                decision = record["decision"]
                if not quiet and decision is not None and decision["why"] != last:
                    last = decision["why"]
                    bar.console.print(f"step {record['step_id']}: {last}", highlight=False, markup=False)
                if not quiet and record["meta"]["fallback"]:
                    line = f"the planner gave no usable answer: {record['meta']['errors'][-1]}"
                    bar.console.print(line, highlight=False, markup=False)
        return running.run()


def _step(running: Search, robot: str) -> dict[str, Any]:
    """One step; what the robot's own code raises becomes one line that names the robot."""
    from lastseen.errors import LastseenError

    try:
        return running.step()
    except LastseenError:
        raise
    except Exception as error:
        running.memory.flush()
        raise InvalidValue(
            "robot",
            robot,
            f"failed at step {running.loop.steps} ({type(error).__name__}: {error})",
            remedy="what was seen is remembered; fix the robot and search again",
        ) from error


def _outcome(result: SearchResult) -> dict[str, Any]:
    return {
        "status": result.status,
        "reason": result.reason,
        "question": result.question,
        "steps": result.steps,
        "metres": result.metres,
        "planner_calls": result.planner_calls,
        "belief": result.belief,
        "memory": None if result.answer is None else asdict(result.answer),
    }
