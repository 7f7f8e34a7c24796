"""Which module opens which address, by name only: a source loads when it is used and its extra when it is there."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from lastseen.errors import SourceError
from lastseen.sources.options import FILE_NAME, SourceOptions

SCHEMES = {
    "tum": "lastseen.sources.tum:TumSource",
}
"""Scheme of an address and the class that opens it; ``register_source`` adds one of yours."""


def register_source(scheme: str, target: str) -> None:
    """Make ``scheme://...`` open with ``module:Class``, a ``RecordSource`` called with the rest and the options."""
    SCHEMES[scheme] = target


def open_source(address: str | Path, options: SourceOptions | str | Path | None = None) -> Any:
    """Open a recording or a stream: a path, or an address with a scheme such as ``sim://7``.

    ``options`` may be a TOML file; without any, a ``source.toml`` in the recording's folder counts.
    """
    text = str(address)
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = _scheme_of_path(Path(text)), text
    if scheme not in SCHEMES:
        raise SourceError(
            "source",
            text,
            f"has an unknown scheme {scheme!r}",
            remedy=f"use a path or {', '.join(sorted(SCHEMES))}",
        )
    if options is None and (Path(rest) / FILE_NAME).is_file():
        options = Path(rest) / FILE_NAME
    resolved = options if isinstance(options, SourceOptions) else None
    if isinstance(options, str | Path):
        resolved = SourceOptions.load(options)
    module, _, name = SCHEMES[scheme].partition(":")
    return getattr(importlib.import_module(module), name)(rest, resolved)


def _scheme_of_path(path: Path) -> str:
    if not path.exists():
        raise SourceError("source", str(path), "does not exist", remedy="check the path, or use scheme://address")
    if path.is_dir() and (path / "rgb.txt").exists():
        return "tum"
    raise SourceError(
        "source",
        str(path),
        "is no recording that is known here",
        remedy="give a folder with rgb.txt, depth.txt, groundtruth.txt and camera.json",
    )
