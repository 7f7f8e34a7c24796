"""Which module opens which address, by name only: a source loads when it is used and its extra when it is there."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lastseen.config import Settings
from lastseen.errors import SourceError
from lastseen.sources.foreign import about
from lastseen.sources.options import FILE_NAME, TAKEN, SourceOptions

if TYPE_CHECKING:
    from lastseen.sources.base import RecordSource

SCHEMES = {
    "bag": "lastseen.sources.ros.bag:BagSource",
    "layout": "lastseen.sources.layouts:open_layout",
    "oak": "lastseen.sources.camera:OakSource",
    "phone": "lastseen.sources.phone.source:PhoneSource",
    "realsense": "lastseen.sources.camera:RealSenseSource",
    "record3d": "lastseen.sources.camera:Record3DSource",
    "ros2": "lastseen.sources.ros.rclpy_graph:open_graph",
    "ros2+zenoh": "lastseen.sources.ros.zenoh_graph:open_zenoh",
    "sim": "lastseen.sources.simulated:SimSource",
    "zmq": "lastseen.sources.zmq_stream:ZmqSource",
}
"""Scheme of an address and the class that opens it; ``register_source`` adds one of yours."""

BAG_FILES = (".bag", ".mcap", ".db3")

MAX_CHILDREN = 200
"""Entries of a folder that are looked at for recordings inside it."""

MAX_DEPTH = 2
"""Folders down that the only recording of one is looked for: archives often unpack into a folder in a folder."""


def register_source(scheme: str, target: str) -> None:
    """Make ``scheme://...`` open with ``module:Class``, a ``RecordSource`` called with the rest and the options."""
    SCHEMES[scheme] = target
    TAKEN.pop(scheme, None)


def open_source(
    address: str | Path,
    options: SourceOptions | str | Path | None = None,
    *,
    changes: Sequence[str] = (),
    settings: Settings | None = None,
) -> RecordSource:
    """Open a recording or a stream: a path, or an address with a scheme such as ``sim://7``.

    ``options`` may be a TOML file; without any, a ``source.toml`` in the recording's folder counts, or
    ``name.mcap.toml`` beside ``name.mcap``. ``changes`` are single options on top, as ``name=value``;
    ``settings`` matter to the simulator only.
    """
    scheme, rest = scheme_of(address)
    if options is None:
        # a folder has them inside, a file beside it
        beside = (Path(rest) / FILE_NAME, Path(f"{rest}.toml"), Path(str(address)) / FILE_NAME)
        options = next((path for path in beside if path.is_file()), None)
    resolved = options if isinstance(options, SourceOptions) else None
    if isinstance(options, str | Path):
        resolved = SourceOptions.load(options)
    if changes:
        resolved = (resolved or SourceOptions()).with_words(changes)
    if resolved is not None:
        resolved.check_taken(scheme)
    module, _, name = SCHEMES[scheme].partition(":")
    kind: Callable[..., RecordSource] = getattr(importlib.import_module(module), name)
    if settings is not None and getattr(kind, "takes_settings", False):
        return kind(rest, resolved, settings=settings)
    source = kind(rest, resolved)
    if source.options.poses == "odometry":
        from lastseen.sources.odometry import OdometrySource

        return OdometrySource(source)
    return source


def scheme_of(address: str | Path) -> tuple[str, str]:
    """The scheme that opens an address, and the rest of it; refuses at once what no source opens."""
    text = str(address)
    scheme, separator, rest = text.partition("://")
    if not separator:
        path = _recording_at(Path(text))
        scheme, rest = _scheme_of_path(path), str(path)
    if scheme not in SCHEMES:
        raise SourceError(
            "source", text, f"has an unknown scheme {scheme!r}", remedy=f"use a path or {', '.join(sorted(SCHEMES))}"
        )
    return scheme, rest


def _recording_at(path: Path) -> Path:
    """The path itself, or the only recording that lies in its folder or one further down, as archives unpack."""
    from lastseen.sources.layouts import lacking

    if not path.is_dir() or _is_recording(path) or lacking(path) is not None:
        return path
    within = [path]
    for _ in range(MAX_DEPTH):
        children = [one for folder in within for one in _entries(folder)[:MAX_CHILDREN]]
        found = [one for one in children if _is_recording(one)]
        if len(found) > 1:
            names = ", ".join(str(one.relative_to(path)) for one in found[:5]) + (" ..." if len(found) > 5 else "")
            raise SourceError("source", str(path), f"holds recordings ({names})", remedy="give one of them")
        if found:
            return found[0]
        within = [one for one in children if one.is_dir()]
    return path


def _scheme_of_path(path: Path) -> str:
    if not path.exists():
        raise SourceError("source", str(path), "does not exist", remedy="check the path, or use scheme://address")
    if _is_layout(path):
        return "layout"
    if (path.is_file() and path.suffix in BAG_FILES) or (path.is_dir() and _is_bag_folder(path)):
        return "bag"
    kind = path.suffix.lower()
    if path.is_file() and kind in BAG_FILES:
        raise SourceError("source", str(path), "has no name of a bag", remedy=f"rename it to *{kind}")
    from lastseen.sources.layouts import lacking

    like = lacking(path)
    if like is not None:
        problem = f"is like a folder of {like[0]} but has no {' and no '.join(like[1])}"
        raise SourceError("source", str(path), problem, remedy="copy the recording whole, or see docs/sources.md")
    if path.is_file() and _is_recording(path.parent):
        raise SourceError("source", str(path), "is one file of a recording", remedy=f"give its folder {path.parent}")
    foreign = about(path)
    if foreign is not None:
        raise foreign
    raise SourceError(
        "source",
        str(path),
        "is no recording that is known here",
        remedy="docs/sources.md lists the layouts; the simplest is rgb.txt, depth.txt, groundtruth.txt, camera.json",
    )


def _is_recording(path: Path) -> bool:
    if path.is_dir():
        return _is_layout(path) or _is_bag_folder(path)
    return path.suffix in BAG_FILES or (path.suffix.lower() == ".r3d" and _is_layout(path))


def _is_bag_folder(path: Path) -> bool:
    # metadata.yaml is written when a recorder ends: one that lost power leaves none
    return (path / "metadata.yaml").is_file() or any(one.suffix in {".mcap", ".db3"} for one in _entries(path))


def _entries(folder: Path) -> list[Path]:
    """What a folder holds, sorted; nothing where it may not be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_layout(path: Path) -> bool:
    from lastseen.sources.layouts import layout_of

    return layout_of(path) is not None
