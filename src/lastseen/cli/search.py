"""``lastseen search``, ``log`` and ``self-check``: look for something, see what a run did, check the rules."""

from __future__ import annotations

import shutil
import textwrap
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastseen.cli.memory import check_file, open_memory
from lastseen.cli.options import (
    DEFAULT_FILE,
    AsJson,
    Foxglove,
    MemoryFile,
    Rerun,
    SourceChanges,
    current_settings,
    viewers,
)
from lastseen.cli.text import counted, print_json, progress_bar, say
from lastseen.errors import InvalidValue, LastseenError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lastseen.bridges.bridge import Bridge
    from lastseen.config import Settings
    from lastseen.protocols import Environment
    from lastseen.search.loop import SearchResult
    from lastseen.search.search import Search

log_app = typer.Typer(
    no_args_is_help=True,
    help="Look at the log of a run.\n\nExample: [bold]lastseen log show run.jsonl[/bold]",
)
_OUTCOME = ("status", "reason", "question", "steps", "metres", "planner_calls", "belief")
LogFile = Annotated[Path, typer.Argument(help="The log of a run (JSON lines).", show_default=False)]


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
    as_json: AsJson = False,
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
    settings = current_settings()
    if steps is not None:
        settings = replace(settings, search=replace(settings.search, max_steps=steps))
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

    asked = {"planner": planner, "policy": policy, "detector": opened, "constraints": constraint or []}
    try:
        with walker as walking, viewers(rerun, foxglove) as bridges:
            result = _walk(
                goal,
                walking,
                None if forget else memory,
                settings,
                asked,
                robot=robot,
                bridges=bridges,
                log=log,
                quiet=as_json,
            )
    except DryRun as planned:
        typer.echo(f"{planned}; add --drive to let it move")
        return
    if as_json:
        outcome = {name: getattr(result, name) for name in _OUTCOME}
        print_json({**outcome, "memory": None if result.answer is None else asdict(result.answer)})
    else:
        say(
            f"{result.status.replace('_', ' ')} after {counted(result.steps, 'step')}, {result.metres:.1f} m and "
            f"{counted(result.planner_calls, 'planner call')}: {result.question or result.reason}"
        )
        if log is not None:
            say("look at it:")
            home = "" if forget else f" --memory {memory}"
            for command in (f"log show {log}", f"log map {log} run.png{home}"):
                typer.echo(f"  lastseen {command}")
    if result.status != "found":
        raise typer.Exit(1)


def self_check(as_json: AsJson = False) -> None:
    """Check every rule of the search; exit code 1 when one is broken.

    Example: [bold]lastseen self-check[/bold]
    """
    from lastseen.search import self_check as rules

    if not as_json:
        # a sentence goes on below its own beginning
        raise typer.Exit(rules.print_self_check(lambda line: say(line, indent=" " * 28)))
    checked = rules.self_check()
    print_json([asdict(each) for each in checked])
    raise typer.Exit(1 if any(each.problem for each in checked) else 0)


@log_app.command("show")
def show(
    file: LogFile,
    anchors: Annotated[bool, typer.Option("--anchors", help="Show every anchor too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what happened when, with the steps in between folded.

    Example: [bold]lastseen log show run.jsonl[/bold]
    """
    from lastseen.search.log import read_log
    from lastseen.search.log_view import timeline

    run = read_log(file)
    if as_json:
        print_json({name: getattr(run, name) for name in ("header", "steps", "events", "torn")})
        return
    width = max(shutil.get_terminal_size().columns, 40)
    for line in timeline(run, anchors=anchors):
        # what does not fit goes on below its own words, not below the step
        typer.echo(
            textwrap.fill(line, width, subsequent_indent=" " * 13 if line[:1] == " " else "  ", drop_whitespace=True)
        )


@log_app.command("map")
def draw(
    file: LogFile,
    out: Annotated[Path, typer.Argument(help="The PNG file to write.", show_default=False)],
    memory: Annotated[
        Path | None,
        typer.Option(
            help="The memory file of the home: its walls, doors and rooms and the goal are drawn too.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw the path, its anchors and places, the planner's calls, and where the run got stuck.

    Example: [bold]lastseen log map run.jsonl run.png[/bold]
    """
    from lastseen.search.log import read_log
    from lastseen.search.log_view import known_home, save_map

    if out.suffix.lower() != ".png":
        raise InvalidValue("out", str(out), "is no .png name", remedy=f"for example {out.stem or 'run'}.png")
    if not out.parent.is_dir():
        raise InvalidValue("out", str(out), "lies in no folder", remedy=f"make {out.parent} first")
    run = read_log(file)
    if memory is None:
        save_map(run, out)
    else:
        with open_memory(memory) as known:
            save_map(run, out, home=known_home(known, run.header["goal"]))
    typer.echo(f"wrote {out}")


def _print_plan(goal: str, file: Path, settings: Settings, *, as_json: bool) -> None:
    from lastseen.search.goal import check_goal
    from lastseen.search.search import plan_search

    check_goal(goal)
    with open_memory(file, settings=settings) as opened:
        plan = plan_search(goal, opened)
    if as_json:
        stops = [{"metres": stop.metres, **asdict(stop.object)} for stop in plan.stops]
        print_json({"goal": goal, "status": plan.answer.status, "reason": plan.answer.reason, "stops": stops})
        return
    say("\n".join(plan.lines()), indent="  ")
    say("to walk it: add --robot sim://SEED, ros2://, or package.module:function (docs/robot.md)", err=True)


def _walk(
    goal: str,
    walking: Environment,
    file: Path | None,
    settings: Settings,
    asked: dict[str, Any],
    *,
    robot: str,
    bridges: list[Bridge],
    log: Path | None,
    quiet: bool,
) -> SearchResult:
    """Walk to the end of a search, told step by step; ``asked`` are options of ``Search``."""
    from lastseen.memory.memory import Memory
    from lastseen.search.goal import check_goal
    from lastseen.search.log import RunLog
    from lastseen.search.planning.scene import open_analyzer
    from lastseen.search.search import Search
    from lastseen.search.timing import TimingLog

    check_goal(goal)
    timing = None if log is None else log.with_suffix(".timing.jsonl")
    with (
        RunLog(log) as run_log,
        TimingLog(timing, settings=settings.planner) as times,
        Memory.open(file, settings=settings, scene_analyzer=open_analyzer(settings)) as memory,
    ):
        running = Search(goal, walking, memory, log=run_log, timing=times, **asked)
        if not quiet:
            say(f"looking for {running.goal.text!r}; {running.recall.says()}")
        with progress_bar() as bar:
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
