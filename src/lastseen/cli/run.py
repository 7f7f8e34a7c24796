"""``lastseen run``: a recording or a camera into a memory file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.options import SourceChanges

if TYPE_CHECKING:
    from lastseen.errors import SourceError
    from lastseen.sources.follow import Summary


def run(
    source: Annotated[str, typer.Argument(help="A folder, a bag, or an address with a scheme.")],
    *,
    memory: Annotated[
        Path | None, typer.Option("--memory", "-m", envvar="LASTSEEN_MEMORY", help="The memory file to write.")
    ] = None,
    options: Annotated[
        Path | None, typer.Option("--options", help="Source options (TOML), as the doctor writes them.")
    ] = None,
    change: SourceChanges = None,
    min_view_bins: Annotated[
        int | None, typer.Option("--min-view-bins", help="Sides a thing must be seen from to be confirmed.")
    ] = None,
    segment: Annotated[
        bool, typer.Option("--segment", help="Find things by shape, even where the source brings detections.")
    ] = False,
    detector: Annotated[
        str | None,
        typer.Option("--detector", help="A model that names things: .onnx file, folder or name; see docs/models.md."),
    ] = None,
    look_for: Annotated[
        str, typer.Option("--look-for", help="What to find, for detectors that are asked: 'mug, red chair'.")
    ] = "",
    masks: Annotated[
        str | None, typer.Option("--masks", help="Outlines by SAM: its folder, or sam. Alone it finds things too.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="Names of the detector's classes, one per line; default COCO's.")
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder", help="Looks by this encoder: look, clip, siglip2, or clip:FOLDER; see docs/models.md."
        ),
    ] = "look",
    vocabulary: Annotated[
        Path | None,
        typer.Option("--vocabulary", help="Names to choose from by looks (YAML); default: a list for homes."),
    ] = None,
    frames: Annotated[int | None, typer.Option("--frames", min=1, help="Stop after so many frames.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Replay or follow a source and remember what is seen; without --memory nothing is kept.

    Example: [bold]lastseen run my_recording --memory home.lastseen[/bold]
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from lastseen.cli.options import current_settings
    from lastseen.encoders.registry import open_encoder, reads_both
    from lastseen.memory.facade import Memory
    from lastseen.perception.detectors import open_detector, open_sam
    from lastseen.perception.pipeline import Perception
    from lastseen.perception.sam import Outlined
    from lastseen.perception.vocabulary import Namer, household_list, read_words
    from lastseen.planning.scene import SceneAnalyzer
    from lastseen.runtime.laying_places import PlaceLayer
    from lastseen.sources import open_source
    from lastseen.sources.follow import follow
    from lastseen.vlm import open_backend

    settings = current_settings()
    check_choice(detector, labels, segment=segment, encoder=encoder, vocabulary=vocabulary, look_for=look_for)
    if min_view_bins is not None:
        settings = replace(settings, promotion=replace(settings.promotion, min_view_bins=min_view_bins))
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        console=Console(stderr=True),
        transient=True,
    )
    # before the source: a model that cannot be used is told at once
    targets = tuple(name.strip() for name in look_for.split(",") if name.strip())
    model = None if detector is None else open_detector(detector, labels=labels, targets=targets, settings=settings)
    sam = None if masks is None else open_sam(masks, settings=settings)
    eyes = open_encoder(encoder, settings.encoding)
    namer = None
    if reads_both(eyes.name):
        words = household_list() if vocabulary is None else read_words(vocabulary)
        namer = Namer(eyes, words, settings=settings.vocabulary)
    with open_source(source, options, changes=change or (), settings=settings) as opened:
        finder = model or (None if segment else opened.detector())
        if finder is not None and sam is not None:
            finder = Outlined(finder, sam)
        perception = Perception(settings, detector=finder, segmenter=sam, encoder=eyes, namer=namer, targets=targets)
        with Memory.open(memory, settings=settings, look=eyes) as kept, bar:
            task = bar.add_task("frames", total=frames or opened.length(), rate="")

            def show(summary: Summary) -> None:
                elapsed = bar.tasks[0].elapsed or 1e-9
                # lag: how far the run is behind a stream that plays in real time from its first frame
                lag = max(0.0, elapsed - summary.seconds)
                text = f"{summary.frames / elapsed:.1f} frames/s, "
                # a live stream is as late as what it dropped, not as its clock
                text += f"{summary.lost} dropped" if opened.live else f"lag {lag:.1f} s"
                bar.update(task, completed=summary.frames, rate=text)

            if opened.live:
                opened.waiting = lambda silent: bar.update(task, rate=f"nothing for {silent:.0f} s, waiting")
            # rooms are named by rules over what was seen: a run needs no key and asks no server
            places = PlaceLayer(kept.spatial, SceneAnalyzer(open_backend("offline", settings.planner), settings))
            summary = follow(opened, kept, perception, progress=show, seen=places.see, max_frames=frames)
    if not summary.frames:
        raise nothing_came(source, summary)
    if as_json:
        typer.echo(json.dumps(_facts(summary), indent=2))
        return
    for line in report_lines(summary, named=perception.names_things, min_view_bins=settings.promotion.min_view_bins):
        typer.echo(line)
    if memory is not None:
        typer.echo(f'ask it: lastseen objects --memory {memory}; lastseen search "red mug" --memory {memory}')


def check_choice(
    detector: str | None,
    labels: Path | None,
    *,
    segment: bool,
    encoder: str = "look",
    vocabulary: Path | None = None,
    look_for: str = "",
) -> None:
    """Refuse options that contradict each other."""
    from lastseen.encoders.registry import reads_both
    from lastseen.errors import InvalidValue

    if vocabulary is not None and not reads_both(encoder.partition(":")[0]):
        raise InvalidValue(
            "--vocabulary", str(vocabulary), "needs pictures and words in one space", remedy="add --encoder clip"
        )

    if labels is not None and detector is None:
        raise InvalidValue("--labels", str(labels), "needs --detector", remedy="give the model it names classes of")
    if look_for and detector is None:
        raise InvalidValue(
            "--look-for", look_for, "needs a detector that is asked", remedy="--detector grounding-dino"
        )
    if detector is not None and segment:
        raise InvalidValue("--segment", True, "leaves no work for --detector", remedy="give one of them")


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
        f"{summary.frames} frames over {summary.seconds:.1f} s: {summary.looked_at} looked at",
        f"{summary.observations} observations",
        f"{summary.confirmed} objects confirmed, {summary.tentative} tentative",
        f"{summary.places} places with {summary.anchors} anchors on the way",
    ]
    if summary.one_sided and min_view_bins > 1:
        lines.append(f"{summary.one_sided} objects seen from one side only; --min-view-bins 1 confirms them")
    if summary.corrected:
        lines.append(f"{summary.corrected} earlier poses corrected by the localizer")
    for count, what in (
        (summary.lost, "frames dropped: they came faster than they were looked at"),
        (summary.stalls, "times the stream stalled"),
        (summary.restarts, "times the stream began anew; each began a session"),
    ):
        if count:
            lines.append(f"{count} {what}")
    if summary.cut_off:
        lines.append(summary.cut_off)
    lines += [f"note: {note}" for note in summary.notes]
    if not named:
        lines.append("things have no names: no detections came with the source and no model was given;")
        lines.append("  --detector model.onnx or --encoder clip names them: docs/models.md says how to get one")
    for title, counts in (
        ("frames not looked at", summary.refused),
        ("masks dropped", summary.dropped),
        ("frames skipped", summary.skipped),
    ):
        if counts:
            lines.append(f"{title}: " + ", ".join(f"{count} {reason}" for reason, count in counts.items()))
    return lines


def _facts(summary: Summary) -> dict[str, object]:
    facts: dict[str, object] = {name: getattr(summary, name) for name in summary.__slots__}
    return {**facts, "seconds": summary.seconds}
