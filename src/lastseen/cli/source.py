"""``lastseen run``, ``record`` and ``doctor``: a recording or a camera into a memory file, into MCAP, or examined."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.options import (
    DEFAULT_FILE,
    AsJson,
    Foxglove,
    Frames,
    IndexAddress,
    MemoryFile,
    OptionsFile,
    PerceptionOptions,
    Rerun,
    SourceChanges,
    SourcePoses,
    current_settings,
    source_changes,
    viewers,
    with_perception_options,
)
from lastseen.cli.text import counted, print_json, print_table, progress_bar
from lastseen.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastseen.frame import Frame
    from lastseen.memory.memory import Memory
    from lastseen.observation import Observation
    from lastseen.sources.base import RecordSource
    from lastseen.sources.follow import Summary

Source = Annotated[str, typer.Argument(help="A folder, a bag, or an address such as sim://7.")]


@with_perception_options
def run(
    source: Source,
    *,
    memory: MemoryFile = DEFAULT_FILE,
    forget: Annotated[
        bool, typer.Option("--no-memory", help="Write no memory file; only count what is seen.")
    ] = False,
    options: OptionsFile = None,
    change: SourceChanges = None,
    poses: SourcePoses = None,
    perception_options: PerceptionOptions,
    index: IndexAddress = None,
    rerun: Rerun = None,
    foxglove: Foxglove = None,
    frames: Frames = None,
    as_json: AsJson = False,
) -> None:
    """Replay or follow a source and remember what is seen; an existing memory file is continued.

    Example: [bold]lastseen run my_recording --memory home.lastseen[/bold]
    """
    from lastseen.perception.warm_up import compile_beside

    # before anything else is loaded: the first frame on a machine waits for it
    compile_beside()
    from lastseen.memory.memory import Memory
    from lastseen.search.planning.scene import open_analyzer
    from lastseen.sources import open_source
    from lastseen.sources.follow import follow

    settings = perception_options.applied_to(current_settings(index=index))
    bar = progress_bar("{task.fields[rate]}")
    is_new = not memory.exists()
    image_encoder, perception_of = perception_options.open_models(settings)
    with open_source(source, options, changes=source_changes(change, poses), settings=settings) as opened:
        _greet(opened)
        perception = perception_of(opened)
        analyzer = open_analyzer(settings)
        with (
            Memory.open(
                None if forget else memory, settings=settings, image_encoder=image_encoder, scene_analyzer=analyzer
            ) as kept,
            viewers(rerun, foxglove) as bridges,
            bar,
        ):
            task = bar.add_task("frames", total=frames or opened.length(), rate="")

            def show(summary: Summary) -> None:
                elapsed = bar.tasks[0].elapsed or 1e-9
                # lag: how far the run is behind a stream that plays in real time from its first frame
                lag = max(0.0, elapsed - summary.seconds)
                text = f"{summary.frames / elapsed:.1f} frames/s, "
                # a live stream is as late as what it dropped, not as its clock
                text += f"{summary.lost} dropped" if opened.live else f"lag {lag:.1f} s"
                bar.update(task, completed=summary.frames, rate=text)

            opened.waiting = lambda silent: bar.update(task, rate=f"nothing for {silent:.0f} s, waiting")

            def show_frame(frame: Frame, seen: Sequence[Observation]) -> None:
                for bridge in bridges:
                    bridge.show(frame, kept, seen=seen)

            summary = follow(opened, kept, perception, progress=show, show=show_frame, max_frames=frames)
            question = "" if forget or as_json else first_question(kept)
    if not summary.frames:
        if is_new and not forget:
            memory.unlink(missing_ok=True)
        raise nothing_came(source, summary)
    if as_json:
        print_json({**asdict(summary), "seconds": summary.seconds})
        return
    for line in report_lines(summary, named=perception.names_things, min_view_bins=settings.promotion.min_view_bins):
        typer.echo(line)
    if not forget:
        typer.echo("ask it:")
        for command in ("objects", question):
            if command:
                typer.echo(f"  lastseen {command} --memory {memory}")


def record(
    source: Source,
    out: Annotated[Path, typer.Argument(help="The .mcap file to write; it must not exist.")],
    options: OptionsFile = None,
    change: SourceChanges = None,
    poses: SourcePoses = None,
    color: Annotated[str, typer.Option("--color", help="raw, png (exact, smaller) or jpeg (small).")] = "raw",
    depth: Annotated[
        str, typer.Option("--depth", help="32FC1 (exact), 16UC1 (millimetres) or png (millimetres, smaller).")
    ] = "32FC1",
    frames: Frames = None,
    as_json: AsJson = False,
) -> None:
    """Write a source as MCAP: colour, depth, camera infos, tf and detections, for ROS 2 tools and for lastseen.

    Ctrl-C ends it and keeps what was seen. Example: [bold]lastseen record my_recording walk.mcap[/bold]
    """
    from rich.progress import TimeRemainingColumn

    from lastseen.sources import open_source
    from lastseen.sources.ros.writing import record as write

    with (
        open_source(source, options, changes=source_changes(change, poses), settings=current_settings()) as opened,
        progress_bar("frames", TimeRemainingColumn()) as bar,
    ):
        _greet(opened)
        total = opened.length() if frames is None else min(frames, opened.length() or frames)
        task = bar.add_task("record", total=total)
        try:
            written = write(
                opened,
                out,
                color=color,
                depth=depth,
                max_frames=frames,
                progress=lambda done: bar.update(task, completed=done),
            )
        except KeyboardInterrupt:
            if not out.exists():
                raise
            written = opened.intake.frames
        intake = opened.intake
    if as_json:
        print_json(
            {
                "file": str(out),
                "frames": written,
                "bytes": out.stat().st_size,
                "cut_off": intake.cut_off,
                "skipped": dict(sorted(intake.skipped.items())),
                "notes": intake.notes,
            }
        )
        return
    typer.echo(f"{out}: {written} frames, {out.stat().st_size / 2**20:.1f} MiB")
    if intake.cut_off:
        typer.echo(intake.cut_off)
    for line in (*(f"note: {note}" for note in intake.notes), *intake.lines()):
        typer.echo(line)


def doctor(
    source: Source,
    options: OptionsFile = None,
    change: SourceChanges = None,
    poses: SourcePoses = None,
    fix: Annotated[
        Path | None, typer.Option("--fix", help="Write the options that correct what was found to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Sample a source and check poses, axes, scales, clocks and images; exits with 1 when something is wrong.

    Examples: [bold]lastseen doctor my_recording[/bold],
    [bold]lastseen doctor my_recording --fix my_recording/source.toml[/bold]
    """
    from lastseen.sources import open_source
    from lastseen.sources.doctor import Verdict, examine

    settings = current_settings()
    with open_source(source, options, changes=source_changes(change, poses), settings=settings) as opened:
        _greet(opened)
        report = examine(opened, settings)
    if fix is not None:
        report.options.save(fix)
    if as_json:
        print_json(report.as_dict())
    else:
        colors = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAULT: "red", Verdict.UNSURE: "blue"}
        rows = []
        for check in report.checks:
            rows.append([check.name, check.verdict.value, check.figure])
            if check.remedy:
                # a column of its own would leave three words a line to every figure
                rows.append(["", "", f"-> {check.remedy}"])
        print_table(
            ["check", "verdict", "figure, and what to do"],
            rows,
            title=f"{report.address}: {counted(report.frames, 'frame')} sampled",
            whole=["check", "verdict"],
            colors={verdict.value: color for verdict, color in colors.items()},
        )
        for note in report.notes:
            typer.echo(f"note: {note}")
        if report.faults and fix is None and report.options.changed():
            typer.echo("write the corrections with --fix FILE and give them to any command with --options FILE")
        elif fix is not None:
            typer.echo(f"wrote {fix}")
    if report.faults:
        raise typer.Exit(1)


def nothing_came(source: str, summary: Summary) -> SourceError:
    """The error of a source that gave no frame, with what became of its records."""
    reasons = [
        f"{count} {reason} ({summary.first_skipped.get(reason, '')})" for reason, count in summary.skipped.items()
    ]
    why = ", ".join(reasons) or "it holds no image with depth"
    return SourceError("source", source, f"gave no frame: {why}", remedy=f"ask: lastseen doctor {source}")


def first_question(memory: Memory) -> str:
    """A command that this memory can answer: about a thing with a name, else about a colour; empty for neither."""
    found = memory.browse.described(memory.browse.page().objects)
    # what a detector calls a thing is not shell text
    names = [one.label for one in found if one.label and one.label.replace(" ", "").isalnum()]
    if names:
        return f'find "{names[0]}"'
    colors = [one.color for one in found if one.color]
    return f'find "something {colors[0]}"' if colors else ""


def report_lines(summary: Summary, *, named: bool, min_view_bins: int) -> list[str]:
    """The end-of-run summary, a line per fact worth knowing."""
    lines = [
        f"{counted(summary.frames, 'frame')} over {summary.seconds:.1f} s: {summary.looked_at} used",
        counted(summary.observations, "observation"),
        f"{counted(summary.confirmed, 'object')} confirmed, {summary.tentative} tentative",
        f"{counted(summary.places, 'place')} with {counted(summary.anchors, 'anchor')} on the path",
    ]
    if summary.one_sided and min_view_bins > 1:
        lines.append(f"{counted(summary.one_sided, 'object')} seen from one side only: try --min-view-bins 1")
    if summary.corrected:
        lines.append(f"{counted(summary.corrected, 'earlier pose')} corrected by the localizer")
    for count, noun, what in (
        (summary.lost, "frame", "dropped: they came faster than they were processed"),
        (summary.stalls, "time", "the stream stalled"),
        (summary.restarts, "time", "the stream began anew, and a session with it"),
    ):
        if count:
            lines.append(f"{counted(count, noun)} {what}")
    if summary.cut_off:
        lines.append(summary.cut_off)
    lines += [f"note: {note}" for note in summary.notes]
    if not named:
        lines.append("things have no names: no detections came with the source and no model was given;")
        lines.append("  --detector model.onnx or --encoder clip names them: docs/models.md says how to get one")
    for title, counts in (
        ("frames not used", summary.refused),
        ("masks dropped", summary.dropped),
        ("frames skipped", summary.skipped),
    ):
        if counts:
            lines.append(f"{title}: " + ", ".join(f"{count} {reason}" for reason, count in counts.items()))
    return lines


def _greet(source: RecordSource) -> None:
    if source.greeting:
        typer.echo(source.greeting, err=True)
