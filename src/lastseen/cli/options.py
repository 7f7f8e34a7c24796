"""What every command shares: the options given before its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lastseen.bridges.bridge import Bridge
    from lastseen.config import Settings

OptionsFile = Annotated[
    Path | None, typer.Option("--options", help="Source options (TOML), as the doctor writes them.")
]
SourceChanges = Annotated[
    list[str] | None,
    typer.Option("--set", help="One source option, as name=value: color_topic=/cam/image, world_up=y. May repeat."),
]
"""The options of every command that opens a source."""
IndexAddress = Annotated[
    str | None,
    typer.Option("--index", help="A collection that robots share: milvus://host:19530/home (docs/milvus.md)."),
]
SourcePoses = Annotated[
    str | None,
    typer.Option("--poses", help="recorded, or odometry: from the images, for a recording or camera without poses."),
]


Rerun = Annotated[
    str | None, typer.Option("--rerun", help="Show it in rerun: live, or a new .rrd file (extra rerun).")
]
Foxglove = Annotated[
    str | None, typer.Option("--foxglove", help="Show it in Foxglove: live, or a new .mcap file (extra foxglove).")
]


@contextmanager
def viewers(rerun: str | None, foxglove: str | None) -> Iterator[list[Bridge]]:
    """The viewers that were asked for; their files are whole at the end, whatever happens."""
    asked = [(option, target) for option, target in (("--rerun", rerun), ("--foxglove", foxglove)) if target]
    with ExitStack() as stack:
        bridges: list[Bridge] = []
        for option, target in asked:
            from lastseen.bridges.bridge import open_bridge

            bridge = open_bridge(option, target)
            stack.callback(bridge.close)
            bridges.append(bridge)
        yield bridges


def source_changes(change: list[str] | None, poses: str | None) -> list[str]:
    """The single options that a command was given, with ``--poses`` among them."""
    return [*(change or []), *([f"poses={poses}"] if poses is not None else [])]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``lastseen`` itself."""

    debug: bool = False
    settings_file: Path | None = None


_given: ContextVar[Options] = ContextVar("options", default=Options())  # noqa: B039 - frozen


def remember(options: Options) -> None:
    """Keep the options of this run for the command that follows them."""
    _given.set(options)


def current_settings(*, index: str | None = None) -> Settings:
    """The settings this command runs with: defaults, the file given, the environment, and a shared index."""
    from lastseen.config import load

    settings = load(_given.get().settings_file)
    return settings if index is None else replace(settings, store=replace(settings.store, index=index))
