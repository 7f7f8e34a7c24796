"""``lastseen run``: a recording or a camera into a memory file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.memory import DEFAULT_FILE, MemoryFile
from lastseen.cli.options import (
    Foxglove,
    IndexAddress,
    OptionsFile,
    Rerun,
    SourceChanges,
    SourcePoses,
    source_changes,
    viewers,
)
from lastseen.cli.perception_options import PerceptionOptions, with_perception_options
from lastseen.cli.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastseen.errors import SourceError
    from lastseen.frame import Frame
    from lastseen.observation import Observation
    from lastseen.sources.follow import Summary


@with_perception_options
def run(
    source: Annotated[str, typer.Argument(help="A folder, a bag, or an address with a scheme.")],
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
    frames: Annotated[int | None, typer.Option("--frames", min=1, help="Stop after so many frames.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Replay or follow a source and remember what is seen; an existing memory file is gone on with.

    Example: [bold]lastseen run my_recording --memory home.lastseen[/bold]
    """
    from lastseen.perception.warm_up import compile_beside

    # before anything else is loaded: the first frame on a machine waits for it
    compile_beside()
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from lastseen.cli.options import current_settings
    from lastseen.memory.memory import Memory
    from lastseen.search.planning.scene import open_analyzer
    from lastseen.sources import open_source
    from lastseen.sources.follow import follow

    settings = perception_options.applied_to(current_settings(index=index))
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        console=Console(stderr=True),
        transient=True,
    )
    is_new = not memory.exists()
    image_encoder, perception_of = perception_options.open_models(settings)
    with open_source(source, options, changes=source_changes(change, poses), settings=settings) as opened:
        if opened.greeting:
            typer.echo(opened.greeting, err=True)
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
    if not summary.frames:
        if is_new and not forget:
            memory.unlink(missing_ok=True)
        raise nothing_came(source, summary)
    if as_json:
        typer.echo(json.dumps(_facts(summary), indent=2))
        return
    for line in report_lines(summary, named=perception.names_things, min_view_bins=settings.promotion.min_view_bins):
        typer.echo(line)
    if not forget:
        typer.echo(f'ask it: lastseen objects --memory {memory}; lastseen search "red mug" --memory {memory}')


def nothing_came(source: str, summary: Summary) -> SourceError:
    """The error of a source that gave no frame, with what became of its records."""
    from lastseen.errors import SourceError

    why = (
        ", ".join(f"{count} {reason}" for reason, count in summary.skipped.items()) or "it holds no image with depth"
    )
    return SourceError("source", source, f"gave no frame: {why}", remedy=f"ask: lastseen doctor {source}")


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


def _facts(summary: Summary) -> dict[str, object]:
    facts: dict[str, object] = {name: getattr(summary, name) for name in summary.__slots__}
    return {**facts, "seconds": summary.seconds}
