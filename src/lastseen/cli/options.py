"""What several commands share: options given before a command's name, aliases of options, and those of perception."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from lastseen.errors import InvalidValue

if TYPE_CHECKING:
    from lastseen.bridges.bridge import Bridge
    from lastseen.config import Settings
    from lastseen.perception.pipeline import Perception
    from lastseen.protocols import Encoder
    from lastseen.sources.base import RecordSource

DEFAULT_FILE = Path("home.lastseen")
MemoryFile = Annotated[
    Path, typer.Option("--memory", "-m", envvar="LASTSEEN_MEMORY", help="The memory file.", show_default=True)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Label = Annotated[str | None, typer.Option("--label", help="Only objects of this label.")]
Tentative = Annotated[bool, typer.Option("--tentative", help="Include what is not confirmed.")]
Removed = Annotated[bool, typer.Option("--removed", help="Include what is gone.")]
OptionsFile = Annotated[
    Path | None, typer.Option("--options", help="Source options (TOML), as the doctor writes them.")
]
SourceChanges = Annotated[
    list[str] | None,
    typer.Option("--set", help="One source option, as name=value: color_topic=/cam/image, world_up=y. May repeat."),
]
SourcePoses = Annotated[
    str | None,
    typer.Option("--poses", help="recorded, or odometry: from the images, for a recording or camera without poses."),
]
Frames = Annotated[int | None, typer.Option("--frames", min=1, help="Stop after so many frames.")]
IndexAddress = Annotated[
    str | None,
    typer.Option("--index", help="A collection that robots share: milvus://host:19530/home (docs/milvus.md)."),
]
Rerun = Annotated[
    str | None, typer.Option("--rerun", help="Show it in rerun: live, or a new .rrd file (extra rerun).")
]
Foxglove = Annotated[
    str | None, typer.Option("--foxglove", help="Show it in Foxglove: live, or a new .mcap file (extra foxglove).")
]

settings_file: ContextVar[Path | None] = ContextVar("settings_file", default=None)
"""What ``lastseen --settings`` named, for the command that follows it."""


def current_settings(*, index: str | None = None) -> Settings:
    """The settings this command runs with: defaults, the file given, the environment, and a shared index."""
    from lastseen.config import load

    settings = load(settings_file.get())
    return settings if index is None else replace(settings, store=replace(settings.store, index=index))


@contextmanager
def viewers(rerun: str | None, foxglove: str | None) -> Iterator[list[Bridge]]:
    """The viewers that were asked for; their files are whole at the end, whatever happens."""
    asked = [(option, target) for option, target in (("--rerun", rerun), ("--foxglove", foxglove)) if target]
    with ExitStack() as stack:
        bridges: list[Bridge] = []
        for option, target in asked:
            from lastseen.bridges.bridge import open_bridge

            bridges.append(stack.enter_context(closing(open_bridge(option, target))))
        yield bridges


def source_changes(change: list[str] | None, poses: str | None) -> list[str]:
    """The single options that a command was given, with ``--poses`` among them."""
    return [*(change or []), *([f"poses={poses}"] if poses is not None else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerceptionOptions:
    """The options of perception, as they were given."""

    min_view_bins: Annotated[
        int | None, typer.Option("--min-view-bins", help="Sides a thing must be seen from to be confirmed.")
    ] = None
    segment: Annotated[
        bool, typer.Option("--segment", help="Find things by shape, even where the source brings detections.")
    ] = False
    detector: Annotated[
        str | None,
        typer.Option(
            "--detector",
            help="A model that names things: a file, folder or name (docs/models.md), or package.module:function.",
        ),
    ] = None
    look_for: Annotated[
        str, typer.Option("--look-for", help="What to find, for detectors that are asked: 'mug, red chair'.")
    ] = ""
    masks: Annotated[
        str | None, typer.Option("--masks", help="Outlines by SAM: its folder, or sam. Alone it finds things too.")
    ] = None
    labels: Annotated[
        Path | None, typer.Option("--labels", help="Names of the detector's classes, one per line; default COCO's.")
    ] = None
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="The image encoder: color-shape (default), clip, siglip2 or clip:FOLDER; see docs/models.md.",
        ),
    ] = None
    vocabulary: Annotated[
        Path | None,
        typer.Option("--vocabulary", help="Names to choose from by appearance (YAML); default: a list for homes."),
    ] = None

    def check(self) -> None:
        """Refuse options that contradict each other."""
        from lastseen.encoders.registry import reads_both

        if self.vocabulary is not None and not reads_both((self.encoder or "color-shape").partition(":")[0]):
            raise InvalidValue(
                "--vocabulary",
                str(self.vocabulary),
                "needs pictures and words in one space",
                remedy="add --encoder clip",
            )
        if self.labels is not None and self.detector is None:
            raise InvalidValue(
                "--labels", str(self.labels), "needs --detector", remedy="give the model it names classes of"
            )
        if self.look_for and self.detector is None:
            raise InvalidValue(
                "--look-for", self.look_for, "needs a detector that is asked", remedy="--detector grounding-dino"
            )
        if self.detector is not None and self.segment:
            raise InvalidValue("--segment", True, "leaves no work for --detector", remedy="give one of them")

    def given(self) -> dict[str, object]:
        """The options that were given, by their words on the command line."""
        pairs = ((field, getattr(self, field.name)) for field in fields(self))
        return {"--" + field.name.replace("_", "-"): value for field, value in pairs if value != field.default}

    def applied_to(self, settings: Settings) -> Settings:
        """The settings with what was given changed in them."""
        if self.min_view_bins is None:
            return settings
        return replace(settings, promotion=replace(settings.promotion, min_view_bins=self.min_view_bins))

    def open_models(self, settings: Settings) -> tuple[Encoder, Callable[[RecordSource], Perception]]:
        """Open the models: the image encoder, and what makes the perception of an opened source.

        To be called before anything is opened or made: a model that cannot be used is told at once.
        """
        from lastseen.encoders.registry import open_encoder, reads_both
        from lastseen.perception.detectors import open_detector, open_sam
        from lastseen.perception.pipeline import Perception
        from lastseen.perception.sam import Outlined
        from lastseen.perception.vocabulary import Namer, household_list, read_words

        model, namer = None, None
        targets = tuple(name.strip() for name in self.look_for.split(",") if name.strip())
        if self.detector is not None:
            model = open_detector(self.detector, labels=self.labels, targets=targets, settings=settings)
        sam = None if self.masks is None else open_sam(self.masks, settings=settings)
        image_encoder = open_encoder(self.encoder or "color-shape", settings.encoding)
        if reads_both(image_encoder.name):
            words = household_list() if self.vocabulary is None else read_words(self.vocabulary)
            namer = Namer(image_encoder, words, settings=settings.vocabulary)

        def perception_of(source: RecordSource) -> Perception:
            finder = model or (None if self.segment else source.detector())
            if finder is not None and sam is not None:
                finder = Outlined(finder, sam)
            return Perception(
                settings,
                detector=finder,
                segmenter=sam if finder is None else None,
                encoder=image_encoder,
                namer=namer,
                targets=targets,
                # a detector that is asked finds what was asked for, and nothing else is wanted
                with_geometry=model is not None and not targets,
            )

        return image_encoder, perception_of


def with_perception_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``PerceptionOptions`` in place of its parameter ``perception_options``."""
    hints = get_type_hints(PerceptionOptions, include_extras=True)
    shared = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(PerceptionOptions)
    ]
    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        parameters += shared if parameter.name == "perception_options" else [parameter]

    @functools.wraps(command)
    def with_options(**words: Any) -> None:
        perception_options = PerceptionOptions(**{one.name: words.pop(one.name) for one in shared})
        perception_options.check()
        command(**words, perception_options=perception_options)

    # Typer reads the signature and, by name, the annotations
    with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options
